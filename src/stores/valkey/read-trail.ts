/**
 * Reading the shared trail. Its newest records are members of a sorted set, each as canonical JSON; older ones lie compressed in chunks
 * (`housekeeping.ts`), and an index lists the chunks in the order in which they were packed.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import type { Redis } from 'iovalkey';
import { Fault } from '#kernel/errors';
import type { Connections } from './connections.ts';
import type { Keys } from './keys.ts';
import type { ValkeyRole } from './store-url.ts';

export interface TrailEntry {
  /** Time in ms; the fraction keeps one writer's records in sequence within a millisecond. */
  readonly score: number;
  /** The record's canonical JSON, or whatever somebody put there. */
  readonly member: string;
}

export interface TrailSource {
  readonly connections: Connections;
  readonly keys: Keys;
}

/** Places count all records, whatever chain they belong to, chunks first. */
export interface TrailReader {
  /**
   * Everything from `since` on (ms since the epoch), each chain's records in their sequence.
   * @param text chunks that do not hold it may be left out
   */
  pages(since?: number, text?: string): AsyncGenerator<readonly TrailEntry[]>;
  at(place: number, limit: number): Promise<readonly string[]>;
  count(): Promise<number>;
}

/** Who may look, the least mighty first. */
export const trailReaders: readonly ValkeyRole[] = ['agent', 'log-writer', 'admin'];

const pageSize = 1000;
/** While records are packed, places shift: look again, at most so often. */
const maxLooks = 5;

export function createTrailReader(source: TrailSource): TrailReader {
  const chunks = createChunkReader(source);
  return {
    pages: (since = Number.NEGATIVE_INFINITY, text = '') => readPages(source, chunks, { since, text }),
    at: (place, limit) => whileNothingMoves(chunks, (layout) => readPlaces(source, chunks, { place, limit, layout })),
    count: () =>
      whileNothingMoves(chunks, async ({ count }) => {
        const tail = await source.connections.asAny(trailReaders, (client) => client.zcard(source.keys.log));
        return count * recordsInChunk + tail;
      }),
  };
}

interface Span {
  readonly since: number;
  readonly text: string;
}

/**
 * INVARIANT: a page of the tail is read before the index is. What was packed in between is in the page or in a new chunk, or in both; the chunk
 * goes first, and what it holds is left out of the page. By score, not by place: what is trimmed meanwhile must not make it skip any.
 */
async function* readPages(source: TrailSource, chunks: ChunkReader, { since, text }: Span): AsyncGenerator<readonly TrailEntry[]> {
  const tail = createTailCursor(source, since);
  let newest: number | undefined;
  for (;;) {
    const isAhead = tail.isAhead();
    const page = await tail.next();
    const left = new Map(page.entries.map((entry) => [entry.member, entry]));
    for await (const chunk of chunks.after(newest === undefined ? since : `(${newest}`)) {
      newest = chunk.score;
      const entries = await chunks.load(chunk, text);
      for (const { member } of entries) left.delete(member);
      yield entries.filter(isAhead);
    }
    yield [...left.values()].filter(isAhead);
    if (page.isLast) return;
  }
}

type IsAhead = (entry: TrailEntry) => boolean;

function createTailCursor({ connections, keys }: TrailSource, since: number) {
  let from = since;
  /** Members at `from` that have been read. */
  let seen: ReadonlySet<string> = new Set();
  let offset = 0;
  return {
    /** What has not been read up to now; it stays so when the cursor goes on. */
    isAhead: (): IsAhead => {
      const [now, had] = [from, seen];
      return ({ score, member }) => score > now || (score === now && !had.has(member));
    },
    next: async (): Promise<{ readonly entries: readonly TrailEntry[]; readonly isLast: boolean }> => {
      const range: LogRange = [limitOf(from), offset, pageSize];
      const entries = await connections.asAny(trailReaders, (client, role) => rangeWithScores(client, role, keys.log, range));
      const last = entries.at(-1);
      if (last) {
        const isNew = entries.some(({ score, member }) => score > from || !seen.has(member));
        const ties = entries.filter(({ score }) => score === last.score).map(({ member }) => member);
        seen = new Set(last.score === from ? [...seen, ...ties] : ties);
        from = last.score;
        // More of one score than a page holds.
        offset = isNew ? 0 : offset + pageSize;
      }
      return { entries, isLast: entries.length < pageSize };
    },
  };
}

const limitOf = (score: number): number | string => (score === Number.NEGATIVE_INFINITY ? '-inf' : score);

interface Layout {
  /** Chunks. */
  readonly count: number;
  readonly newest: string | undefined;
}

interface Places {
  readonly place: number;
  readonly limit: number;
  readonly layout: Layout;
}

async function whileNothingMoves<T>(chunks: ChunkReader, look: (layout: Layout) => Promise<T>): Promise<T> {
  let layout = await chunks.layout();
  for (let looks = 1; ; looks += 1) {
    const found = await look(layout);
    const after = await chunks.layout();
    if ((after.count === layout.count && after.newest === layout.newest) || looks === maxLooks) return found;
    layout = after;
  }
}

async function readPlaces(source: TrailSource, chunks: ChunkReader, { place, limit, layout }: Places): Promise<readonly string[]> {
  const packed = layout.count * recordsInChunk;
  const found: string[] = [];
  for (let at = place; at < packed && found.length < limit; at = place + found.length) {
    const chunk = await chunks.atRank(Math.floor(at / recordsInChunk));
    const entries = chunk === undefined ? [] : await chunks.load(chunk);
    // It has just been trimmed.
    if (entries.length === 0) return found;
    const first = at % recordsInChunk;
    found.push(...entries.slice(first, first + limit - found.length).map(({ member }) => member));
  }
  const range: LogRange = ['-inf', Math.max(0, place - packed), limit - found.length];
  const { connections, keys } = source;
  const tail = await connections.asAny(trailReaders, (client, role) => rangeOfLog(client, role, keys.log, range));
  return [...found, ...tail];
}

// Ranges of a sorted set, as each role may ask for them.

export type LogRange = readonly [min: number | string, offset: number, count: number];

/** The agent's user has ZRANGE for the log, the log's own user ZRANGEBYSCORE. */
function rangeOfLog(client: Redis, role: ValkeyRole, key: string, [min, offset, count]: LogRange): Promise<string[]> {
  if (count <= 0) return Promise.resolve([]);
  return role === 'log-writer'
    ? client.zrangebyscore(key, min, '+inf', 'LIMIT', offset, count)
    : client.zrange(key, min, '+inf', 'BYSCORE', 'LIMIT', offset, count);
}

export async function rangeWithScores(
  client: Redis,
  role: ValkeyRole,
  key: string,
  [min, offset, count]: LogRange,
): Promise<readonly TrailEntry[]> {
  const flat =
    role === 'log-writer'
      ? await client.zrangebyscore(key, min, '+inf', 'WITHSCORES', 'LIMIT', offset, count)
      : await client.zrange(key, min, '+inf', 'BYSCORE', 'LIMIT', offset, count, 'WITHSCORES');
  return Array.from({ length: flat.length / 2 }, (_, index) => ({ member: flat[2 * index] ?? '', score: Number(flat[2 * index + 1]) }));
}

// Chunks.

/** INVARIANT: all chunks hold so many, so that a record's place tells its chunk. */
export const recordsInChunk = 512;

/** As the index has it: the version of the form, the hour whose key holds it, and its field there. */
interface Chunk {
  /** Rises with every chunk; not below the score of its newest record. */
  readonly score: number;
  readonly member: string;
}

const namePattern = /^1 (\d{1,12}) ([a-f0-9]{32})(\.[a-f0-9]{8})$/;
const hourMs = 3_600_000;
/** How long a no is believed, in ms: the rules may be renewed while this process runs. */
const noLastsMs = 30_000;

/** Chunks of one hour lie together, so that a day takes 25 keys. */
export const packWindow = (score: number): number => Math.floor(score / hourMs);

/** The first half of the SHA-256 of its bytes, in hex: what was damaged is told from what was packed so. */
export const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32);

interface ChunkReader {
  layout(): Promise<Layout>;
  atRank(rank: number): Promise<Chunk | undefined>;
  /** @param from inclusive (ms), or `(MS` */
  after(from: number | string): AsyncGenerator<Chunk>;
  /** What cannot be read is handed on as so many members that are no records. Empty where it was trimmed meanwhile. */
  load(chunk: Chunk, text?: string): Promise<readonly TrailEntry[]>;
}

function createChunkReader(source: TrailSource): ChunkReader {
  const { connections, keys } = source;
  let deniedUntil = 0;
  /** Access rules of a version without chunks: there are none then. */
  const orNone = async <T>(none: T, look: (client: Redis, role: ValkeyRole) => Promise<T>): Promise<T> => {
    if (performance.now() < deniedUntil) return none;
    try {
      return await connections.asAny(trailReaders, look);
    } catch (thrown) {
      if (!(thrown instanceof Fault && thrown.code === 'store_denied')) throw thrown;
      deniedUntil = performance.now() + noLastsMs;
      return none;
    }
  };
  const range = (wanted: LogRange): Promise<readonly Chunk[]> =>
    orNone([], (client, role) => rangeWithScores(client, role, keys.index, wanted));
  const atRank = async (rank: number): Promise<Chunk | undefined> => (await range(['-inf', rank, 1]))[0];
  return {
    layout: async () => {
      const count = await orNone(0, (client) => client.zcard(keys.index));
      return { count, newest: count === 0 ? undefined : (await atRank(count - 1))?.member };
    },
    atRank,
    after: async function* (from) {
      for (let min = from; ; ) {
        const page = await range([min === Number.NEGATIVE_INFINITY ? '-inf' : min, 0, pageSize]);
        yield* page;
        const last = page.at(-1);
        if (!last || page.length < pageSize) return;
        min = `(${last.score}`;
      }
    },
    load: async (chunk, text = '') => {
      const [, hour, digest, unique] = namePattern.exec(chunk.member) ?? [];
      const bytes =
        digest === undefined
          ? null
          : await connections.asAny(trailReaders, (client) => client.hgetBuffer(keys.packed(Number(hour)), `${digest}${unique}`));
      if (bytes === null && !(await range([chunk.score, 0, 1])).some(({ member }) => member === chunk.member)) return [];
      const entries = bytes === null || digestOf(bytes) !== digest ? undefined : await unpacked(bytes, text);
      return entries ?? Array.from({ length: recordsInChunk }, () => ({ score: chunk.score, member: '' }));
    },
  };
}

const decompress = promisify(brotliDecompress);

/** A chunk's first line: a JSON list of each record's score and length in bytes. The records follow without anything in between. */
async function unpacked(bytes: Buffer, text: string): Promise<readonly TrailEntry[] | undefined> {
  try {
    const plain = await decompress(bytes);
    if (!plain.includes(text)) return [];
    const end = plain.indexOf('\n');
    let at = end + 1;
    return (JSON.parse(plain.toString('utf8', 0, end)) as readonly (readonly [number, number])[]).map(([score, length]) => {
      at += length;
      return { score, member: plain.toString('utf8', at - length, at) };
    });
  } catch {
    return undefined;
  }
}
