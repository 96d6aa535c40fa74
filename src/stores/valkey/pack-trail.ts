/** What becomes of the shared trail's records: after two minutes they are packed, 512 together; after a day they go. */
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import type { Redis } from 'iovalkey';
import type { Connections } from './connections.ts';
import { type Keys, lives } from './keys.ts';
import { digestOf, packWindow, rangeWithScores, recordsInChunk, type TrailSource, trailReaders } from './read-trail.ts';
import { execute, type StoreContext } from './store-context.ts';
import type { ValkeyRole } from './store-url.ts';

/** What is younger stays as it is: it is what is looked at most. */
const packedAfterMs = 120_000;
/** Who may add records may add chunks; the mightier last. */
const writers: readonly ValkeyRole[] = ['log-writer', 'admin'];
/** At most so many chunks in one go. */
const maxChunks = 100;

interface PackEntry {
  readonly score: number;
  /** As bytes: what is no text must come back as it was. */
  readonly member: Buffer;
}

/**
 * Moves the oldest records into chunks, as far as there are enough. Two of the server's users share the work, so that none can change a record by
 * itself: `log-writer` adds a chunk where none is, `log-trimmer` puts its name into the index and takes out what it holds, in one transaction.
 */
export async function packTrail(context: StoreContext): Promise<void> {
  const { connections } = context;
  if (!connections.has('log-trimmer') || !writers.some((role) => connections.has(role))) return;
  for (let packed = 0; packed < maxChunks; packed += 1) if (!(await packOne(context))) return;
}

/**
 * INVARIANT: the index is watched before anything is looked at, so of two that pack at once one does nothing. The chunk is seen on the connection
 * that takes the records out: after a fail-over the two users may be on different servers. A process that dies in between leaves a chunk
 * that no index names; it goes with its hour.
 */
async function packOne({ connections, keys, now, trimmerTurn }: StoreContext): Promise<boolean> {
  return trimmerTurn(async (trimmer) => {
    await trimmer.watch(keys.index);
    const found = await connections.asAny(writers, (client) => oldestOf(client, keys, now() - packedAfterMs));
    const chunk = found === undefined ? undefined : await chunkOf(found);
    if (!chunk) return stop(trimmer);
    const { key, field, bytes, score } = { ...chunk, key: keys.packed(chunk.hour) };
    await connections.asAny(writers, (client) => client.hsetnx(key, field, bytes));
    if ((await trimmer.hstrlen(key, field)) !== bytes.length) return stop(trimmer);
    const transaction = trimmer
      .multi()
      .zadd(keys.index, score, `1 ${chunk.hour} ${field}`)
      .zrem(keys.log, ...chunk.members);
    return Number((await execute(transaction))?.[1] ?? 0) > 0;
  });
}

async function stop(trimmer: Redis): Promise<false> {
  await trimmer.unwatch();
  return false;
}

interface Oldest {
  readonly entries: readonly PackEntry[];
  /** The score of the newest chunk; 0: there is none. */
  readonly newest: number;
}

/** undefined: too few are old enough. */
async function oldestOf(client: Redis, { log, index }: Keys, before: number): Promise<Oldest | undefined> {
  const flat = await client.zrangebyscoreBuffer(log, '-inf', before, 'WITHSCORES', 'LIMIT', 0, recordsInChunk);
  if (flat.length < 2 * recordsInChunk) return undefined;
  const entries = Array.from({ length: recordsInChunk }, (_, at) => ({
    member: flat[2 * at] ?? Buffer.alloc(0),
    score: Number(flat[2 * at + 1]),
  }));
  const count = await client.zcard(index);
  const [newest] = count === 0 ? [] : await rangeWithScores(client, 'log-writer', index, ['-inf', count - 1, 1]);
  return { entries, newest: newest?.score ?? 0 };
}

const compress = promisify(brotliCompress);

async function chunkOf({ entries, newest }: Oldest) {
  const members = entries.map(({ member }) => member);
  const first = JSON.stringify(entries.map(({ score, member }) => [score, member.length]));
  const plain = Buffer.concat([Buffer.from(`${first}\n`), ...members]);
  const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_SIZE_HINT: size } = constants;
  // Measured: 9 saves 3 % and takes seven times as long.
  const bytes = await compress(plain, { params: { [quality]: 5, [size]: plain.length } });
  const score = Math.max(entries.at(-1)?.score ?? 0, newest + 0.001);
  return { members, bytes, score, hour: packWindow(score), field: `${digestOf(bytes)}.${randomBytes(4).toString('hex')}` };
}

// What is older than a day.

/** At most this many records go at once: the server answers nobody else meanwhile. */
const trimmedAtOnce = 5000;
const hoursADay = 24;

/** The trail in the shared store lasts a day; whoever must keep it longer exports it. */
export async function trimTrail({ connections, keys, now }: StoreContext): Promise<void> {
  if (!connections.has('log-trimmer')) return;
  const end = now() - lives.outcome * 1000;
  for (;;) {
    const step = await nextStep(connections, keys);
    const limit = step === undefined || step >= end ? `(${end}` : step;
    const dropped = await connections.as('log-trimmer', (client) => client.zremrangebyscore(keys.log, '-inf', limit));
    if (limit !== step || dropped === 0) break;
  }
  await trimChunks({ connections, keys }, end);
}

/** The score up to which there are so many; the trimmer's own user cannot look. undefined: there are fewer, or nobody here may read. */
async function nextStep(connections: Connections, keys: Keys): Promise<number | undefined> {
  if (!trailReaders.some((role) => connections.has(role))) return undefined;
  const [last] = await connections.asAny(trailReaders, (client, role) =>
    rangeWithScores(client, role, keys.log, ['-inf', trimmedAtOnce - 1, 1]),
  );
  return last?.score;
}

/** The index first, so that nobody looks for what is gone; then the hours that are over as a whole, and what was never named. */
async function trimChunks({ connections, keys }: TrailSource, end: number): Promise<void> {
  const over = packWindow(end);
  const named = await hoursBefore({ connections, keys }, end);
  await connections.as('log-trimmer', (client) => client.zremrangebyscore(keys.index, '-inf', `(${end}`));
  const hours = new Set([...named, ...Array.from({ length: hoursADay }, (_, back) => over - 1 - back)]);
  const old = [...hours].filter((hour) => hour < over).map((hour) => keys.packed(hour));
  await connections.as('log-trimmer', (client) => client.unlink(old));
}

/** Of the chunks that are older: more than a day's where nobody was there for longer. */
async function hoursBefore({ connections, keys }: TrailSource, end: number): Promise<ReadonlySet<number>> {
  const hours = new Set<number>();
  if (!trailReaders.some((role) => connections.has(role))) return hours;
  for (let min = '-inf'; ; ) {
    const range = [min, 0, trimmedAtOnce] as const;
    const page = await connections.asAny(trailReaders, (client, role) => rangeWithScores(client, role, keys.index, range));
    for (const { score } of page) if (score < end) hours.add(packWindow(score));
    const last = page.at(-1);
    if (!last || last.score >= end || page.length < trimmedAtOnce) return hours;
    min = `(${last.score}`;
  }
}
