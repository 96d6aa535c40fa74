/** What each user may do, proven on the live server with the documented access rules. */

import { readFileSync } from 'node:fs';
import type { Redis } from 'iovalkey';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApprovals } from '#approval/approvals';
import { systemClock } from '#execution/deadline';
import { approved, createApprover, decisionBy, draftOf, grantFor, opened, stopAction, storeApproval } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

interface AclCase {
  readonly user: string;
  readonly command: string;
  readonly expect: 'ok' | 'deny';
  readonly why?: string;
}
const cases = JSON.parse(readFileSync(new URL('../../fixtures/valkey/acl-cases.json', import.meta.url), 'utf8')) as readonly AclCase[];
const passwords: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.values(samplePasswords).map(({ user, password }) => [user, password])),
  healthcheck: 'health-pass',
};

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
}, 300_000);
afterAll(() => server.close());

describe('the access rules', () => {
  const connections = new Map<string, Redis>();
  const as = (user: string): Redis => {
    const client = connections.get(user) ?? server.as({ user, password: passwords[user] ?? '' });
    connections.set(user, client);
    return client;
  };
  beforeEach(async () => {
    await server.operator.flushall();
    for (const id of ['req-00000001', 'req-00000002']) await server.operator.set(`molis:blocked:${id}`, '{}', 'EX', 3600);
    await server.operator.set('molis:approved:req-00000009', '{}', 'EX', 300);
    await server.operator.set('molis:decided:req-00000005', '{}', 'EX', 86_400);
    await server.operator.set('molis:config:security_level', 'balanced');
    await server.operator.zadd('molis:log:events', 1, 'event-one', 2, 'event-two');
    await server.operator.hset('molis:log:packed:1', 'kept', 'x');
    await server.operator.set('other:secret', 'x');
  });

  it('are all there', () => {
    expect(cases.length).toBeGreaterThanOrEqual(84);
    expect(new Set(cases.map((entry) => entry.expect))).toEqual(new Set(['ok', 'deny']));
    for (const { user } of cases) expect(passwords[user]).toBeDefined();
  });

  it.each(cases)('$user: $command → $expect', async ({ user, command, expect: wanted }) => {
    const [name = '', ...values] = command.split(' ');
    const answer = await as(user)
      .call(name, ...values)
      .then(
        () => 'ok',
        (thrown: Error) =>
          thrown.message.includes('NOPERM') || /can't run this command|No permissions/i.test(thrown.message) ? 'deny' : thrown.message,
      );
    expect(answer).toBe(wanted);
  });
});

describe('whoever has no credential', () => {
  it('is nobody', async () => {
    const client = server.as({ user: '', password: '' });
    for (const command of ['PING', 'GET molis:config:security_level', 'AUTH default x', 'AUTH x']) {
      const [name = '', ...values] = command.split(' ');
      await expect(client.call(name, ...values)).rejects.toThrow(/NOAUTH|WRONGPASS/);
    }
  });
});

describe('whoever has the agent’s credential', () => {
  const alice = createApprover();
  const setUp = async () => {
    await server.operator.flushall();
    const store = await openTestValkey(server);
    const approvals = createApprovals({
      requests: store.requests,
      audit: store.audit,
      clock: systemClock,
      via: 'editor',
      trustedKeys: async () => [alice.pinned],
    });
    return { store, approvals, agent: server.as(samplePasswords.agent) };
  };

  it('cannot make an approval by writing one where it may write', async () => {
    const { store, approvals, agent } = await setUp();
    const real = await opened(store);
    const mallory = createApprover('user:mallory');
    const grant = await grantFor(real, mallory, Date.now());
    const stored = JSON.parse((await agent.get(`molis:blocked:${real.id}`)) ?? '') as object;
    await agent.set(`molis:blocked:${real.id}`, JSON.stringify({ ...stored, status: 'approved', grant, decision: decisionBy() }));
    await expect(store.requests.get(real.id)).rejects.toMatchObject({ code: 'store_corrupt' });
    await expect(approvals.consume(real.id, real.digest, 'x')).rejects.toMatchObject({ code: 'store_corrupt' });
    await expect(store.requests.consume(real.id, real.digest, 'x')).rejects.toMatchObject({ code: 'store_corrupt' });
    expect((await store.requests.list({ limit: 10 })).records).toEqual([]);
  });

  it('cannot swap a request under an open dialog, nor change what it says', async () => {
    const { store, approvals, agent } = await setUp();
    const real = await opened(store);
    await approvals.card(real.id);
    const other = draftOf({ action: stopAction(103), title: 'Stop VM 103 (web103) on pve' });
    const stored = JSON.parse((await agent.get(`molis:blocked:${real.id}`)) ?? '') as { request: object };
    await agent.set(`molis:blocked:${real.id}`, JSON.stringify({ ...stored, request: other }), 'EX', 3600);
    expect(await approvals.approve(real.id, alice.signer)).toMatchObject({ ok: false, code: 'tampered' });
    await agent.set(
      `molis:blocked:${real.id}`,
      JSON.stringify({ ...stored, request: { ...stored.request, digest: other.digest } }),
      'EX',
      3600,
    );
    expect(await approvals.approve(real.id, alice.signer)).toMatchObject({ ok: false, code: 'tampered' });
    // What was shown is still worth a grant for exactly itself.
    expect(await storeApproval(store.requests, real.id, grantFor(real, alice, Date.now()), decisionBy())).toMatchObject({
      ok: false,
      why: 'mismatch',
    });
  });

  it('cannot inflate the count with entries that no request can have, nor break the list', async () => {
    const { store, agent } = await setUp();
    const real = await opened(store);
    await agent.zadd('molis:idx:pending', 9e15, 'junk', Date.now() + 1_000_000, "req-' OR 1", Date.now() + 3_599_000, '../../x');
    expect((await store.requests.list({ limit: 10 })).records.map((record) => record.id)).toEqual([real.id]);
    await agent.zadd('molis:idx:pending', 5, real.id);
    await store.keepHouse();
    expect(await store.requests.get(real.id)).toMatchObject({ status: 'pending' });
  });

  it('has every call refused that its role does not include, by the server and with the role’s name', async () => {
    const { store } = await setUp();
    const real = await approved(store, alice, Date.now());
    const alone = await openTestValkey(server, { credentials: sampleCredentials('agent', 'log-writer') });
    expect(await alone.requests.get(real.id)).toEqual(real);
    const grant = await grantFor(real, alice, Date.now());
    for (const attempt of [
      () => alone.requests.consume(real.id, real.digest, 'x'),
      () => alone.requests.cancel(real.id, 'x'),
      () => storeApproval(alone.requests, real.id, grant, decisionBy()),
      () => alone.requests.revoke(real.id, decisionBy()),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'store_role_missing', next: expect.stringContaining('credentials file') });
    }
    const posing = await openTestValkey(server, {
      credentials: async (role) => (role === 'log-writer' ? samplePasswords[role] : samplePasswords.agent),
      roles: ['agent'],
    });
    await expect(storeApproval(posing.requests, real.id, grant, decisionBy())).rejects.toMatchObject({ code: 'store_denied' });
    await expect(posing.requests.consume(real.id, real.digest, 'x')).rejects.toMatchObject({ code: 'store_denied' });
    expect(await store.requests.consume(real.id, real.digest, 'x')).toMatchObject({ ok: true });
  });
});
