/** What the trail takes of the server's memory, and that what is over is dropped in small steps. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { readOf } from './trail-of-reads.ts';
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

it('a packed record takes a tenth of what it took before', async () => {
  const [store, count] = [await openTestValkey(server, { clock: { now: () => Date.now() - 600_000 } }), 20 * 512];
  for (let done = 0; done < count; done += 512)
    await store.audit.appendAll(Array.from({ length: 512 }, (_, index) => readOf(done + index)));
  await store.close();
  const before = await taken();
  await (await openTestValkey(server)).keepHouse();
  const after = await taken();
  console.info(`${Math.round(before / count)} bytes a record, packed ${Math.round(after / count)}`);
  expect(await server.operator.zcard('molis:log:events')).toBe(0);
  expect(after).toBeLessThan(before / 7);
});

/** Bytes of the server's memory. */
async function taken(): Promise<number> {
  const keys = await server.operator.keys('molis:log:*');
  const sizes = await Promise.all(keys.map((key) => server.operator.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
}

it('what is older than a day goes in steps, and what is not stays whole', { timeout: 120_000 }, async () => {
  const [old, young] = [12_345, 6000];
  for (const [count, age] of [
    [old, dayMs + 60_000],
    [young, dayMs / 2],
  ] as const) {
    const before = await openTestValkey(server, { clock: { now: () => Date.now() - age } });
    for (let done = 0; done < count; done += 1000)
      await before.audit.appendAll(Array.from({ length: Math.min(1000, count - done) }, (_, index) => readOf(done + index)));
    await before.close();
  }
  await server.operator.config('RESETSTAT');
  const store = await openTestValkey(server, { credentials: sampleCredentials('agent', 'log-trimmer') });
  await store.keepHouse();
  expect(await server.operator.zcard('molis:log:events')).toBe(young);
  const stats = await server.operator.info('commandstats');
  // Once more for the chunks.
  expect(Number(/cmdstat_zremrangebyscore:calls=(\d+)/.exec(stats)?.[1])).toBe(Math.ceil(old / 5000) + 1);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
  await store.keepHouse();
  expect(await server.operator.zcard('molis:log:events')).toBe(young);
});

it('a record that somebody with `log-writer` gives another time is missed when housekeeping has dropped it', async () => {
  const store = await openTestValkey(server);
  await store.audit.appendAll([1, 2, 3].map(readOf));
  const members = await server.operator.zrange('molis:log:events', 0, -1);
  await server.as(samplePasswords['log-writer']).zadd('molis:log:events', 1, members[1] ?? '');
  await store.keepHouse();
  expect(await server.operator.zcard('molis:log:events')).toBe(2);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: false });
});
