import { describe, expect, it } from 'vitest';
import { PinMismatch, readFailure, TransportFailure, trustFault, unreachableFault } from '#connectors/proxmox/transport-failure';

function withCode(code: string): Error {
  return Object.assign(new Error(`boom ${code}`), { code });
}

describe('readFailure', () => {
  it.each([
    ['ECONNREFUSED', 'unreachable', 'connection refused'],
    ['ENOTFOUND', 'unreachable', 'its name cannot be resolved'],
    ['ECONNRESET', 'closed', 'connection reset'],
    ['EPIPE', 'closed', 'connection closed before the request was complete'],
    ['UND_ERR_SOCKET', 'closed', 'connection closed before the answer was complete'],
    ['ETIMEDOUT', 'timeout', 'no connection in time'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout', 'no answer in time'],
    ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'too_large', 'the answer is larger than what is read'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'unreachable', 'no TLS is spoken there'],
    ['HPE_INVALID_CONSTANT', 'unreachable', 'what came back is not HTTP'],
    ['EWHATEVER', 'unreachable', 'connection failed (EWHATEVER)'],
  ])('%s is %s: %s', (code, kind, message) => {
    expect(readFailure(withCode(code), true)).toMatchObject({ kind, message, sent: true });
  });

  it.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_HAS_EXPIRED'])(
    '%s means that nothing was sent, whatever was thought',
    (code) => {
      expect(readFailure(withCode(code), true)).toMatchObject({ kind: 'untrusted', sent: false });
    },
  );

  it('looks behind a wrapper, and keeps what was read already', () => {
    expect(readFailure(new TypeError('fetch failed', { cause: withCode('ECONNREFUSED') }), false)).toMatchObject({
      message: 'connection refused',
      sent: false,
    });
    const failure = new TransportFailure('timeout', 'x', true);
    expect(readFailure(failure, false)).toBe(failure);
  });

  it('takes any value', () => {
    expect(readFailure('a text', true)).toMatchObject({ kind: 'unreachable', message: 'connection failed (unknown)' });
  });

  it('never passes on the text of an error it does not know: that may hold anything', () => {
    expect(readFailure(new Error('invalid header PVEAPIToken=x'), true).message).not.toContain('PVEAPIToken');
  });
});

describe('the faults', () => {
  const mismatch = readFailure(new PinMismatch('AA', 'BB'), true);

  it('of trust name what was expected, what came, and how to tell which is right', () => {
    expect(trustFault({ origin: 'https://a:8006', failure: mismatch }, false)).toMatchObject({
      code: 'pve_tls_fingerprint',
      message: expect.stringMatching(/`https:\/\/a:8006`.*expected AA, got BB; nothing was sent/) as string,
      next: expect.stringContaining('/etc/pve/local/pve-ssl.pem') as string,
      retryable: false,
    });
  });

  it('of trust are for trust only', () => {
    expect(trustFault({ origin: 'x', failure: readFailure(withCode('ECONNREFUSED'), false) }, false)).toBeUndefined();
  });

  const failures = (...codes: string[]) => codes.map((code) => ({ origin: `https://${code}`, failure: readFailure(withCode(code), true) }));

  it('of reach are a time-out only if all are', () => {
    expect(unreachableFault('lab', failures('ETIMEDOUT', 'UND_ERR_BODY_TIMEOUT')).code).toBe('pve_timeout');
    expect(unreachableFault('lab', failures('ETIMEDOUT', 'ECONNREFUSED')).code).toBe('pve_unreachable');
    expect(unreachableFault('lab', []).code).toBe('pve_unreachable');
    expect(unreachableFault('lab', failures('UND_ERR_RES_EXCEEDED_MAX_SIZE', 'ETIMEDOUT')).code).toBe('pve_bad_answer');
  });
});
