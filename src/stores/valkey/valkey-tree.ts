/**
 * The shared trail's Merkle tree: the list of leaves (`tree-leaves.ts`), and above it the hashes of levels 8, 16 …, which anybody can compute again while
 * the leaves are there and whoever may write the trail writes down.
 */

import type { Redis } from 'iovalkey';
import { hashOfLeaf } from '#audit/match-leaves';
import { foldHashes, tileHeight, tileWidth } from '#audit/merkle';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { LeafReading, TrailTree, TreeState } from '#kernel/ports/audit-log';
import { say } from '#kernel/text/message';
import { storedRecord } from '../stored-record.ts';
import type { AuditChain } from './audit-chain.ts';
import type { Connections } from './connections.ts';
import type { Keys } from './keys.ts';
import type { TrailReader } from './read-trail.ts';
import { execute, type Replication } from './store-context.ts';
import type { ValkeyRole } from './store-url.ts';
import { addEntries, freshOrigin, leafLength, mayAddLeaves, type StoredLeaf, storedLeaf } from './tree-leaves.ts';

export interface TreeDeps {
  readonly connections: Connections;
  readonly keys: Keys;
  readonly chain: AuditChain;
  readonly trail: TrailReader;
  readonly replication: Replication;
  readonly now: () => number;
}

/** Who may add to the tree; then who may look at it alone. */
export const treeWriters: readonly ValkeyRole[] = ['log-writer', 'admin'];
const treeReaders: readonly ValkeyRole[] = [...treeWriters, 'agent'];

/** Hashes of one key: so many that the server keeps them packed. */
const inBucket = 128;
const pageSize = 4096;
/** While leaves are trimmed, places shift: look again, at most so often. */
const maxLooks = 5;
/** Records and leaves lie in the order of their times up to this, in ms. */
const slackMs = 120_000;

export function createValkeyTree(deps: TreeDeps): TrailTree & { reading(): Promise<LeafReading | undefined> } {
  const reader = createTreeReader(deps);
  return {
    state: reader.state,
    hashes: (level, from, count) =>
      level === 0 ? reader.leaves(from, count).then((leaves) => leaves.map(({ hash }) => hash)) : reader.above(level, from, count),
    records: (from, count) => recordsOf(deps, reader, { from, count }),
    find: (hash) => findLeaf(deps, reader, hash),
    begin: async () => {
      await deps.connections.asAny(treeWriters, (client) => client.hsetnx(deps.keys.tree, 'origin', freshOrigin(deps.now())));
    },
    announceKey: (key) => announceKey(deps, key),
    pin: (size) => pin(deps, size),
    reading: async () => {
      const about = await reader.about().catch(whereNoTree);
      if (about === undefined) return undefined;
      const state = await reader.state();
      // SECURITY: whoever writes before the first record could name a later beginning, and write a first record to fit; the leaves behind it say otherwise.
      const times = (await reader.leaves(state.kept, pageSize)).map(({ time }) => time).filter((time) => time > 0);
      return { since: Math.min(about.since, ...times), leaves: pagesOf(reader, state) };
    },
  };
}

function damagedName(): Fault {
  return new Fault('store_corrupt', 'the trail’s tree has leaves and no name, or a damaged one: somebody wrote to it', {
    next: 'hold the trail against a checkpoint that was kept elsewhere; a trail that begins anew needs a `prefix` of its own',
  });
}

/** @throws what is not the lack of a tree */
export function whereNoTree(thrown: unknown): undefined {
  if (thrown instanceof Fault && thrown.code === 'no_tree') return undefined;
  throw thrown;
}

export interface TreeReader {
  state(): Promise<TreeState>;
  /** undefined: it has no leaf yet. */
  about(): Promise<{ readonly origin: string; readonly since: number } | undefined>;
  /** Fewer where leaves have left, or there are no more. */
  leaves(from: number, count: number): Promise<readonly StoredLeaf[]>;
  /** The last ones of one moment, at most `count`. */
  newest(count: number): Promise<readonly StoredLeaf[]>;
  above(level: number, from: number, count: number): Promise<readonly string[]>;
}

export function createTreeReader({ connections, keys }: Pick<TreeDeps, 'connections' | 'keys'>): TreeReader {
  const look = async <T>(work: (client: Redis) => Promise<T>): Promise<T> => {
    try {
      return await connections.asAny(treeReaders, work);
    } catch (thrown) {
      throw thrown instanceof Fault && thrown.code === 'store_denied' ? noTree(thrown) : thrown;
    }
  };
  const about = async () => {
    // In this order: the first leaf may come in between.
    const count = await look((client) => client.llen(keys.leaves));
    const text = await look((client) => client.hget(keys.tree, 'origin'));
    if (text === null && count === 0) return undefined;
    const [, origin, since] = /^(\S+) (\d{1,15})$/.exec(text ?? '') ?? [];
    // SECURITY: the name comes with the first leaf; a tree without a good one would be passed over.
    if (origin === undefined) throw damagedName();
    return { origin, since: Number(since) };
  };
  const still = <T>(work: (client: Redis, gone: number) => Promise<T>): Promise<T> =>
    look(async (client) => {
      for (let looks = 1; ; looks += 1) {
        const gone = await goneOf(client, keys);
        const found = await work(client, gone);
        if (looks === maxLooks || (await goneOf(client, keys)) === gone) return found;
      }
    });
  const leaves = (from: number, count: number): Promise<readonly StoredLeaf[]> =>
    still(async (client, gone) => {
      const early = from < gone ? await keptLeaves(client, keys, { from, end: Math.min(from + count, gone) }) : [];
      const at = from + early.length;
      if (at < gone || early.length === count) return early;
      const list = await client.lrangeBuffer(keys.leaves, at - gone, from + count - gone - 1);
      return [...early, ...list.map(leafOf)];
    });
  const newest = (count: number): Promise<readonly StoredLeaf[]> =>
    look(async (client) => (await client.lrangeBuffer(keys.leaves, -count, -1)).map(leafOf));
  const stored: StoredRow = (row) => look((client) => storedHashes(client, keys, row));
  const above = (level: number, from: number, count: number): Promise<readonly string[]> =>
    hashesAbove(stored, leaves, { level, from, count });
  const state = async (): Promise<TreeState> => {
    const { origin = '' } = (await about()) ?? {};
    return still(async (client, gone) => {
      const size = gone + (await client.llen(keys.leaves));
      return { origin, first: 1, size, end: size, head: undefined, kept: gone };
    });
  };
  return { about, leaves, newest, above, state };
}

function noTree(cause: Fault): Fault {
  return new Fault(
    'no_tree',
    'the access rules of this store are of a version without the tree of the trail: there are neither checkpoints nor proofs',
    {
      cause,
      next: 'load the access rules of this version on the server (docs/valkey.md); until then keep exports (`banksman audit export`)',
    },
  );
}

/** How many leaves have left the list. */
async function goneOf(client: Redis, keys: Keys): Promise<number> {
  return Number((await client.hget(keys.tree, 'gone')) ?? 0);
}

/** What is none keeps its place, and fits no record and no hash above it. */
function leafOf(bytes: Buffer): StoredLeaf {
  return storedLeaf(bytes) ?? { hash: '', time: 0 };
}

interface Span {
  readonly from: number;
  readonly end: number;
}

/** From the tiles in which a signed checkpoint ends: up to the first that is not kept. */
async function keptLeaves(client: Redis, keys: Keys, { from, end }: Span): Promise<readonly StoredLeaf[]> {
  const found: StoredLeaf[] = [];
  for (let at = from; at < end; at = from + found.length) {
    const tile = await client.hgetBuffer(keys.keptTiles, String(Math.floor(at / tileWidth)));
    if (tile?.length !== tileWidth * leafLength) break;
    const start = at % tileWidth;
    for (let place = start; place < Math.min(tileWidth, start + end - at); place += 1)
      found.push(leafOf(tile.subarray(place * leafLength, (place + 1) * leafLength)));
  }
  return found;
}

interface Row {
  readonly level: number;
  readonly from: number;
  readonly count: number;
}

type StoredRow = (row: Row) => Promise<readonly (string | undefined)[]>;

/** What nobody has written down yet is computed, as far as all of it is there. */
async function hashesAbove(stored: StoredRow, leaves: TreeReader['leaves'], { level, from, count }: Row): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [at, hash] of (await stored({ level, from, count })).entries()) {
    const one = hash ?? (await folded(stored, leaves, { level, position: from + at }));
    if (one === undefined) break;
    found.push(one);
  }
  return found;
}

async function folded(
  stored: StoredRow,
  leaves: TreeReader['leaves'],
  { level, position }: { readonly level: number; readonly position: number },
): Promise<string | undefined> {
  const from = position * tileWidth;
  const below =
    level === tileHeight
      ? (await leaves(from, tileWidth)).map(({ hash }) => hash)
      : await hashesAbove(stored, leaves, { level: level - tileHeight, from, count: tileWidth });
  return below.length === tileWidth ? foldHashes(below.map((hash) => Buffer.from(hash, 'hex'))).toString('hex') : undefined;
}

async function storedHashes(client: Redis, keys: Keys, { level, from, count }: Row): Promise<readonly (string | undefined)[]> {
  const found: (string | undefined)[] = [];
  while (found.length < count) {
    const at = from + found.length;
    const start = at % inBucket;
    const fields = Array.from({ length: Math.min(inBucket - start, count - found.length) }, (_, index) => String(start + index));
    const hashes = await client.hmgetBuffer(keys.hashes(level, Math.floor(at / inBucket)), ...fields);
    found.push(...hashes.map((hash) => hash?.toString('hex')));
  }
  return found;
}

/** Adds a hash where none is. @throws {Fault} `audit_broken` where another one is there */
export async function keepHash(
  client: Redis,
  keys: Keys,
  { level, position, hash }: { level: number; position: number; hash: string },
): Promise<void> {
  const [key, field] = [keys.hashes(level, Math.floor(position / inBucket)), String(position % inBucket)];
  const bytes = Buffer.from(hash, 'hex');
  if ((await client.hsetnx(key, field, bytes)) === 1 || (await client.hgetBuffer(key, field))?.equals(bytes)) return;
  throw new Fault(
    'audit_broken',
    say`the tree of the trail has another hash of level ${level} at ${position} than its leaves give: it was altered`,
    {
      next: 'run `banksman audit verify`, and keep a copy of the store',
    },
  );
}

/** For the trimmer, who has to see that a hash is there. */
export const placeOfHash = (keys: Keys, level: number, position: number): readonly [key: string, field: string] => [
  keys.hashes(level, Math.floor(position / inBucket)),
  String(position % inBucket),
];

/** Leaves that were trimmed meanwhile are no end. */
async function* pagesOf(reader: TreeReader, { kept }: TreeState): AsyncGenerator<readonly StoredLeaf[]> {
  for (let at = kept; ; ) {
    const page = await reader.leaves(at, pageSize);
    const next = page.length > 0 ? at + page.length : Math.max(at, (await reader.state()).kept);
    if (page.length > 0 || next === at) yield page;
    at = next;
  }
}

// Between records and leaves.

async function recordsOf(
  { trail }: TreeDeps,
  reader: TreeReader,
  { from, count }: Omit<Row, 'level'>,
): Promise<readonly (AuditRecord | undefined)[]> {
  const leaves = await reader.leaves(from, count);
  const times = leaves.map(({ time }) => time);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const due = new Set(leaves.map(({ hash }) => hash));
  const found = new Map<string, AuditRecord>();
  const note = (record: AuditRecord): void => {
    const hash = hashOfLeaf(record);
    if (hash !== '' && due.has(hash)) found.set(hash, record);
  };
  if (leaves.length > 0)
    for await (const page of trail.pages(first - slackMs)) {
      for (const { member } of page) note(storedRecord(member, 0));
      if (found.size === due.size || (page.at(-1)?.score ?? 0) > last + slackMs) break;
    }
  return Array.from({ length: count }, (_, at) => found.get(leaves[at]?.hash ?? ''));
}

async function findLeaf({ trail }: TreeDeps, reader: TreeReader, hash: string): Promise<number | undefined> {
  for await (const page of trail.pages(undefined, hash))
    for (const { member } of page) {
      if (!member.includes(hash)) continue;
      const record = storedRecord(member, 0);
      if (record.hash === hash) return placeOf(reader, record);
    }
  return undefined;
}

/** First where the leaves of its time lie, then among all. */
async function placeOf(reader: TreeReader, record: AuditRecord): Promise<number | undefined> {
  const state = await reader.state();
  const [leaf, time] = [hashOfLeaf(record), Date.parse(record.time)];
  const from = await firstSince(reader, state, time - slackMs);
  return (
    (await scan(reader, { from, end: state.size }, { leaf, until: time + slackMs })) ??
    scan(reader, { from: state.kept, end: state.size }, { leaf })
  );
}

async function firstSince(reader: TreeReader, { size, kept }: TreeState, time: number): Promise<number> {
  let [low, high] = [kept, size];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [leaf] = await reader.leaves(middle, 1);
    if (leaf !== undefined && leaf.time < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function scan(
  reader: TreeReader,
  { from, end }: Span,
  { leaf, until = Number.POSITIVE_INFINITY }: { readonly leaf: string; readonly until?: number },
): Promise<number | undefined> {
  for (let at = from; at < end; ) {
    const page = await reader.leaves(at, Math.min(pageSize, end - at));
    const place = page.findIndex(({ hash }) => hash === leaf);
    if (place >= 0) return at + place;
    if (page.length === 0 || (page.at(-1)?.time ?? 0) > until) return undefined;
    at += page.length;
  }
  return undefined;
}

// Signing.

/**
 * The keys stand in the tree one after the other, each once, and come there in the transaction that adds the record: no crash leaves the one without the other.
 * Where another process is faster at a place, the record of it names its own key alone, and the next one the other's, too.
 */
async function announceKey({ connections, keys, chain, now, replication }: TreeDeps, key: string): Promise<void> {
  const earlier: string[] = [];
  await connections.asAny(treeWriters, async (client) => {
    for (;;) {
      const field = `key.${earlier.length}`;
      const there = await client.hget(keys.tree, field);
      if (there === key) return;
      if (there !== null) {
        earlier.push(there);
        continue;
      }
      const hasTree = await mayAddLeaves({ keys }, client);
      await chain.within({ name: 'audit.key', attributes: { key, earlier: [...earlier] } }, async (entry) => {
        await execute(addEntries({ keys, now }, client.multi().hsetnx(keys.tree, field, key), { entries: [entry], hasTree }));
        await replication.confirm(client);
        return true;
      });
    }
  });
}

/**
 * INVARIANT: what is waited for comes after a change on the same connection, so it holds all that was there before, whoever wrote it. The root is
 * computed after it.
 */
async function pin({ connections, keys, replication }: TreeDeps, size: number): Promise<void> {
  await connections.asAny(treeWriters, async (client) => {
    await client.hsetnx(keys.signedTiles, String(Math.floor(size / tileWidth)), '');
    await client.set(keys.pulse, '', 'EX', 1);
    await replication.confirm(client);
  });
}
