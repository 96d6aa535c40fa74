/** `npm run bench:valkey [-- COUNT]`: counting and listing with 100,000 pending requests among as many foreign keys. */
import type { Redis } from 'iovalkey';
import { requestLifeMs } from '#kernel/request';
import { keysOf } from '#stores/valkey/keys';
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { pendingScore } from '#stores/valkey/request-index';
import { requestText } from '#stores/valkey/stored-request';
import { draftBy } from '../integration/stores/request-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey } from '../integration/stores/valkey-server.ts';

const count = Number(process.argv[2] ?? 100_000);
const server = await startValkey({ config: ['appendfsync everysec'] });
try {
  const empty = await usedMemory(server.operator);
  await fill(server.as(samplePasswords.agent), count);
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
  let vmid = 1000;
  await measure('open', 200, () => requests.open(draftBy(`mcp:bench-${vmid++}`)));
  await store.close();
} finally {
  await server.close();
}

async function fill(agent: Redis, wanted: number): Promise<void> {
  const keys = keysOf('molis');
  const now = Date.now();
  for (let done = 0; done < wanted; ) {
    const pipeline = agent.pipeline();
    for (const end = Math.min(wanted, done + 2000); done < end; done += 1) {
      const id = `req-${done.toString(16).padStart(8, '0')}`;
      const createdAt = now - wanted + done;
      const record = {
        ...draftBy(`mcp:agent-${done % 1000}`, 100 + done),
        id,
        status: 'pending',
        createdAt,
        expiresAt: createdAt + requestLifeMs,
      } as const;
      const place = createdAt * 1000;
      pipeline.set(keys.blocked(id), requestText({ record, place }), 'EX', 3600).zadd(keys.pending, pendingScore(place), id);
    }
    await pipeline.exec();
  }
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
