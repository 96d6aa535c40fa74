import { describe, expect, it } from 'vitest';
import { agentHosts, callSources, sourceOf } from '#kernel/agent';
import { grantLifeMs, isSelfApproval, requestIdPattern, requestLifeMs } from '#kernel/approval/request';
import { allow, ask, deny, strictest } from '#kernel/decision';
import { Fault, faultData, faultFrom, toFault } from '#kernel/errors';
import { describeTarget } from '#kernel/resource';
import { asIs } from '#kernel/text/message';
import { actionTiers, stricterTier } from '#kernel/tiers';

describe('the sources of a call', () => {
  it('follow from the host', () => {
    expect(Object.fromEntries(agentHosts.map((host) => [host, sourceOf(host)]))).toEqual({
      chat: 'llm',
      mcp: 'llm',
      hook: 'llm',
      cli: 'api',
      palette: 'user',
    });
    expect([...new Set(agentHosts.map(sourceOf))].toSorted()).toEqual(callSources.toSorted());
  });
});

describe('the strictest of decisions', () => {
  it('is deny before ask before allow, the first among equals', () => {
    const [a, b, c, d] = [allow('a', ''), ask('b', asIs('')), deny('c', ''), deny('d', '')];
    expect(strictest([a, b]).code).toBe('b');
    expect(strictest([b, a]).code).toBe('b');
    expect(strictest([a, c, b, d]).code).toBe('c');
    expect(strictest([a, allow('a2', '')]).code).toBe('a');
  });

  it('of nothing is deny', () => {
    expect(strictest([])).toMatchObject({ effect: 'deny', code: 'undecided', rules: [] });
  });
});

describe('the stricter of two action tiers', () => {
  it('is the later of green, yellow, red, black', () => {
    for (const [i, a] of actionTiers.entries()) {
      for (const [j, b] of actionTiers.entries()) expect(stricterTier(a, b)).toBe(actionTiers[Math.max(i, j)]);
    }
  });
});

describe('a fault', () => {
  it('has an audience, whether a retry helps, and the remedy', () => {
    expect(new Fault('x', 'y')).toMatchObject({ name: 'Fault', code: 'x', message: 'y', audience: 'operator', retryable: false });
    const cause = new Error('z');
    const full = new Fault('x', 'y', { audience: 'user', retryable: true, next: 'do that', cause });
    expect(full).toMatchObject({ audience: 'user', retryable: true, next: 'do that' });
    expect(full.cause).toBe(cause);
  });

  it('stays itself; anything else becomes an internal error of one line', () => {
    const fault = new Fault('x', 'y');
    expect(toFault(fault)).toBe(fault);
    const bug = toFault(new TypeError('first\n    at second (file.ts:1:1)'));
    expect(bug).toMatchObject({ code: 'internal_error', message: 'internal error: first', audience: 'bug', retryable: false });
    expect(toFault('text').message).toBe('internal error: text');
    expect(toFault(undefined).message).toBe('internal error: undefined');
  });

  it('is made even of what has no text', () => {
    expect(toFault(Object.create(null)).code).toBe('internal_error');
    expect(toFault(Object.assign(new Error('x'), { message: { deep: true } })).message).toBe('internal error: [object Object]');
  });

  it('crosses a thread as data, without its cause', () => {
    const fault = new Fault('x', 'y', { audience: 'bug', retryable: true, next: 'n', cause: () => 'not cloneable' });
    const copy = faultFrom(structuredClone(faultData(fault)));
    expect(copy).toMatchObject({ code: 'x', message: 'y', audience: 'bug', retryable: true, next: 'n' });
    expect(faultData(new Fault('x', 'y'))).not.toHaveProperty('next');
  });
});

describe('a request', () => {
  it('lives an hour, its grant five minutes', () => {
    expect([requestLifeMs, grantLifeMs]).toEqual([3_600_000, 300_000]);
  });

  it.each(['req-1a2b3c4d', 'req-00000000'])('has an id like `%s`', (id) => expect(id).toMatch(requestIdPattern));
  it.each(['req-1A2B3C4D', 'req-1a2b3c4', 'req-1a2b3c4d5', 'req-1a2b3c4d\n', ' req-1a2b3c4d', 'req_1a2b3c4d', ''])(
    'has no id like %j',
    (id) => expect(id).not.toMatch(requestIdPattern),
  );

  it('is not approved by who made it, except at the palette', () => {
    expect(isSelfApproval({ id: 'user:ann', host: 'cli' }, 'user:ann')).toBe(true);
    expect(isSelfApproval({ id: 'user:ann', host: 'palette' }, 'user:ann')).toBe(false);
    expect(isSelfApproval({ id: 'cli:ann', host: 'cli' }, 'user:ann')).toBe(false);
  });
});

it('targets are named in few words', () => {
  const guest = { kind: 'guest', access: 'operate', cluster: 'lab', vmid: 100, node: 'pve', guestType: 'qemu', addresses: [] } as const;
  expect(describeTarget({ ...guest, name: 'web' })).toBe('VM 100 (web) on pve');
  // What anybody may write does not push out what identifies the guest.
  expect(describeTarget({ ...guest, name: 'x'.repeat(5_000) })).toMatch(/^VM 100 \(x{64}… \(5000 bytes in all\)\) on pve$/);
  expect(describeTarget({ ...guest, name: '\u2800'.repeat(100) }).length).toBeLessThan(120);
  expect(describeTarget({ ...guest, guestType: 'lxc' })).toBe('container 100 on pve');
  expect(describeTarget({ kind: 'node', access: 'read', cluster: 'lab', node: 'pve', online: true, addresses: [] })).toBe('node pve');
  expect(describeTarget({ kind: 'service', access: 'operate', cluster: 'lab', node: 'pve', service: 'a.service' })).toBe(
    'a.service on pve',
  );
  expect(describeTarget({ kind: 'command', access: 'operate', surface: 'ssh', text: 'a "b"' })).toBe('command "a \\"b\\""');
  expect(describeTarget({ kind: 'path', access: 'read', path: '/x' })).toBe('path /x');
  expect(describeTarget({ kind: 'destination', access: 'read', host: 'h' })).toBe('destination h');
});
