/** Settings and reports as they stand in the shared store: keys, who may write them, what a foreign hand can do. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  approved,
  createApprover,
  decisionBy,
  draftBy,
  grantFor,
  levelSetting,
  opened,
  reportBy,
  ruleSetting,
  storeApproval,
} from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
const pattern = 'destination:.example.com';
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
}, 300_000);
afterAll(() => server.close());
beforeEach(async () => {
  await server.operator.flushall();
});

/** What a machine on which agents run has. */
const agents = () => openTestValkey(server, { credentials: sampleCredentials('agent', 'exec', 'log-writer') });

describe('settings', () => {
  it('stand under the documented keys, without an end, the rules in a list beside them', async () => {
    const store = await openTestValkey(server);
    const now = Date.now();
    await store.security.setLevel(levelSetting('strict', now));
    await store.security.setRule(ruleSetting(pattern, 'allow', now));
    await store.security.setRule(ruleSetting('tool:write_file:a b', 'block', now));
    const value = async (name: string) => JSON.parse((await server.operator.get(`molis:config:${name}`)) ?? 'null');
    expect(await value('security_level')).toEqual(levelSetting('strict', now));
    expect(await value(`auto_approve:${pattern}`)).toEqual(ruleSetting(pattern, 'allow', now));
    expect(await value('auto_approve_index')).toEqual([pattern, 'tool:write_file:a b']);
    for (const key of await server.operator.keys('molis:config:*')) expect(await server.operator.ttl(key)).toBe(-1);
    await store.security.removeRule(pattern, 'user:bob');
    expect(await server.operator.exists(`molis:config:auto_approve:${pattern}`)).toBe(0);
    expect(await value('auto_approve_index')).toEqual(['tool:write_file:a b']);
  });

  it('can be read where agents run, and changed only with an administrator\u2019s credential', async () => {
    const [person, machine] = [await openTestValkey(server), await agents()];
    const now = Date.now();
    await person.security.setLevel(levelSetting('strict', now));
    await person.security.setRule(ruleSetting(pattern, 'allow', now));
    expect(await machine.security.level()).toEqual({ signed: levelSetting('strict', now) });
    expect(await machine.security.rules()).toHaveLength(1);
    const missing = { code: 'store_role_missing', message: expect.stringContaining('admin') };
    await expect(machine.security.setLevel(levelSetting('relaxed', now))).rejects.toMatchObject(missing);
    await expect(machine.security.setRule(ruleSetting(pattern, 'allow', now))).rejects.toMatchObject(missing);
    await expect(machine.security.removeRule(pattern, 'user:bob')).rejects.toMatchObject(missing);
    for (const role of ['agent', 'exec', 'log-writer'] as const) {
      const client = server.as(samplePasswords[role]);
      await expect(client.set('molis:config:security_level', 'relaxed')).rejects.toThrow(/NOPERM/);
      await expect(client.set(`molis:config:auto_approve:${pattern}`, 'allow')).rejects.toThrow(/NOPERM/);
    }
    expect(await person.security.level()).toEqual({ signed: levelSetting('strict', now) });
  });

  it('that an administrator typed by hand are told apart from signed ones', async () => {
    const store = await agents();
    const admin = server.as(samplePasswords.admin);
    await admin.set('molis:config:security_level', 'relaxed');
    await admin.set(`molis:config:auto_approve:${pattern}`, 'block');
    await admin.set('molis:config:auto_approve_index', JSON.stringify([pattern, 'destination:not-there', pattern]));
    expect(await store.security.level()).toEqual({ unsigned: 'relaxed' });
    expect(await store.security.rules()).toEqual([{ pattern, unsigned: 'block' }]);
  });

  it.each(['{', '7', '{"a":1}', '["a\\nb"]', '[1]'])(
    'whose list was damaged (%j) stop what depends on them, until one is set',
    async (list) => {
      const store = await openTestValkey(server);
      const rule = ruleSetting(pattern, 'block', Date.now());
      await store.security.setRule(rule);
      await server.operator.set('molis:config:auto_approve_index', list);
      await expect(store.security.rules()).rejects.toMatchObject({
        code: 'store_corrupt',
        next: expect.stringContaining('auto-approve set'),
      });
      await store.security.setRule(rule);
      expect(await store.security.rules()).toEqual([{ pattern, signed: rule }]);
    },
  );

  it('are not written where their record may not be', async () => {
    const store = await openTestValkey(server);
    // All that an administrator may do but to add to the trail.
    await server.operator.acl('SETUSER', 'mcp-admin', 'clearselectors', '(~molis:config:* +get +set +watch)', '(&molis:events +publish)');
    await expect(store.security.setRule(ruleSetting(pattern, 'allow', Date.now()))).rejects.toMatchObject({ code: 'store_denied' });
    await server.operator.acl('LOAD');
    await vi.waitFor(async () => expect(await store.security.rules()).toEqual([]));
    expect(await store.audit.head()).toBeUndefined();
  });
});

describe('reports', () => {
  it('live an hour like any request, under the id that was named', async () => {
    const store = await agents();
    await opened(store, reportBy('mcp:a', 'req-0badcafe'));
    const ttl = await server.operator.ttl('molis:blocked:req-0badcafe');
    expect(ttl).toBeGreaterThan(3590);
    expect(ttl).toBeLessThanOrEqual(3600);
    expect(Number(await server.operator.zscore('molis:idx:pending', 'req-0badcafe'))).toBeCloseTo(Date.now() + 3_600_000, -5);
  });

  it('leave alone what another program has under their id', async () => {
    const store = await agents();
    await server.operator.set('molis:blocked:req-0badcafe', '{"reason":"url_blocked"}', 'EX', 100);
    expect(await store.requests.open(reportBy('mcp:a', 'req-0badcafe'))).toEqual({ ok: false, why: 'id_taken' });
    expect(await server.operator.get('molis:blocked:req-0badcafe')).toBe('{"reason":"url_blocked"}');
    expect(await server.operator.zscore('molis:idx:pending', 'req-0badcafe')).toBeNull();
  });

  it('stand in the index again when they are repeated, should the process have ended before', async () => {
    const store = await agents();
    const record = await opened(store, reportBy('mcp:a', 'req-0badcafe'));
    await server.operator.zrem('molis:idx:pending', record.id);
    expect(await store.requests.countPending()).toBe(0);
    await opened(store, reportBy('mcp:a', 'req-0badcafe'));
    expect((await store.requests.list({ statuses: ['pending'], limit: 10 })).records).toEqual([record]);
  });
});

describe('a person\u2019s machine that has only the administrator\u2019s credential', () => {
  it('answers once, whatever else it does between its look and its change', async () => {
    const stores = await Promise.all([1, 2].map(() => openTestValkey(server, { credentials: sampleCredentials('admin') })));
    const machine = await agents();
    for (let round = 0; round < 30; round += 1) {
      const lapsing = await approved(await openTestValkey(server), alice, Date.now(), draftBy('mcp:lapsing', 1000 + round));
      // Something to write down on the same connection at the same time.
      await server.operator.zadd('molis:idx:approved', Date.now() - 1000, lapsing.id);
      const record = await opened(machine, draftBy(`mcp:${round}`, round));
      const grant = await grantFor(record, alice, Date.now());
      const answers = await Promise.all([
        storeApproval(stores[0]!.requests, record.id, grant, decisionBy('user:alice', Date.now())),
        stores[0]!.keepHouse(),
        stores[1]!.requests.deny(record.id, decisionBy('user:bob', Date.now())),
        stores[1]!.keepHouse(),
      ]);
      expect(answers.filter((answer) => answer?.ok)).toHaveLength(1);
    }
    const answered = (await stores[0]!.audit.read(0, 10_000)).filter((entry) => /approved|denied/.test(entry.name));
    expect(answered).toHaveLength(60);
  });
});
