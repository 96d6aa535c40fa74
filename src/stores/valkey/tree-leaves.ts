/**
 * The leaves of the shared trail's Merkle tree: a list to which each record adds its hash, in the transaction that adds the record. The server gives
 * them their order, so that no writer waits for another.
 */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'iovalkey';
import { leafHash } from '#audit/merkle';
import type { LogEntry } from './audit-chain.ts';
import type { Keys } from './keys.ts';
import { execute } from './store-context.ts';
import { isReply } from './valkey-faults.ts';

type Transaction = ReturnType<Redis['multi']>;

interface LeafPlace {
  readonly keys: Keys;
  readonly now: () => number;
}

/** How long a no is believed, in ms: the rules may be renewed while this process runs. */
const noLastsMs = 30_000;
const deniedUntil = new WeakMap<Redis, number>();
const allowed = new WeakSet<Redis>();

/** Whether the connection's user may add leaves: not under access rules of a version without the tree. Then the trail goes on without it. */
export async function mayAddLeaves({ keys }: Pick<LeafPlace, 'keys'>, client: Redis): Promise<boolean> {
  if (allowed.has(client)) return true;
  if (performance.now() < (deniedUntil.get(client) ?? 0)) return false;
  try {
    await client.llen(keys.leaves);
    allowed.add(client);
    return true;
  } catch (thrown) {
    if (!isReply(thrown) || !(thrown as Error).message.startsWith('NOPERM')) throw thrown;
    deniedUntil.set(client, performance.now() + noLastsMs);
    return false;
  }
}

interface Adding {
  readonly entries: readonly LogEntry[];
  readonly hasTree: boolean;
}

/** What a tree is called, and since when it is there: other trees of the same keys have other names. */
export function freshOrigin(now: number): string {
  return `banksman/trail/${randomBytes(16).toString('hex')} ${Math.floor(now)}`;
}

/**
 * INVARIANT: a record and its leaf come about together. An entry that is sent a second time changes nothing in the log and leaves a second leaf,
 * which is of a record that is there. The tree gets its name with the first leaf: where all was deleted, it is another one.
 */
export function addEntries({ keys, now }: LeafPlace, transaction: Transaction, { entries, hasTree }: Adding): Transaction {
  const logged = transaction.zadd(keys.log, ...entries.flatMap(({ score, member }) => [score, member]));
  if (!hasTree) return logged;
  return logged.hsetnx(keys.tree, 'origin', freshOrigin(now())).rpush(keys.leaves, ...entries.map(leafBytes));
}

/** Adds them in one command, or one transaction. */
export async function writeEntries(place: LeafPlace, client: Redis, entries: readonly LogEntry[]): Promise<void> {
  if (await mayAddLeaves(place, client)) await execute(addEntries(place, client.multi(), { entries, hasTree: true }));
  else await client.zadd(place.keys.log, ...entries.flatMap(({ score, member }) => [score, member]));
}

// A leaf in the list: 32 bytes of hash, and the record's time in seconds, which says whether a record that is gone was old.

export interface StoredLeaf {
  /** Hex. */
  readonly hash: string;
  /** ms since the epoch, cut to a second. */
  readonly time: number;
}

export const leafLength = 36;

function leafBytes({ member, record }: LogEntry): Buffer {
  const bytes = Buffer.alloc(leafLength);
  leafHash(member).copy(bytes);
  bytes.writeUInt32BE(Math.floor(Date.parse(record.time) / 1000), 32);
  return bytes;
}

/** undefined: it is no leaf; somebody put it there. */
export function storedLeaf(bytes: Buffer): StoredLeaf | undefined {
  if (bytes.length !== leafLength) return undefined;
  return { hash: bytes.toString('hex', 0, 32), time: bytes.readUInt32BE(32) * 1000 };
}
