/**
 * What a claim costs does not depend on what else is written. With figures: `CLAIM_TRAFFIC=1000 npm exec -- vitest run --project integration
 * test/integration/stores/valkey-claim-cost.test.ts` (calls a second over a grant's five minutes, two records each).
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ValkeyStore } from '#stores/valkey/open-valkey-store';
import { approved, createApprover, draftBy } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

const alice = createApprover();
const traffic = Number(process.env['CLAIM_TRAFFIC'] ?? 50);
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey({ config: ['appendfsync no'] });
}, 300_000);
afterAll(() => server.close());
beforeEach(async () => {
  await server.operator.flushall();
});

/** What calls leave in the trail within the five minutes of a grant, evenly. */
async function fillTrail(callsASecond: number): Promise<void> {
  const [store, records] = [await openTestValkey(server), callsASecond * 300 * 2];
  await store.audit.append({ name: 'tool.started', attributes: { request_id: 'req-ffffffff', tool: 'stop_vm', note: 'x'.repeat(400) } });
  const [member = ''] = await server.operator.zrange('molis:log:events', 0, 0);
  await store.close();
  for (let done = 0; done < records; done += 1000) {
    const flat = Array.from({ length: Math.min(1000, records - done) }, (_, index) => [
      Date.now() - (300_000 * (done + index)) / records,
      member.replace(/"hash":"[^"]{12}/, `"hash":"${String(done + index).padStart(12, '0')}`),
    ]);
    await server.operator.zadd('molis:log:events', ...flat.flat());
  }
}

async function bytesOfClaim(store: ValkeyStore, agent: string): Promise<number> {
  const { id, digest } = await approved(store, alice, Date.now(), draftBy(agent));
  const sent = async (): Promise<number> => Number(/total_net_output_bytes:(\d+)/.exec(await server.operator.info('stats'))?.[1]);
  const before = await sent();
  expect(await store.requests.consume(id, digest, 'x')).toMatchObject({ ok: true });
  return (await sent()) - before;
}

it(`a claim reads as much with ${traffic} calls a second as with none`, { timeout: 600_000 }, async () => {
  const store = await openTestValkey(server);
  await bytesOfClaim(store, 'mcp:warm');
  const quiet = await bytesOfClaim(store, 'mcp:a');
  await fillTrail(traffic);
  const busy = await bytesOfClaim(store, 'mcp:b');
  console.info(`bytes read by a claim: ${quiet} without traffic, ${busy} with ${traffic} calls/s`);
  expect(busy).toBeLessThan(quiet + 2000);
});

it('under access rules of a version without marks the trail is asked, as it was', async () => {
  const keep = (await server.operator.acl('LIST')).find((line) => line.startsWith('user mcp-exec ')) ?? '';
  const [, , ...rules] = keep.replace(/ ?\(~molis:spent:[^)]*\)/, '').match(/\([^)]*\)|[^ ]+/g) ?? [];
  await server.operator.acl('SETUSER', 'mcp-exec', 'reset', ...rules);
  const store = await openTestValkey(server);
  const { id, digest } = await approved(store, alice, Date.now());
  const text = (await server.operator.get(`molis:approved:${id}`)) ?? '';
  expect(await store.requests.consume(id, digest, 'first')).toMatchObject({ ok: true });
  await server.operator.del(`molis:decided:${id}`);
  await server.operator.set(`molis:approved:${id}`, text, 'EX', 300);
  expect(await store.requests.consume(id, digest, 'second')).toMatchObject({ ok: false, record: { status: 'consumed' } });
  await server.operator.acl('LOAD');
});

it('marks are dropped an hour later, by the housekeeping’s user alone', async () => {
  const clock = { now: () => Date.now() + 2 * 3_600_000 };
  const store = await openTestValkey(server);
  await bytesOfClaim(store, 'mcp:a');
  const marks = (): Promise<string[]> => server.operator.keys('molis:spent:*');
  await store.keepHouse();
  expect(await marks()).toHaveLength(1);
  const agents = await openTestValkey(server, { clock, credentials: sampleCredentials('agent', 'exec', 'log-writer', 'admin') });
  await agents.keepHouse();
  expect(await marks()).toHaveLength(1);
  await expect(server.as(samplePasswords.admin).unlink(await marks())).rejects.toThrow(/NOPERM/);
  const trimmer = await openTestValkey(server, { clock });
  await trimmer.keepHouse();
  expect(await marks()).toEqual([]);
});
