import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answerFault, isAmbiguous, isGatewayFailure } from '#connectors/proxmox/answer-fault';
import type { Fault } from '#kernel/errors';

const tokenId = 'jarvis@pve!ops';

function faultOf(status: number, statusText: string, body: unknown = { data: null, message: `${statusText}\n` }): Fault {
  return answerFault({ status, statusText, body: typeof body === 'string' ? body : JSON.stringify(body) }, 'lab', tokenId);
}

describe('recorded refusals', () => {
  interface Recorded {
    readonly request: { readonly path: string; readonly auth?: string };
    readonly response: { readonly status: number; readonly statusMessage: string; readonly body: unknown };
  }
  const exchanges = [
    ...(JSON.parse(readFileSync('test/fixtures/pve/exchanges.json', 'utf8')) as { exchanges: Recorded[] }).exchanges,
    ...(JSON.parse(readFileSync('test/fixtures/pve/exchanges-degraded.json', 'utf8')) as Recorded[]),
  ].filter(({ response }) => response.status !== 200);

  it('each become a fault with a code of its own and one line of text', () => {
    expect(exchanges.length).toBeGreaterThan(20);
    for (const { response } of exchanges) {
      const fault = faultOf(response.status, response.statusMessage, response.body);
      expect(fault.code).toMatch(/^pve_(unauthorized|forbidden|bad_request|not_found|error|no_quorum|node_unreachable|not_implemented)$/);
      expect(fault.message).not.toMatch(/[\n\r\0]/);
    }
  });
});

describe('401', () => {
  it('has no body, and says what to check', () => {
    expect(faultOf(401, 'Authentication failed!', '')).toMatchObject({
      code: 'pve_unauthorized',
      audience: 'operator',
      retryable: false,
      message: expect.stringContaining('Authentication failed!') as string,
      next: expect.stringMatching(/jarvis@pve!ops.*expired/) as string,
    });
  });
});

describe('403', () => {
  it('names the privilege and the path', () => {
    expect(faultOf(403, 'Permission check failed (/vms/100, VM.PowerMgmt)')).toMatchObject({
      code: 'pve_forbidden',
      message: 'Proxmox VE (`lab`): the API token `jarvis@pve!ops` lacks `VM.PowerMgmt` on `/vms/100`',
    });
  });

  it('knows alternatives', () => {
    expect(faultOf(403, 'Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)').message).toContain(
      '`Datastore.Audit|Datastore.AllocateSpace`',
    );
  });

  it.each([
    'Permission check failed (user != root@pam)',
    'Permission check failed',
    "API tokens are not allowed to access '/access/ticket'",
  ])('keeps other texts: %s', (text) => {
    expect(faultOf(403, text)).toMatchObject({ code: 'pve_forbidden', message: expect.stringContaining(text) as string });
  });
});

describe('400', () => {
  it('tells every parameter and why', () => {
    const errors = {
      timeout: "type check ('integer') failed - got 'soon'",
      vmid: 'invalid format - value does not look like a valid VM ID\n',
    };
    expect(faultOf(400, 'Parameter verification failed.', { errors, data: null })).toMatchObject({
      code: 'pve_bad_request',
      message:
        "Proxmox VE (`lab`) refused the parameters: `timeout`: type check ('integer') failed - got 'soon'; `vmid`: invalid format - value does not look like a valid VM ID",
    });
  });

  it.each(['', '{}', '[]', '{"errors":null}', '{"errors":"x"}', 'garbage'])('does without them: %j', (body) => {
    expect(faultOf(400, 'Parameter verification failed.', body)).toMatchObject({
      code: 'pve_bad_request',
      message: expect.stringContaining('Parameter verification failed.') as string,
    });
  });

  it('about a task that is gone is `pve_not_found`', () => {
    expect(faultOf(400, 'Parameter verification failed.', { errors: { upid: 'no such task' } })).toMatchObject({
      code: 'pve_not_found',
      audience: 'user',
    });
  });
});

describe('500', () => {
  it.each([
    ["Configuration file 'nodes/pve/qemu-server/999.conf' does not exist", 'pve_not_found'],
    ["storage 'nosuch' does not exist", 'pve_not_found'],
    ["hostname lookup 'nosuch' failed - failed to get address info for: nosuch: Name or service not known", 'pve_not_found'],
    ['cluster not ready - no quorum?', 'pve_no_quorum'],
    ['CT 201 already running', 'pve_error'],
    ['QEMU guest agent is not running', 'pve_error'],
    ['unable to open file that does not exist', 'pve_error'],
  ])('%s: %s', (text, code) => {
    expect(faultOf(500, text)).toMatchObject({ code, message: expect.stringContaining(text) as string });
  });

  it('only a lost quorum may pass by itself', () => {
    expect(faultOf(500, 'cluster not ready - no quorum?').retryable).toBe(true);
    expect(faultOf(500, 'CT 201 already running').retryable).toBe(false);
  });
});

describe('texts from outside', () => {
  it('lose what cannot be seen, and their length', () => {
    const { message } = faultOf(500, `a\u001b[31mred\u202e\u0007 ${'x'.repeat(5000)}`);
    expect(message).toMatch(/^Proxmox VE \(`lab`\) failed: ared x+…/);
    expect(message.length).toBeLessThan(600);
  });

  it('come from the status line where there is no body, and are said to be missing where there is neither', () => {
    expect(faultOf(595, 'Connection refused', '').message).toContain('Connection refused');
    expect(faultOf(500, '', '').message).toContain('status 500 without a text');
  });
});

describe('gateways', () => {
  it.each([502, 503, 504, 595, 596, 597, 598, 599])('%d is a gateway’s word', (status) => {
    expect(isGatewayFailure(status)).toBe(true);
    expect(faultOf(status, 'x')).toMatchObject({ code: 'pve_node_unreachable', retryable: true });
  });

  it.each([200, 302, 400, 401, 403, 404, 413, 429, 500, 501])('%d is not', (status) => {
    expect(isGatewayFailure(status)).toBe(false);
    expect(isAmbiguous(status)).toBe(false);
  });

  it.each([202, 204, 408, 505, 520, 522, 524, 594])('%d is no word of the API: what was sent may have been carried out', (status) => {
    expect(isGatewayFailure(status)).toBe(false);
    expect(isAmbiguous(status)).toBe(true);
  });

  it('595 alone says for certain that nothing was carried out', () => {
    expect([502, 503, 504, 595, 596, 597, 598, 599].filter((status) => !isAmbiguous(status))).toEqual([595]);
  });
});
