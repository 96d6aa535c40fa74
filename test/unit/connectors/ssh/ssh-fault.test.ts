import { describe, expect, it } from 'vitest';
import type { Identities } from '#connectors/ssh/identities';
import * as faults from '#connectors/ssh/ssh-fault';
import { say } from '#kernel/text/message';

const at = { node: 'pve', user: 'ops', host: '10.0.0.12', port: 2222 };
const someKey: Identities = { methods: [{ type: 'agent', username: 'ops', agent: '/s' }], encrypted: [], unusable: [] };

/** An error as ssh2 makes it. */
function ssh2Error(message: string, more: object): Error {
  return Object.assign(new Error(message), more);
}

describe('connectFault', () => {
  it.each([
    [{ level: 'client-authentication' }, 'ssh_auth_failed', false],
    [{ level: 'client-timeout' }, 'ssh_timeout', true],
    [{ level: 'client-socket', code: 'ECONNREFUSED' }, 'ssh_unreachable', true],
    [{ level: 'client-dns', code: 'ENOTFOUND' }, 'ssh_unreachable', true],
    [{ level: 'handshake' }, 'ssh_unreachable', false],
    [{ level: 'protocol' }, 'ssh_unreachable', false],
    [{}, 'ssh_unreachable', true],
  ])('%j is %s', (more, code, retryable) => {
    const fault = faults.connectFault(ssh2Error('text', more), at, someKey);
    expect(fault).toMatchObject({
      code,
      retryable,
      audience: 'operator',
      message: expect.stringContaining('node `pve` (ops@10.0.0.12:2222)') as string,
    });
    expect(fault.next).toBeDefined();
  });

  it.each([
    ['ECONNREFUSED', 'connection refused'],
    ['ENOTFOUND', 'its name cannot be resolved'],
    ['EHOSTUNREACH', 'no route to the host'],
  ])('says %s in words, and no user where none was named', (code, words) => {
    const { user: _nobody, ...place } = at;
    const { message } = faults.connectFault(ssh2Error('text', { level: 'client-socket', code }), place, someKey);
    expect(message).toBe(`no ssh connection to node \`pve\` (10.0.0.12:2222): ${words}`);
  });

  it('says that the server hung up, and not in its words', () => {
    const { message } = faults.connectFault(ssh2Error('Too many authentication failures', { code: 2 }), at, someKey);
    expect(message).toBe('no ssh connection to node `pve` (ops@10.0.0.12:2222): the server ended the connection (reason 2)');
  });

  it('keeps an address of IPv6 apart from its port', () => {
    expect(faults.timeoutFault({ ...at, host: 'fd00::11' }, say`too late`).message).toBe('node `pve` (ops@[fd00::11]:2222): too late');
  });

  it('takes any value, and keeps it to one line', () => {
    expect(faults.connectFault('odd\nsecond line', at, someKey).message).not.toContain('second line');
  });
});

describe('authFault', () => {
  it('blames encryption only when nothing else is left', () => {
    expect(faults.authFault(at, { methods: [], encrypted: ['/k'], unusable: [] }).code).toBe('ssh_key_encrypted');
    expect(faults.authFault(at, { ...someKey, encrypted: ['/k'] })).toMatchObject({
      code: 'ssh_auth_failed',
      message: expect.stringContaining('left out: `/k` (encrypted)') as string,
    });
  });

  it('says that there was nothing to show', () => {
    expect(faults.authFault(at, { methods: [], encrypted: [], unusable: ['`/x` (ENOENT)'] })).toMatchObject({
      code: 'ssh_auth_failed',
      message: expect.stringMatching(/no usable key.*`\/x` \(ENOENT\)/) as string,
    });
  });
});

describe('channelFault', () => {
  it.each([
    [{ reason: 2 }, true],
    [{ reason: 4 }, true],
    [{ reason: 1 }, false],
    [{}, false],
  ])('%j may be tried again: %s', (more, retryable) => {
    expect(faults.channelFault(at, ssh2Error('open failed', more))).toMatchObject({ code: 'ssh_channel_failed', retryable });
  });
});
