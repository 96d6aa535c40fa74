/** Answers that never come: what was written is not written again, and what was not is. */
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { groupReads } from '#app/store/group-reads';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditDraft } from '#kernel/audit-event';
import { type LosingProxy, startLosingProxy } from './losing-proxy.ts';
import { onceBack } from './once-back.ts';
import { approved, createApprover } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { startValkey, type ValkeyServer } from './valkey-server.ts';

let server: ValkeyServer;
let proxy: LosingProxy;
beforeEach(async () => {
  server = await startValkey();
  proxy = await startLosingProxy(server.port);
}, 300_000);
afterEach(() => Promise.all([proxy.close(), server.close()]));

const throughProxy = () => openTestValkey(server, { url: `valkey://127.0.0.1:${proxy.port}/0` });
const read = (n: number): AuditDraft => ({ name: 'tool.finished', attributes: { n } });
/** The numbers in the log, in its order. */
const numbers = async () =>
  (await server.operator.zrange('molis:log:events', 0, -1)).map(
    (member) => (JSON.parse(member) as { attributes: { n: number } }).attributes.n,
  );

it.each([
  ['answer', [1, 2, 3, 4]],
  ['request', [1, 2]],
] as const)('after a lost %s a group is written once when it is tried again', async (what, between) => {
  const store = await throughProxy();
  const group = [read(3), read(4)];
  await store.audit.appendAll([read(1), read(2)]);
  proxy.lose(what, 'zadd');
  await expect(store.audit.appendAll(group)).rejects.toMatchObject({ code: 'audit_unavailable', retryable: true });
  expect(await numbers()).toEqual(between);
  await onceBack(() => store.audit.appendAll([...group, read(5)]));
  expect(await numbers()).toEqual([1, 2, 3, 4, 5]);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 5 });
});

it('a group whose answers are lost again and again is written once, and no chain has a gap', async () => {
  const store = await throughProxy();
  const group: AuditDraft[] = [];
  for (const [index, what] of (['request', 'answer', 'answer', 'request', 'answer'] as const).entries()) {
    group.push(read(2 * index), read(2 * index + 1));
    proxy.lose(what, 'zadd');
    await expect(store.audit.appendAll(group)).rejects.toMatchObject({ code: 'audit_unavailable' });
  }
  // Another record in between, which is no part of the group.
  await onceBack(() => store.audit.append(read(99)));
  // Only one of them is asked for: all that were sent with it must stand there, too.
  const [first, ...others] = group;
  await onceBack(() => store.audit.appendAll([first!]));
  await onceBack(() => store.audit.appendAll(others));
  expect((await numbers()).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99]);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 11 });
});

it('the end of a chain that was completed late is remembered: cutting it off is found', async () => {
  const store = await throughProxy();
  proxy.lose('answer', 'zadd');
  const group = [read(1), read(2)];
  await expect(store.audit.appendAll(group)).rejects.toMatchObject({ code: 'audit_unavailable' });
  await onceBack(() => store.audit.appendAll(group));
  await server.operator.zremrangebyrank('molis:log:events', 1, 1);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, message: expect.stringContaining('cut off') });
});

it('reads that were noted meanwhile stand in the trail once', async () => {
  const store = await throughProxy();
  const failed = Promise.withResolvers<void>();
  const lines = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => failed.resolve() };
  const reads = groupReads(store.audit, lines);
  onTestFinished(() => reads.settle());
  await reads.note(read(1));
  proxy.lose('answer', 'zadd');
  await Promise.all([reads.note(read(2)), reads.note(read(3))]);
  await failed.promise;
  await onceBack(() => reads.audit.appendAll([read(4)]));
  expect(await numbers()).toEqual([1, 2, 3, 4]);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 4 });
});

it.each([
  ['answer', { ok: false, why: 'not_approved', record: { status: 'consumed' } }],
  ['request', { ok: true }],
] as const)('a claim whose %s is lost counts once at most', async (what, second) => {
  const store = await throughProxy();
  const { id, digest } = await approved(store, createApprover(), Date.now());
  proxy.lose(what, 'getdel');
  await expect(store.requests.consume(id, digest, 'first')).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('whether it was made is not known'),
  });
  expect(await onceBack(() => store.requests.consume(id, digest, 'second'))).toMatchObject(second);
  expect(await onceBack(() => store.requests.consume(id, digest, 'third'))).toMatchObject({ ok: false });
});
