/** What is the shared store's own: keys and lifetimes, roles, the server's clock, races, the trail of several writers. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { grantsEnd } from '#kernel/approval/request';
import type { AuditRecord } from '#kernel/audit-event';
import type { ValkeyStore } from '#stores/valkey/open-valkey-store';
import {
  approved,
  createApprover,
  createFakeClock,
  decisionBy,
  draftBy,
  draftOf,
  grantFor,
  opened,
  stopAction,
  storeApproval,
  temporaryFolder,
} from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
}, 300_000);
afterAll(() => server.close());
beforeEach(async () => {
  await server.operator.flushall();
});

describe('keys and lifetimes', () => {
  /** Every request key, with its lifetime in s. */
  const lifetimes = async () => {
    const keys = (await server.operator.keys('molis:*:req-*')).sort();
    return new Map(await Promise.all(keys.map(async (key) => [key, await server.operator.ttl(key)] as const)));
  };
  const within = (low: number, high: number) => expect.toSatisfy((ttl: number) => ttl >= low && ttl <= high, `within ${low} and ${high}`);

  it('are as documented at every step', async () => {
    const store = await openTestValkey(server);
    const { id, digest } = await opened(store);
    const asked = `molis:decided:${id}:asked`;
    expect(await lifetimes()).toEqual(
      new Map([
        [`molis:blocked:${id}`, within(3590, 3600)],
        [asked, within(86_390, 86_400)],
      ]),
    );
    expect(Number(await server.operator.zscore('molis:idx:pending', id))).toBeCloseTo(Date.now() + 3_600_000, -5);

    const granted = await approved(store, alice, Date.now());
    expect(granted.id).toBe(id);
    expect(await lifetimes()).toEqual(
      new Map([
        [`molis:approved:${id}`, within(290, 300)],
        [asked, within(86_390, 86_400)],
      ]),
    );
    expect(JSON.parse((await server.operator.get(`molis:approved:${id}`)) ?? '')).toMatchObject({
      status: 'approved',
      grants: granted.grants,
    });
    expect(await server.operator.zscore('molis:idx:pending', id)).toBeNull();
    expect(await server.operator.zscore('molis:idx:approved', id)).toBe(String(grantsEnd(granted.grants!)));

    await store.requests.consume(id, digest, 'pid 1');
    expect([...(await lifetimes()).keys()]).toEqual([`molis:decided:${id}`, asked]);
    expect(await server.operator.ttl(`molis:decided:${id}`)).toEqual(within(86_390, 86_400));
    expect(JSON.parse((await server.operator.get(`molis:decided:${id}`)) ?? '')).toMatchObject({ status: 'consumed', by: 'pid 1' });
    expect([await server.operator.zcard('molis:idx:approved'), await server.operator.zcard('molis:idx:decided')]).toEqual([0, 1]);
  });

  it('stay within bounds whatever times a grant was signed with', async () => {
    const store = await openTestValkey(server);
    for (const [vmid, life] of [
      [100, 1],
      [101, 400],
      [102, 299_999],
      [103, 359_000],
    ] as const) {
      const record = await opened(store, draftOf({ action: stopAction(vmid) }));
      const grant = await grantFor(record, alice, Date.now());
      const result = await storeApproval(store.requests, record.id, {
        ...grant,
        payload: { ...grant.payload, expiresAt: Date.now() + life },
      });
      const ttl = await server.operator.pttl(`molis:approved:${record.id}`);
      // A grant that has all but run out may be refused as expired.
      const fits = result.ok ? ttl > 0 && ttl <= 300_000 : result.why === 'expired' && ttl === -2;
      expect(fits, `${ttl}`).toBe(true);
    }
  });

  it('never leave a key without a lifetime, apart from the indexes, the log and its tree', async () => {
    const store = await openTestValkey(server);
    const denied = await opened(store, draftBy('mcp:a'));
    await store.requests.deny(denied.id, decisionBy());
    const cancelled = await opened(store, draftBy('mcp:b'));
    await store.requests.cancel(cancelled.id, 'mcp:b');
    await opened(store, draftBy('mcp:c'));
    const keys = await server.operator.keys('*');
    const endless = (await Promise.all(keys.map(async (key) => ((await server.operator.ttl(key)) === -1 ? key : '')))).filter(Boolean);
    expect(endless.sort()).toEqual(['molis:idx:decided', 'molis:idx:pending', 'molis:log:events', 'molis:tree:leaves', 'molis:tree:log']);
    const blocked = await server.operator.keys('molis:blocked:*');
    for (const key of blocked) expect(await server.operator.ttl(key)).toBeLessThanOrEqual(3600);
  });

  it('carry the configured prefix, in one cluster slot where it is in braces', async () => {
    const tagged = await startValkey({ prefix: '{team-a}' });
    try {
      const store = await openTestValkey(tagged, { url: `${tagged.url}?prefix=%7Bteam-a%7D` });
      const record = await approved(store, alice, Date.now());
      expect(await store.requests.consume(record.id, record.digest, 'x')).toMatchObject({ ok: true });
      const keys = await tagged.operator.keys('*');
      expect(keys.length).toBeGreaterThan(4);
      expect(keys.filter((key) => !key.startsWith('{team-a}:'))).toEqual([]);
      await store.close();
    } finally {
      await tagged.close();
    }
  });

  it('are not even asked for with an id that is none', async () => {
    const store = await openTestValkey(server);
    const monitor = await server.operator.monitor();
    const seen: string[] = [];
    monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')));
    for (const id of ['req-ZZZZZZZZ', '*', 'req-00000000\n', '../x', 'req-0000000011']) {
      expect(await store.requests.get(id)).toBeUndefined();
      for (const attempt of [
        store.requests.deny(id, decisionBy()),
        store.requests.revoke(id, decisionBy()),
        store.requests.cancel(id, 'x'),
        store.requests.consume(id, 'f'.repeat(64), 'x'),
      ]) {
        expect(await attempt).toEqual({ ok: false, why: 'not_found' });
      }
    }
    await server.operator.ping('over');
    monitor.disconnect();
    expect(seen.filter((line) => line.includes('molis:'))).toEqual([]);
  });
});

describe('roles', () => {
  const users = async () => {
    const list = String(await server.operator.client('LIST'));
    return new Set([...list.matchAll(/ user=(\S+)/g)].map((match) => match[1]).filter((user) => user !== 'operator'));
  };

  it('connect when they are needed: a process that answers for nobody never is an administrator', async () => {
    const store = await openTestValkey(server);
    const record = await opened(store);
    await store.requests.list({ limit: 10 });
    expect(await users()).toEqual(new Set(['mcp-agent', 'mcp-exec', 'log-writer']));
    await store.requests.deny(record.id, decisionBy());
    expect(await users()).toContain('mcp-admin');
    await store.keepHouse();
    expect(await users()).toContain('log-trimmer');
  });

  it('let a person’s machine do with the administrator’s credential alone', async () => {
    const asking = await openTestValkey(server);
    const [a, b] = [await opened(asking, draftBy('mcp:a')), await opened(asking, draftBy('mcp:b'))];
    const person = await openTestValkey(server, { credentials: sampleCredentials('admin') });
    expect((await person.requests.list({ statuses: ['pending'], limit: 10 })).records.map((record) => record.id)).toEqual([b.id, a.id]);
    expect(await person.requests.countPending()).toBe(2);
    expect(await storeApproval(person.requests, a.id, grantFor(a, alice, Date.now()), decisionBy())).toMatchObject({ ok: true });
    expect(await person.requests.deny(b.id, { ...decisionBy(), message: 'no' })).toMatchObject({ ok: true });
    expect(await asking.requests.consume(a.id, a.digest, 'x')).toMatchObject({ ok: true });
    expect(await asking.requests.get(b.id)).toMatchObject({ status: 'denied', decision: { message: 'no' } });
    expect(await verifyTrail(person.audit)).toMatchObject({ ok: true, records: 5 });
    await expect(person.requests.open(draftBy('mcp:c'))).rejects.toMatchObject({ code: 'store_role_missing' });
  });

  it.each<[string, object, string]>([
    ['no credential at all', { credentials: async () => undefined }, 'store_role_missing'],
    ['a wrong password', { credentials: async () => ({ user: 'mcp-agent', password: 'guess' }) }, 'store_auth_failed'],
    ['a user that does not exist', { credentials: async () => ({ user: 'nobody', password: 'x' }) }, 'store_auth_failed'],
    [
      'a user who may not do what the role needs',
      { credentials: async () => ({ user: 'healthcheck', password: 'health-pass' }) },
      'store_denied',
    ],
    ['a prefix that is not the users’', { url: 'prefix=other' }, 'store_denied'],
  ])('are tried at the start: %s', async (_, { url, ...change }: { url?: string }, code) => {
    const opening = openTestValkey(server, { ...change, ...(url ? { url: `${server.url}?${url}` } : {}) });
    await expect(opening).rejects.toMatchObject({ name: 'Fault', code, next: expect.stringMatching(/\w/) });
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringMatching(/guess|-pass/) });
    // What was begun is closed again.
    await vi.waitUntil(async () => (await users()).size === 0);
  });

  it('say where nobody answers', async () => {
    const opening = openTestValkey(server, { url: 'valkey://127.0.0.1:1/0' });
    await expect(opening).rejects.toMatchObject({
      code: 'store_unavailable',
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('take their credentials from a private file, read anew at each connection', async () => {
    const file = join(temporaryFolder(), 'credentials.json');
    const write = (content: object): void => writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    write({ agent: { password: 'agent-pass' }, exec: samplePasswords.exec, 'log-writer': { password: 'log-pass' } });
    const store = await openTestValkey(server, { credentials: file });
    expect((await opened(store)).status).toBe('pending');
    chmodSync(file, 0o640);
    await expect(openTestValkey(server, { credentials: file })).rejects.toMatchObject({
      code: 'bad_credentials',
      next: `chmod 600 ${file}`,
    });
  });
});

describe('the server’s clock', () => {
  /** This machine's clock, wrong by so much. */
  const wrongBy = (ms: number): void => {
    const real = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => real() + ms);
  };
  const serverTime = async (): Promise<number> => Number((await server.operator.time())[0]) * 1000;

  it.each([600_000, -600_000])('decides, not this machine’s that is wrong by %i ms', async (ms) => {
    wrongBy(ms);
    const store = await openTestValkey(server);
    const record = await opened(store);
    expect(Math.abs(record.createdAt - (await serverTime()))).toBeLessThan(60_000);
    expect(await storeApproval(store.requests, record.id, grantFor(record, alice, await serverTime()), decisionBy())).toMatchObject({
      ok: true,
    });
    expect(await server.operator.keys('*:clock:*')).toSatisfy((keys: string[]) => keys.length <= 1);
  });

  it.each([7_200_000, -7_200_000])('that differs by %i ms is said, not worked with', async (ms) => {
    wrongBy(ms);
    await expect(openTestValkey(server)).rejects.toMatchObject({ code: 'clock_skew' });
  });

  it('ends what nobody came for: what the server has dropped is expired, and still says what it was', async () => {
    const store = await openTestValkey(server);
    const record = await opened(store, draftBy('mcp:a'));
    const granted = await approved(store, alice, Date.now(), draftBy('mcp:b'));
    for (const key of [`molis:blocked:${record.id}`, `molis:approved:${granted.id}`]) {
      await server.operator.pexpire(key, 1);
      await vi.waitUntil(async () => (await server.operator.exists(key)) === 0);
    }
    expect(await store.requests.get(record.id)).toEqual({ ...record, status: 'expired' });
    expect(await store.requests.get(granted.id)).toEqual({ ...granted, status: 'expired' });
    expect(await store.requests.consume(granted.id, granted.digest, 'x')).toMatchObject({ ok: false, why: 'expired' });
    expect(await store.requests.deny(record.id, decisionBy())).toMatchObject({ ok: false, why: 'expired' });
    const names = (await store.audit.read(0, 100)).map((entry) => entry.name);
    expect(names.filter((name) => name === 'approval.expired')).toHaveLength(2);
    expect((await store.requests.list({ statuses: ['expired'], limit: 10 })).records.map((entry) => entry.id)).toEqual([
      granted.id,
      record.id,
    ]);
  });
});

describe('races', () => {
  it('of 1,000 claims on one grant, over eight connections, have one winner', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => openTestValkey(server)));
    const { id, digest } = await approved(stores[0]!, alice, Date.now());
    const claims = await Promise.all(
      Array.from({ length: 1000 }, (_, index) => stores[index % 8]!.requests.consume(id, digest, `claim ${index}`)),
    );
    const winners = claims.filter((claim) => claim.ok);
    expect(winners).toHaveLength(1);
    expect(await stores[5]!.requests.get(id)).toEqual(winners[0]?.record);
    const consumed = (await stores[1]!.audit.read(0, 5000)).filter((record) => record.name === 'approval.consumed');
    expect(consumed).toHaveLength(1);
  });

  it('between using and taking back have one winner, and the loser hears who', async () => {
    const [here, there] = [await openTestValkey(server), await openTestValkey(server)];
    for (let round = 0; round < 20; round += 1) {
      const { id, digest } = await approved(here, alice, Date.now(), draftBy('mcp:a', 100 + round));
      const [consumed, revoked, cancelled] = await Promise.all([
        here.requests.consume(id, digest, 'x'),
        there.requests.revoke(id, decisionBy('user:bob')),
        there.requests.cancel(id, 'mcp:a'),
      ]);
      expect([consumed, revoked, cancelled].filter((result) => result.ok)).toHaveLength(1);
      const status = (await here.requests.get(id))?.status;
      expect(status).toBe(consumed.ok ? 'consumed' : revoked.ok ? 'revoked' : 'cancelled');
      expect(await server.operator.exists(`molis:approved:${id}`)).toBe(0);
    }
  });

  it('between answers have one winner', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => openTestValkey(server)));
    for (let round = 0; round < 10; round += 1) {
      const record = await opened(stores[0]!, draftBy('mcp:a', 100 + round));
      const grant = await grantFor(record, alice, Date.now());
      const answers = await Promise.all([
        storeApproval(stores[0]!.requests, record.id, grant, decisionBy()),
        stores[1]!.requests.deny(record.id, decisionBy()),
        stores[2]!.requests.cancel(record.id, 'x'),
      ]);
      const [yes, , cancelled] = answers.map((answer) => answer.ok);
      // An approved request may still be cancelled; nothing else may happen twice.
      expect(answers.filter((answer) => answer.ok).length).toBe(yes && cancelled ? 2 : 1);
      expect((await stores[3]!.requests.get(record.id))?.status).toBe(cancelled ? 'cancelled' : yes ? 'approved' : 'denied');
    }
    expect(await verifyTrail(stores[3]!.audit)).toMatchObject({ ok: true });
  });

  it('to ask, by one agent in several processes, keep to the cap', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => openTestValkey(server)));
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => stores[index % 4]!.requests.open(draftBy('mcp:a', 100 + index))),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(5);
    expect(await stores[0]!.requests.countPending()).toBe(5);
  });

  it('cannot be won with a grant that was put back', async () => {
    const [here, there] = [await openTestValkey(server), await openTestValkey(server)];
    const { id, digest } = await approved(here, alice, Date.now());
    const grant = (await server.operator.get(`molis:approved:${id}`)) ?? '';
    expect(await here.requests.consume(id, digest, 'x')).toMatchObject({ ok: true });
    await server.operator.set(`molis:approved:${id}`, grant, 'EX', 300);
    for (const store of [here, there])
      expect(await store.requests.consume(id, digest, 'x')).toMatchObject({ ok: false, why: 'not_approved' });
    // Even behind the back of the one who claims, between its look and its claim.
    await server.operator.del(`molis:decided:${id}`);
    await server.operator.set(`molis:approved:${id}`, grant.replace('"place":', '"place": '), 'EX', 300);
    expect(await there.requests.get(id)).toMatchObject({ status: 'approved' });
  });
});

describe('the trail of several writers', () => {
  const append = async (store: ValkeyStore, count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) await store.audit.append({ name: 'tool.started', attributes: { index } });
  };
  const log = 'molis:log:events';
  const members = async (): Promise<readonly [member: string, score: string][]> => {
    const flat = await server.operator.zrange(log, 0, -1, 'WITHSCORES');
    return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index]!, flat[2 * index + 1]!]);
  };

  it('holds a chain each, and verifies as a whole, also for one who wrote nothing', async () => {
    const [here, there, reader] = [await openTestValkey(server), await openTestValkey(server), await openTestValkey(server)];
    await Promise.all([append(here, 30), append(there, 30)]);
    const records = await reader.audit.read(0, 100);
    expect(new Set(records.map((record) => record.chain)).size).toBe(2);
    expect(await reader.audit.head()).toEqual({ sequence: 60, hash: records.at(-1)?.hash });
    expect(await verifyTrail(reader.audit)).toMatchObject({ ok: true, records: 60, message: expect.stringContaining('2 chains') });
    const writer = await openTestValkey(server, { credentials: sampleCredentials('log-writer') });
    expect(await writer.audit.read(0, 100)).toEqual(records);
    expect(await verifyTrail(writer.audit)).toMatchObject({ ok: true, records: 60 });
  });

  it('writes what comes at once together, in order', async () => {
    const store = await openTestValkey(server);
    const records = await Promise.all(
      Array.from({ length: 500 }, (_, index) => store.audit.append({ name: 'tool.finished', attributes: { index } })),
    );
    expect(records.map((record) => record.sequence)).toEqual(records.map((_, index) => index + 1));
    expect((await store.audit.read(0, 1000)).map((record) => record.attributes.index)).toEqual(records.map((_, index) => index));
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 500 });
  });

  it('may lack what is older than a day, and only that', async () => {
    const clock = createFakeClock();
    const store = await openTestValkey(server, { clock });
    await append(store, 3);
    clock.advance(86_400_000 + 1);
    await append(store, 2);
    await store.keepHouse();
    expect((await store.audit.read(0, 10)).map((record) => record.sequence)).toEqual([4, 5]);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 2 });
    const trimmer = server.as(samplePasswords['log-trimmer']);
    await append(store, 2);
    await trimmer.zremrangebyscore(log, '-inf', clock.now());
    await append(store, 1);
    clock.advance(1000);
    await append(store, 1);
    const [[oldest]] = (await members()) as unknown as [[string]];
    await server.operator.zrem(log, oldest);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, message: expect.stringContaining('too young') });
  });

  const manipulations: readonly [name: string, change: (all: readonly [string, string][]) => Promise<unknown>, broken: number][] = [
    ['edits a record', ([, , [member, score] = ['', '']]) => replace(member, score, member.replace('"index":2', '"index":9')), 3],
    ['removes a record', ([, , [member] = ['']]) => server.operator.zrem(log, member), 4],
    ['cuts off the end', (all) => server.operator.zrem(log, ...all.slice(3).map(([member]) => member)), 4],
    ['removes everything', () => server.operator.del(log), 1],
    ['moves a record', (all) => server.operator.zadd(log, Number(all[4]![1]) + 1, all[2]![0]), 4],
    ['repeats a record', ([, , [member, score] = ['', '']]) => server.operator.zadd(log, score, ` ${member}`), 3],
    ['adds what is no record', () => server.operator.zadd(log, Date.now() + 60_000, 'forged'), 0],
    [
      'adds a record that no writer sealed',
      (all) => server.operator.zadd(log, Date.now() + 60_000, JSON.stringify(withoutChain(all[0]![0]))),
      1,
    ],
  ];
  const replace = async (member: string, score: string, other: string): Promise<void> => {
    expect(other).not.toBe(member);
    await server.operator.multi().zrem(log, member).zadd(log, score, other).exec();
  };
  const withoutChain = (member: string): object => {
    const { chain: _, ...rest } = JSON.parse(member) as AuditRecord;
    return rest;
  };
  it.each(manipulations)('shows when somebody %s', async (_, change, broken) => {
    const store = await openTestValkey(server);
    await append(store, 5);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
    await change(await members());
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, broken });
  });

  it('shows that the chain of a writer who is gone was taken away whole, or its end; without the tree it does not', async () => {
    const gone = await openTestValkey(server);
    await append(gone, 3);
    await gone.close();
    const store = await openTestValkey(server);
    await append(store, 1);
    const [, , [last] = ['']] = await members();
    await server.operator.zrem(log, last);
    const lost = (words: string) => ({ ok: false, message: expect.stringContaining(words) });
    expect(await verifyTrail(store.audit)).toMatchObject(lost('whose hash is in the tree is gone'));
    await server.operator.zremrangebyrank(log, 0, 1);
    expect(await verifyTrail(store.audit)).toMatchObject(lost('3 records whose hashes are in the tree are gone'));
    await server.operator.del('molis:tree:log', 'molis:tree:leaves');
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 1 });
  });
});
