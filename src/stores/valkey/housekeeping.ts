/** What has to be done now and then, by whoever may. Nothing depends on it being in time. */
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import type { Redis } from 'iovalkey';
import * as z from 'zod';
import { type RequestWait, requestIdPattern } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { ChangeChannel } from './change-channel.ts';
import type { Connections } from './connections.ts';
import { type Keys, lives } from './keys.ts';
import { expireDue, expiryBatch, payOwed } from './move-request.ts';
import { digestOf, packWindow, rangeWithScores, recordsInChunk, type TrailSource, trailReaders } from './read-trail.ts';
import { spentWindow } from './spent-marks.ts';
import { execute, type StoreContext } from './store-context.ts';
import type { ValkeyRole } from './store-url.ts';
import { keyReaders } from './stored-request.ts';
import { trimTree } from './trim-tree.ts';

/** At most this many batches of lapsed requests in one go. */
const maxBatches = 20;
const windowsADay = spentWindow(lives.outcome * 1000);

/** Each part on its own: what goes wrong waits for the next time, and whoever needs the store is told then. */
export async function keepHouse(context: StoreContext, clock: Pick<ServerClock, 'synchronize'>, channel: ChangeChannel): Promise<void> {
  const parts = [
    () => channel.check(),
    () => context.connections.check(),
    () => clock.synchronize(),
    () => payOwed(context),
    () => expireAll(context),
    () => trimTrail(context),
    () => packTrail(context),
    () => trimTree(context),
    () => dropMarks(context),
    () => tidyIndexes(context),
  ];
  for (const part of parts) await part().catch(() => undefined);
}

async function expireAll(context: StoreContext): Promise<void> {
  for (let batch = 0; batch < maxBatches; batch += 1) {
    if ((await expireDue(context)) < expiryBatch) return;
  }
}

/** Those of an hour ago, and of the day before in case nobody was there. */
async function dropMarks({ connections, keys, now }: StoreContext): Promise<void> {
  if (!connections.has('log-trimmer')) return;
  const newest = spentWindow(now() - lives.request * 1000);
  const old = Array.from({ length: windowsADay }, (_, back) => keys.spent(newest - back));
  await connections.as('log-trimmer', (client) => client.unlink(old));
}

/** Only an administrator's user may remove; a process that has not needed to be one so far does not become one for this. */
async function tidyIndexes({ connections, keys, now }: StoreContext): Promise<void> {
  if (!connections.isOpen('admin')) return;
  await connections.as('admin', (client) =>
    client.multi().zremrangebyscore(keys.pending, '-inf', 0).zremrangebyscore(keys.history, '-inf', now()).exec(),
  );
}

// The server's time, so that machines whose clocks differ agree on what has expired.

export interface ServerClock extends Pick<Clock, 'now'> {
  /** Looks at the server's clock again. @throws {Fault} `clock_skew`, `store_…` */
  synchronize(): Promise<void>;
}

/** Beyond this no grant would ever verify, in ms. */
const tolerableSkewMs = 30 * 60_000;

/**
 * The documented users may not call TIME, and need not: a key that is set to expire at an absolute time tells, by how long the server
 * gives it, what time the server has. In between, this machine's monotonic clock goes on, so that setting the wall clock changes nothing.
 */
export function createServerClock(connections: Connections, keys: Keys): ServerClock {
  let offset = Date.now() - performance.now();
  return {
    now: () => Math.round(performance.now() + offset),
    synchronize: async () => {
      // The log's users may do nothing of the kind; they trust this machine.
      if (!['agent', 'exec', 'admin'].some((role) => connections.has(role as 'agent'))) return;
      const middle = await connections.asAny(['agent', 'exec', 'admin'], async (client, role) => {
        const key = keys.probe(role === 'exec' ? 'decided' : 'blocked', randomBytes(8).toString('hex'));
        const end = Date.now() + tolerableSkewMs;
        const before = performance.now();
        const answer = await client.multi().set(key, '', 'PXAT', end).pttl(key).set(key, '', 'EX', 1).exec();
        const left = Number(answer?.[1]?.[1]);
        // -2: by the server's clock the end is past already.
        if (!(left > 0 && left <= 2 * tolerableSkewMs)) throw skewFault();
        return { local: (before + performance.now()) / 2, server: end - left };
      });
      offset = middle.server - middle.local;
    },
  };
}

function skewFault(): Fault {
  return new Fault('clock_skew', 'the clocks of this machine and of the store’s server differ by more than half an hour', {
    next: 'set the clock of the wrong one (NTP)',
  });
}

// Which call waits for the answer to a request: a key that the waiting process renews.

const time = z.number().int().nonnegative();
const schema = z.object({ by: z.string(), until: time, seenAt: time });

interface WaitNote {
  readonly id: string;
  readonly by: string;
  readonly forMs: number;
}

/** Only the agent's user may write there; a process without it opens no requests, so it does not wait for any either. */
export async function noteWait(context: StoreContext, note: WaitNote): Promise<void> {
  const { connections, keys } = context;
  if (!requestIdPattern.test(note.id) || !connections.has('agent')) return;
  const before = await waitOf(context, note.id);
  const isMine = before?.by === note.by;
  const ends = note.forMs <= 0;
  // A wait that ends leaves another one's mark alone.
  if (ends && !isMine) return;
  const mark = markOf(note, before, context.now());
  await connections.as('agent', (client) => client.set(keys.wait(note.id), JSON.stringify(mark), 'EX', lives.request));
  // Renewing tells nobody anything new.
  if (isMine && !ends) return;
  await connections.as('agent', (client) => client.publish(keys.channel, context.self));
  context.ring();
}

function markOf({ by, forMs }: WaitNote, before: RequestWait | undefined, now: number): RequestWait {
  return { by, until: forMs > 0 ? now + forMs : Math.min(before?.until ?? now, now), seenAt: now };
}

export async function waitOf({ connections, keys }: StoreContext, id: string): Promise<RequestWait | undefined> {
  if (!requestIdPattern.test(id)) return undefined;
  const text = await connections.asAny(keyReaders, (client) => client.get(keys.wait(id)));
  try {
    return schema.safeParse(JSON.parse(text ?? 'null')).data;
  } catch {
    // Not ours: nobody is known to wait.
    return undefined;
  }
}

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
 * What becomes of the shared trail's records: after two minutes they are packed, 512 together; after a day they go.
 * Moves the oldest records into chunks, as far as there are enough. Two of the server's users share the work, so that none can change a
 * record by itself: `log-writer` adds a chunk where none is, `log-trimmer` puts its name into the index and takes out what it holds, in
 * one transaction.
 */
async function packTrail(context: StoreContext): Promise<void> {
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
async function trimTrail({ connections, keys, now }: StoreContext): Promise<void> {
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
