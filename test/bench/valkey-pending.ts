/** `npm run bench:valkey [-- COUNT]`: counting and listing with 100,000 pending requests among as many foreign keys. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Redis } from 'iovalkey';
import type { RequestStore } from '#kernel/ports/request-store';
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { fillValkey } from '../integration/stores/fill-requests.ts';
import { draftBy } from '../integration/stores/request-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey } from '../integration/stores/valkey-server.ts';

const count = Number(process.argv[2] ?? 100_000);
const server = await startValkey({ config: ['appendfsync everysec'] });
try {
  const empty = await usedMemory(server.operator);
  await fillValkey(server.as(samplePasswords.agent), count);
  const full = await usedMemory(server.operator);
  await foreignKeys(server.operator, count);
  const store = await openValkeyStore({ url: server.url, credentials: sampleCredentials() });
  const { requests } = store;
  if ((await requests.countPending()) !== count) throw new Error('not all requests are pending');
  const { cursor } = await requests.list({ statuses: ['pending'], limit: 50 });
  if (cursor === undefined) throw new Error('there is no second page');
  console.log(`${count} pending requests: ${Math.round((full - empty) / count)} bytes each, ${Math.round((full - empty) / 1e6)} MB in all`);
  await measure('count', 2000, () => requests.countPending());
  await measure('first page of 50, pending', 500, () => requests.list({ statuses: ['pending'], limit: 50 }));
  await measure('next page of 50, pending', 500, () => requests.list({ statuses: ['pending'], limit: 50, cursor }));
  await measure('first page of 50, any status', 500, () => requests.list({ limit: 50 }));
  await searches(requests, count);
  let vmid = 1000;
  await measure('open', 200, () => requests.open(draftBy(`mcp:bench-${vmid++}`)));
  await store.close();
} finally {
  await server.close();
}

/** All pages of a search that fits the oldest request only: every record is looked at. */
async function searches(requests: RequestStore, wanted: number): Promise<void> {
  const oldest = 'Stop VM 100 (';
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await measure('search, first page', 20, () => requests.list({ statuses: ['pending'], limit: 50, search: 'no such thing' }));
  await measure('search, first page, everything fits', 100, () => requests.list({ statuses: ['pending'], limit: 50, search: 'stop vm' }));
  let found = 0;
  let pages = 0;
  await measure(`search through all ${wanted}, page by page`, 3, async () => {
    let cursor: string | undefined;
    do {
      const page = await requests.list({ statuses: ['pending'], limit: 50, search: oldest, ...(cursor === undefined ? {} : { cursor }) });
      found += page.records.length;
      cursor = page.cursor;
      pages += 1;
    } while (cursor !== undefined);
  });
  delay.disable();
  console.log(`search: ${pages / 3} pages, longest block of the event loop ${(delay.max / 1e6).toFixed(1)} ms (${found / 3} found)`);
}

async function foreignKeys(operator: Redis, wanted: number): Promise<void> {
  for (let done = 0; done < wanted; done += 2000) {
    const pipeline = operator.pipeline();
    for (let index = done; index < done + 2000; index += 1) pipeline.set(`other:${index}`, 'x');
    await pipeline.exec();
  }
}

async function usedMemory(operator: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await operator.info('memory'))?.[1]);
}

async function measure(name: string, rounds: number, work: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) {
    const before = performance.now();
    await work();
    times.push(performance.now() - before);
  }
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(2);
  console.log(
    `${name}: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, ${((user + system) / 1000 / rounds).toFixed(2)} ms of processor here (${rounds} rounds)`,
  );
}
