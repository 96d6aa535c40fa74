/** A server that is restarted, paused, full, or has taken somebody's rights away: clear faults, nothing lost, nothing twice. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditRecord } from '#kernel/audit-event';
import type { Fault } from '#kernel/errors';
import type { ValkeyStore } from '#stores/valkey/open-valkey-store';
import { onceBack } from './once-back.ts';
import { approved, createApprover, decisionBy, draftBy, grantFor, opened, storeApproval } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, startValkey, type ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
let server: ValkeyServer;
beforeEach(async () => {
  server = await startValkey();
}, 300_000);
afterEach(() => server.close());

const gone = { name: 'Fault', code: 'store_unavailable', retryable: true, next: expect.stringMatching(/\w/) };
const nextRing = (store: ValkeyStore): Promise<void> =>
  new Promise((resolve) => {
    const stop = store.requests.onChange(() => {
      stop();
      resolve();
    });
  });

describe('a server that was killed', () => {
  it('is said to be gone, and all is as it was when it is back', async () => {
    const [store, other] = [await openTestValkey(server), await openTestValkey(server)];
    const [pending, granted] = [await opened(store, draftBy('mcp:a')), await approved(store, alice, Date.now(), draftBy('mcp:b'))];
    await server.kill();
    await expect(store.requests.get(pending.id)).rejects.toMatchObject(gone);
    await expect(store.requests.open(draftBy('mcp:c'))).rejects.toMatchObject(gone);
    await expect(store.requests.consume(granted.id, granted.digest, 'x')).rejects.toMatchObject(gone);
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      code: 'audit_unavailable',
      retryable: true,
    });
    const rings = [nextRing(store), nextRing(other)];
    await server.start();
    // Both listen again by themselves, and hear that they may have missed something.
    await Promise.all(rings);
    expect(await onceBack(() => store.requests.get(pending.id))).toEqual(pending);
    // The trail's writer has a connection of its own. A claim that cannot be written down is a claim all the same.
    await onceBack(() => store.audit.append({ name: 'tool.started', attributes: {} }));
    expect(await onceBack(() => store.requests.consume(granted.id, granted.digest, 'x'))).toMatchObject({ ok: true });
    expect(await onceBack(() => other.requests.get(granted.id))).toMatchObject({ status: 'consumed' });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, message: expect.stringContaining('2 chains') });
    const heard = nextRing(other);
    await onceBack(() => store.requests.deny(pending.id, decisionBy()));
    await heard;
  });

  it('while a grant is claimed lets it be used once at most', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => openTestValkey(server)));
    const { id, digest } = await approved(stores[0]!, alice, Date.now());
    const claims = Array.from({ length: 200 }, (_, index) =>
      stores[index % 4]!.requests.consume(id, digest, `claim ${index}`).catch((thrown: Fault) => thrown.code),
    );
    await server.kill();
    const first = await Promise.all(claims);
    await server.start();
    const last = await onceBack(() => stores[0]!.requests.consume(id, digest, 'late'));
    const wins = [...first, last].filter((claim) => typeof claim === 'object' && claim.ok);
    expect(wins.length).toBeLessThanOrEqual(1);
    expect((await onceBack(() => stores[1]!.requests.get(id)))?.status).toBe('consumed');
    expect(await onceBack(() => verifyTrail(stores[1]!.audit))).toMatchObject({ ok: true });
  });

  it('is asked in growing pauses, not in a loop', async () => {
    const store = await openTestValkey(server);
    await server.kill();
    // The connection that broke is one thing, asking for another one is the next.
    await expect(store.requests.countPending()).rejects.toMatchObject(gone);
    const faults = await Promise.all(Array.from({ length: 500 }, () => store.requests.countPending().catch((thrown: unknown) => thrown)));
    expect(new Set(faults.map((fault) => (fault as Fault).code))).toEqual(new Set(['store_unavailable']));
    // Those that came within one pause share the one attempt's fault.
    expect(new Set(faults).size).toBeLessThan(20);
  });
});

describe('a server that is paused', () => {
  it('is given up on in time, and what was asked meanwhile happens once or not at all', async () => {
    const store = await openTestValkey(server, { timeoutMs: 3000 });
    const { id, digest } = await approved(store, alice, Date.now());
    server.pause();
    await expect(store.requests.consume(id, digest, 'x')).rejects.toMatchObject(gone);
    await expect(store.requests.deny(id, decisionBy())).rejects.toMatchObject(gone);
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({ code: 'audit_unavailable' });
    server.resume();
    const consumed = await onceBack(() => store.requests.consume(id, digest, 'y'));
    expect(consumed.record?.status).toBe('consumed');
    expect(await onceBack(() => store.requests.consume(id, digest, 'z'))).toMatchObject({ ok: false, why: 'not_approved' });
    await onceBack(() => store.audit.append({ name: 'tool.finished', attributes: {} }));
    expect(await onceBack(() => verifyTrail(store.audit))).toMatchObject({ ok: true });
  });

  it('at the start is an error in time', async () => {
    server.pause();
    await expect(openTestValkey(server, { timeoutMs: 250 })).rejects.toMatchObject(gone);
    server.resume();
  });

  it('is noticed by who only listens, too', async () => {
    const store = await openTestValkey(server, { timeoutMs: 3000 });
    const ring = nextRing(store);
    server.pause();
    // The look that is made every half minute.
    await store.keepHouse();
    server.resume();
    await ring;
    expect(await onceBack(() => store.requests.countPending())).toBe(0);
  });
});

describe('a server that is full', () => {
  it('still answers, refuses what would write, and goes on when there is room', async () => {
    const store = await openTestValkey(server);
    const [pending, granted] = [await opened(store, draftBy('mcp:a')), await approved(store, alice, Date.now(), draftBy('mcp:b'))];
    const before = await store.audit.head();
    await server.operator.config('SET', 'maxmemory', '1');
    const full = { code: 'store_full', next: expect.stringContaining('maxmemory') };
    expect(await store.requests.get(pending.id)).toEqual(pending);
    expect(await store.requests.countPending()).toBe(1);
    await expect(store.requests.open(draftBy('mcp:c'))).rejects.toMatchObject(full);
    await expect(store.requests.consume(granted.id, granted.digest, 'x')).rejects.toMatchObject(full);
    await expect(storeApproval(store.requests, pending.id, grantFor(pending, alice, Date.now()), decisionBy())).rejects.toMatchObject(full);
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      code: 'audit_unavailable',
      retryable: true,
    });
    await server.operator.config('SET', 'maxmemory', '0');
    expect(await store.audit.head()).toEqual(before);
    expect(await store.requests.get(granted.id)).toEqual(granted);
    expect(await store.requests.consume(granted.id, granted.digest, 'x')).toMatchObject({ ok: true });
    expect(await storeApproval(store.requests, pending.id, grantFor(pending, alice, Date.now()), decisionBy())).toMatchObject({ ok: true });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, message: expect.stringContaining('1 chain') });
  });
});

describe('a credential that is taken away in the middle', () => {
  it('stops its role and no other, and works again when it is given back', async () => {
    const store = await openTestValkey(server);
    const granted = await approved(store, alice, Date.now());
    await server.operator.acl('DELUSER', 'mcp-exec');
    await vi.waitFor(async () => {
      await expect(store.requests.consume(granted.id, granted.digest, 'x')).rejects.toMatchObject({
        code: 'store_auth_failed',
        retryable: false,
        message: expect.stringContaining('mcp-exec'),
      });
    });
    expect(await store.requests.get(granted.id)).toEqual(granted);
    expect(await store.requests.countPending()).toBe(0);
    await server.operator.acl('LOAD');
    await vi.waitFor(async () => expect(await store.requests.consume(granted.id, granted.digest, 'x')).toMatchObject({ ok: true }));
  });

  it('by its rights leaves the connection, and says what is not allowed', async () => {
    const store = await openTestValkey(server);
    const pending = await opened(store);
    await store.requests.deny((await opened(store, draftBy('mcp:b'))).id, decisionBy());
    await server.operator.acl('SETUSER', 'mcp-admin', 'clearselectors');
    await expect(store.requests.deny(pending.id, decisionBy())).rejects.toMatchObject({
      code: 'store_denied',
      message: expect.stringContaining('mcp-admin'),
    });
    expect(await store.requests.get(pending.id)).toEqual(pending);
  });

  it('from the trail’s writer refuses what must be written down first', async () => {
    const store = await openTestValkey(server, { credentials: sampleCredentials('agent', 'exec', 'log-writer') });
    await server.operator.acl('SETUSER', 'log-writer', 'clearselectors');
    await expect(store.requests.open(draftBy('mcp:a'))).rejects.toMatchObject({ code: 'store_denied' });
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      code: 'audit_unavailable',
      retryable: false,
    });
    expect(await store.requests.countPending()).toBe(0);
  });
});

describe('a trail in which somebody altered records', () => {
  it('names each of them, whoever wrote them, and the rest is read', async () => {
    const [one, other] = [await openTestValkey(server), await openTestValkey(server)];
    for (let number = 1; number <= 30; number += 1)
      await (number % 2 ? one : other).audit.append({ name: 'tool.started', attributes: { text: `mark-${number}-` } });
    const members = await server.operator.zrange('molis:log:events', 0, -1, 'WITHSCORES');
    const hurt: string[] = [];
    for (const number of [4, 5, 20]) {
      const at = members.findIndex((member) => member.includes(`"mark-${number}-"`));
      const member = members[at] ?? '';
      await server.operator.zrem('molis:log:events', member);
      await server.operator.zadd('molis:log:events', Number(members[at + 1]), member.replace(`mark-${number}-`, `mask-${number}-`));
      const { chain, sequence } = JSON.parse(member) as AuditRecord;
      hurt.push(`chain \`${chain ?? ''}\`: record ${sequence} was altered: its content does not match its hash`);
    }
    const verdict = await verifyTrail(one.audit);
    expect(verdict).toMatchObject({ ok: false, message: expect.stringMatching(/27 of 30 records fit/) });
    // The second record of one writer, the third of the other, and the tenth. What two wrote within a millisecond has no order of its own.
    expect(hurt.map((message) => / record (\d+) /.exec(message)?.[1])).toEqual(['2', '3', '10']);
    expect(verdict.flaws?.map(({ message }) => message).toSorted()).toEqual(hurt.toSorted());
    expect(await one.audit.read(0, 100)).toHaveLength(30);
    const request = await opened(one, draftBy('mcp:a'));
    expect(await other.requests.get(request.id)).toEqual(request);
  });
});
