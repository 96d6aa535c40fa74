/**
 * The Merkle tree over a trail's records: hashes, roots and proofs as of RFC 6962 §2.1 and RFC 9162 §2.1.
 *
 * A store keeps only the hashes of levels 0, 8, 16 …: the levels that C2SP `tlog-tiles` names, too. What lies between is made of at most 256 of them.
 */
import { createHash } from 'node:crypto';

/** 32 bytes. */
export type TreeHash = Buffer;

/** So many hashes of one stored level make one of the next. */
export const tileWidth = 256;
/** Stored levels are this far apart. */
export const tileHeight = 8;

/** Hashes of a stored level (0, 8, 16 …), from a position on; fewer where the tree has no more of them. */
export type TreeReader = (level: number, from: number, count: number) => Promise<readonly TreeHash[]>;

/** RFC 6962 §2.1: SHA-256 over 0x00 and the record's bytes. */
export function leafHash(data: string | Uint8Array): TreeHash {
  return createHash('sha256').update(Uint8Array.of(0)).update(data).digest();
}

/** RFC 6962 §2.1: SHA-256 over 0x01 and both children. */
function nodeHash(left: Uint8Array, right: Uint8Array): TreeHash {
  return createHash('sha256').update(Uint8Array.of(1)).update(left).update(right).digest();
}

/** The hash above a whole power of two of neighbours. */
export function foldHashes(hashes: readonly TreeHash[]): TreeHash {
  let level = hashes;
  while (level.length > 1)
    level = Array.from({ length: level.length / 2 }, (_, at) => nodeHash(hashAt(level, 2 * at), hashAt(level, 2 * at + 1)));
  return hashAt(level, 0);
}

/** The root over the first `size` records; of none, SHA-256 of nothing. @throws {RangeError} where the tree lacks a hash */
export async function rootOf(read: TreeReader, size: number): Promise<TreeHash> {
  return size === 0 ? createHash('sha256').digest() : rangeHash(read, 0, size);
}

/** Proves that record `index` (from 0) is among the first `size`: the audit path of RFC 6962 §2.1.1, lowest first. */
export async function inclusionPath(read: TreeReader, index: number, size: number): Promise<readonly TreeHash[]> {
  if (!isWhole(index) || !isWhole(size) || index >= size) throw new RangeError(`there is no record ${index} among ${size}`);
  const path: TreeHash[] = [];
  for (let [start, end] = [0, size]; end - start > 1; ) {
    const middle = start + splitOf(end - start);
    if (index < middle) {
      path.push(await rangeHash(read, middle, end));
      end = middle;
    } else {
      path.push(await rangeHash(read, start, middle));
      start = middle;
    }
  }
  return path.toReversed();
}

/** Proves that the first `from` of `size` records are the same as ever: RFC 6962 §2.1.2. Empty where `from` is 0 or `size`. */
export async function consistencyPath(read: TreeReader, from: number, size: number): Promise<readonly TreeHash[]> {
  if (!isWhole(from) || !isWhole(size) || from > size) throw new RangeError(`${size} records cannot go on from ${from}`);
  if (from === 0 || from === size) return [];
  const path: TreeHash[] = [];
  let isOld = true;
  let [start, end] = [0, size];
  while (from < end) {
    const middle = start + splitOf(end - start);
    if (from <= middle) {
      path.push(await rangeHash(read, middle, end));
      end = middle;
    } else {
      path.push(await rangeHash(read, start, middle));
      start = middle;
      isOld = false;
    }
  }
  if (!isOld) path.push(await rangeHash(read, start, end));
  return path.toReversed();
}

export interface Inclusion {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly path: readonly Uint8Array[];
  readonly root: Uint8Array;
}

/** RFC 9162 §2.1.3.2. */
export function verifyInclusion({ leaf, index, size, path, root }: Inclusion): boolean {
  if (!isWhole(index) || !isWhole(size) || index >= size) return false;
  let hash: Uint8Array = leaf;
  const isAtTop = climb(path, { node: index, last: size - 1 }, (step, isLeft) => {
    hash = isLeft ? nodeHash(step, hash) : nodeHash(hash, step);
  });
  return isAtTop && same(hash, root);
}

export interface Consistency {
  readonly from: number;
  readonly size: number;
  readonly path: readonly Uint8Array[];
  readonly fromRoot: Uint8Array;
  readonly root: Uint8Array;
}

/** RFC 9162 §2.1.4.2. Anything goes on from nothing. */
export function verifyConsistency({ from, size, path, fromRoot, root }: Consistency): boolean {
  if (!isWhole(from) || !isWhole(size) || from > size) return false;
  if (from === size) return path.length === 0 && same(fromRoot, root);
  if (from === 0) return path.length === 0 && same(fromRoot, createHash('sha256').digest());
  return joinsBoth({ from, size, path, fromRoot, root });
}

/** Both roots come out of the same steps. */
function joinsBoth({ from, size, path, fromRoot, root }: Consistency): boolean {
  const [first, ...rest] = isPowerOfTwo(from) ? [fromRoot, ...path] : path;
  if (first === undefined) return false;
  let [node, last] = [from - 1, size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  let [old, now]: [Uint8Array, Uint8Array] = [first, first];
  const isAtTop = climb(rest, { node, last }, (step, isLeft) => {
    [old, now] = isLeft ? [nodeHash(step, old), nodeHash(step, now)] : [old, nodeHash(now, step)];
  });
  return isAtTop && same(old, fromRoot) && same(now, root);
}

/** Goes up from a node, a step a level. False where steps are lacking or left over. @param last the level's last node */
function climb(
  path: readonly Uint8Array[],
  from: { readonly node: number; readonly last: number },
  join: (step: Uint8Array, isLeft: boolean) => void,
): boolean {
  let { node, last } = from;
  for (const step of path) {
    if (last === 0) return false;
    const isLeft = node % 2 === 1 || node === last;
    join(step, isLeft);
    if (isLeft) while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    [node, last] = [half(node), half(last)];
  }
  return last === 0;
}

/** The root of records `start` (inclusive) to `end` (exclusive). */
async function rangeHash(read: TreeReader, start: number, end: number): Promise<TreeHash> {
  const count = end - start;
  if (isPowerOfTwo(count)) return nodeAt(read, Math.log2(count), start / count);
  const middle = start + splitOf(count);
  return nodeHash(await rangeHash(read, start, middle), await rangeHash(read, middle, end));
}

async function nodeAt(read: TreeReader, level: number, position: number): Promise<TreeHash> {
  const above = level % tileHeight;
  const count = 2 ** above;
  const hashes = await read(level - above, position * count, count);
  if (hashes.length !== count) throw new RangeError(`the tree lacks hashes of level ${level - above} at ${position * count}`);
  return foldHashes(hashes);
}

/** The largest power of two below `count` (> 1). */
function splitOf(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1);
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count));
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function half(value: number): number {
  return Math.floor(value / 2);
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function hashAt(hashes: readonly TreeHash[], at: number): TreeHash {
  const hash = hashes[at];
  if (hash === undefined) throw new RangeError(`there is no hash ${at} of ${hashes.length}`);
  return hash;
}
