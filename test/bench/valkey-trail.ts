/**
 * `npm exec -- node test/bench/valkey-trail.ts [COUNT]`: what the trail takes of the server's memory, unpacked and packed, and how long packing
 * and reading take; COUNT records (1,000,000) of calls that only look, 100 a second.
 */
import type { Redis } from 'iovalkey';
import { verifyTrail } from '#audit/verify-trail';
import { openValkeyStore, type ValkeyStore } from '#stores/valkey/open-valkey-store';
import type { CredentialName } from '#stores/valkey/store-url';
import { readOf } from '../integration/stores/trail-of-reads.ts';
import { sampleCredentials, startValkey } from '../integration/stores/valkey-server.ts';

const count = Number(process.argv[2] ?? 1_000_000);
const [callsADay, aSecond, writers] = [8_640_000, 100, 8];
const server = await startValkey({ config: ['appendfsync no', 'auto-aof-rewrite-percentage 0'] });
const clock = { time: Date.now() - (count / aSecond) * 1000 - 600_000, now: () => clock.time };
const open = (...roles: readonly CredentialName[]): Promise<ValkeyStore> =>
  openValkeyStore({ url: server.url, credentials: sampleCredentials(...roles), clock, timeoutMs: 60_000 });
try {
  const empty = await memory(server.operator);
  const stores = await Promise.all(Array.from({ length: writers }, () => open('agent', 'log-writer')));
  await timed('write', () => write(stores));
  const plain = (await memory(server.operator)) - empty;
  clock.time += 600_000;
  const keeper = await open();
  await timed('pack', async () => {
    for (let left = count; left >= 512; left = await server.operator.zcard('molis:log:events')) await keeper.keepHouse();
  });
  const packed = (await memory(server.operator)) - empty;
  say('unpacked', plain);
  say('packed', packed);
  await timed('read and verify all', async () => console.log((await verifyTrail(keeper.audit)).message));
  await timed('one request of the last hour', () => keeper.audit.ofRequest('req-00000000', clock.time - 3_600_000));
  const before = process.memoryUsage().rss;
  await timed('calls without an end, first look', () => keeper.audit.attempts());
  await timed('calls without an end, second look', () => keeper.audit.attempts());
  console.log(`memory of this process: ${Math.round((process.memoryUsage().rss - before) / 1e6)} MB more`);
  await timed('a page in the middle', () => keeper.audit.read(Math.floor(count / 2), 50));
  for (const store of [...stores, keeper]) await store.close();
} finally {
  await server.close();
}

/** Each writer seals a chain of its own; two records go together, as they do at that rate. */
async function write(stores: readonly ValkeyStore[]): Promise<void> {
  for (let done = 0; done < count; done += 2 * writers) {
    clock.time += (2 * writers * 1000) / aSecond;
    await Promise.all(stores.map((store, at) => store.audit.appendAll([readOf(done + 2 * at), readOf(done + 2 * at + 1)])));
  }
}

function say(what: string, bytes: number): void {
  const each = bytes / count;
  console.log(`${what}: ${each.toFixed(1)} bytes a record; 24 h of 100 calls a second: ${((each * callsADay) / 1e9).toFixed(2)} GB`);
}

async function memory(operator: Redis): Promise<number> {
  return Number(/^used_memory_dataset:(\d+)/m.exec(await operator.info('memory'))?.[1]);
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now();
  await work();
  console.log(`${what}: ${((performance.now() - begun) / 1000).toFixed(2)} s`);
}
