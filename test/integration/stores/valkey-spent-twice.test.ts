/** A grant that was used and put back, by who can write its keys or by a server that forgot: the trail remembers. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { approved, createApprover, draftBy } from './store-fixtures.ts';
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

/** With an administrator's credential: the grant as it was, and no outcome. */
async function putBack(id: string, text: string): Promise<void> {
  const admin = server.as(samplePasswords.admin);
  await admin.del(`molis:decided:${id}`);
  await admin.zrem('molis:idx:decided', id);
  await admin.set(`molis:approved:${id}`, text, 'EX', 300);
  await admin.zadd('molis:idx:approved', Date.now() + 300_000, id);
}

it('is not used again, by no process', async () => {
  const first = await openTestValkey(server);
  const { id, digest } = await approved(first, alice, Date.now());
  const text = (await server.operator.get(`molis:approved:${id}`)) ?? '';
  expect(await first.requests.consume(id, digest, 'first')).toMatchObject({ ok: true });
  await putBack(id, text);
  // What agents' machines have, and nothing else.
  const second = await openTestValkey(server, { credentials: sampleCredentials('agent', 'exec', 'log-writer') });
  expect(await second.requests.get(id)).toMatchObject({ status: 'approved' });
  for (const store of [second, first])
    expect(await store.requests.consume(id, digest, 'second')).toMatchObject({
      ok: false,
      why: 'not_approved',
      record: { status: 'consumed' },
    });
  expect(await verifyTrail(second.audit)).toMatchObject({ ok: true });
});

it('is found behind thousands of younger records', async () => {
  const store = await openTestValkey(server);
  const { id, digest } = await approved(store, alice, Date.now());
  const text = (await server.operator.get(`molis:approved:${id}`)) ?? '';
  await store.requests.consume(id, digest, 'first');
  await store.audit.appendAll(
    Array.from({ length: 2500 }, (_, n) => ({ name: 'tool.finished' as const, attributes: { n, request_id: id } })),
  );
  await putBack(id, text);
  expect(await store.requests.consume(id, digest, 'second')).toMatchObject({ ok: false });
});

it('of another request stays good, whatever stands in the trail', async () => {
  const store = await openTestValkey(server);
  const [used, good] = [
    await approved(store, alice, Date.now(), draftBy('mcp:a')),
    await approved(store, alice, Date.now(), draftBy('mcp:b')),
  ];
  await store.requests.consume(used.id, used.digest, 'x');
  await store.audit.append({ name: 'tool.started', attributes: { request_id: good.id, note: 'approval.consumed' } });
  await server.operator.zadd('molis:log:events', Date.now(), `no record, but approval.consumed and ${good.id}`);
  expect(await store.requests.consume(good.id, good.digest, 'y')).toMatchObject({ ok: true });
});
