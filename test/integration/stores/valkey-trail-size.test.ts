/** What the trail takes of the server's memory, and that what is over is dropped in small steps. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditDraft } from '#kernel/audit-event';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

const dayMs = 86_400_000;
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey({ config: ['appendfsync no'] });
}, 300_000);
afterAll(() => server.close());
beforeEach(async () => {
  await server.operator.flushall();
});

/** As a read of a cluster leaves it. */
function recordOf(call: number): AuditDraft {
  return {
    name: 'tool.finished',
    attributes: {
      'gen_ai.tool.name': 'list_guests',
      'gen_ai.tool.call.id': `call-${String(call).padStart(12, '0')}`,
      agent: { id: 'mcp:laptop', host: 'mcp', modelTier: 'advanced', model: 'some-model' },
      cluster: 'lab',
      tier: 'green',
      impact: 'none',
      status: 'ok',
      duration_ms: 12,
      input: { node: 'pve1' },
    },
  };
}

it('a record takes little more than its text', async () => {
  const [store, count] = [await openTestValkey(server), 20_000];
  for (let done = 0; done < count; done += 1000)
    await store.audit.appendAll(Array.from({ length: 1000 }, (_, index) => recordOf(done + index)));
  const taken = Number(await server.operator.memory('USAGE', 'molis:log:events', 'SAMPLES', 0));
  const members = await server.operator.zrange('molis:log:events', 0, -1);
  const text = members.reduce((sum, member) => sum + member.length, 0);
  console.info(`${Math.round(taken / count)} bytes a record, ${Math.round(text / count)} of them its text`);
  expect(members).toHaveLength(count);
  expect(taken).toBeLessThan(text * 1.25 + 200 * count);
});

it('what is older than a day goes in steps, and what is not stays whole', { timeout: 120_000 }, async () => {
  const [old, young] = [12_345, 6000];
  for (const [count, age] of [
    [old, dayMs + 60_000],
    [young, dayMs / 2],
  ] as const) {
    const before = await openTestValkey(server, { clock: { now: () => Date.now() - age } });
    for (let done = 0; done < count; done += 1000)
      await before.audit.appendAll(Array.from({ length: Math.min(1000, count - done) }, (_, index) => recordOf(done + index)));
    await before.close();
  }
  await server.operator.config('RESETSTAT');
  const store = await openTestValkey(server, { credentials: sampleCredentials('agent', 'log-writer', 'log-trimmer') });
  await store.keepHouse();
  expect(await server.operator.zcard('molis:log:events')).toBe(young);
  const stats = await server.operator.info('commandstats');
  expect(Number(/cmdstat_zremrangebyscore:calls=(\d+)/.exec(stats)?.[1])).toBe(Math.ceil(old / 5000));
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
  await store.keepHouse();
  expect(await server.operator.zcard('molis:log:events')).toBe(young);
});

it('a record that somebody with `log-writer` gives another time is missed when housekeeping has dropped it', async () => {
  const store = await openTestValkey(server);
  await store.audit.appendAll([1, 2, 3].map(recordOf));
  const members = await server.operator.zrange('molis:log:events', 0, -1);
  await server.as(samplePasswords['log-writer']).zadd('molis:log:events', 1, members[1] ?? '');
  await store.keepHouse();
  expect(await server.operator.zcard('molis:log:events')).toBe(2);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: false });
});
