import { describe, expect, it } from 'vitest';
import { Fault } from '#kernel/errors';
import { keysOf } from '#stores/valkey/keys';
import { isReply, valkeyFault } from '#stores/valkey/valkey-faults';

describe('keys', () => {
  const keys = keysOf('molis');

  it('are the documented ones', () => {
    const id = 'req-0000abcd';
    expect([keys.blocked(id), keys.approved(id), keys.decided(id), keys.copy(id)]).toEqual([
      'molis:blocked:req-0000abcd',
      'molis:approved:req-0000abcd',
      'molis:decided:req-0000abcd',
      'molis:decided:req-0000abcd:asked',
    ]);
    expect([keys.pending, keys.granted, keys.history, keys.level, keys.log, keys.channel]).toEqual([
      'molis:idx:pending',
      'molis:idx:approved',
      'molis:idx:decided',
      'molis:config:security_level',
      'molis:log:events',
      'molis:events',
    ]);
  });

  it.each(['', 'req-', 'REQ-0000ABCD', 'req-0000abc', 'req-0000abcde', 'req-0000abcd\n', '*', '../x', 'req-0000abc:'])(
    'are never made of %j, which is no id',
    (id) => {
      for (const make of [keys.blocked, keys.approved, keys.decided, keys.copy]) expect(() => make(id)).toThrow(TypeError);
    },
  );

  it('of an agent hold nothing of its name, and tell agents apart', () => {
    const names = ['mcp:laptop', 'mcp:laptop ', 'mcp:lap*top', 'x\r\nFLUSHALL', 'x'.repeat(10_000)];
    const made = names.flatMap((name) => [keys.ofAgent(name), keys.lockOf(name)]);
    expect(new Set(made).size).toBe(made.length);
    for (const key of made) expect(key).toMatch(/^molis:blocked:(?:agent|lock):[a-f0-9]{32}$/);
  });
});

describe('faults', () => {
  const place = { location: 'valkey://vault.lan:6379/0?prefix=molis', user: 'mcp-agent' };
  const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

  it.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', 'store_auth_failed', false],
    ['NOAUTH Authentication required.', 'store_auth_failed', false],
    ["NOPERM User mcp-agent has no permissions to run the 'del' command", 'store_denied', false],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'store_full', true],
    ["READONLY You can't write against a read only replica.", 'store_read_only', false],
    ['MOVED 3999 10.0.0.2:6379', 'store_moved', false],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'store_moved', false],
    ['LOADING server is loading the dataset in memory', 'store_unavailable', true],
    ['MISCONF errors writing to the AOF file', 'store_unavailable', true],
  ])('%s is %s', (message, code, retryable) => {
    const fault = valkeyFault(reply(message), place);
    expect(fault).toMatchObject({ name: 'Fault', code, retryable, audience: 'operator', next: expect.stringMatching(/\w/) });
    expect(fault.message).toContain(place.location);
    expect(isReply(fault.cause)).toBe(true);
  });

  it.each(["READONLY You can't write against a read only replica.", 'MOVED 3999 10.0.0.2:6379', 'TRYAGAIN Multiple keys request'])(
    '%s may be tried again where another server may have taken over',
    (message) => {
      expect(valkeyFault(reply(message), { ...place, several: true })).toMatchObject({
        retryable: true,
        next: expect.stringContaining('try again'),
      });
    },
  );

  it('name the reason of a refused transaction, not its consequence', () => {
    const aborted = Object.assign(reply('EXECABORT Transaction discarded because of previous errors.'), {
      previousErrors: [reply("OOM command not allowed when used memory > 'maxmemory'.")],
    });
    expect(valkeyFault(aborted, place)).toMatchObject({ code: 'store_full' });
  });

  it('say whether a change may have been made', () => {
    expect(valkeyFault(new Error('Command timed out'), place, true)).toMatchObject({
      code: 'store_unavailable',
      retryable: true,
      message: expect.stringContaining('whether it was made is not known'),
    });
    const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:6379'), { code: 'ECONNREFUSED' });
    expect(valkeyFault(refused, place).message).not.toContain('not known');
  });

  it('stay what they are, and take anything', () => {
    const fault = new Fault('store_closed', 'closed');
    expect(valkeyFault(fault, place)).toBe(fault);
    expect(valkeyFault(undefined, place)).toMatchObject({ code: 'store_unavailable' });
    expect(valkeyFault(new Error('one\nstack'), place).message).not.toContain('stack');
  });
});
