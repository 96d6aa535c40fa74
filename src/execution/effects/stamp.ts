/** What tells one state of an entry from another, kept in the journal to see whether somebody changed it since. */
import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, type Dirent, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntryType } from '#kernel/effects';

export interface Stamp {
  readonly type: EntryType;
  readonly mode: number;
  readonly inode: string;
  readonly size: number;
  /** ns since the epoch. */
  readonly modified: string;
  /** Of a directory: a digest of all that is in it, where it was taken or put as a whole. */
  readonly tree?: string;
}

export function typeOf(stats: BigIntStats | Dirent): EntryType {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isFIFO()) return 'fifo';
  return stats.isSocket() ? 'socket' : 'device';
}

export function modeOf(stats: BigIntStats): number {
  return Number(stats.mode & 0o7777n);
}

/** undefined: nothing is there, or a part of the way is no directory. @throws where it cannot be looked at */
export function look(entry: string): BigIntStats | undefined {
  try {
    return lstatSync(entry, { bigint: true, throwIfNoEntry: false });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw thrown;
  }
}

/** Where a link leads; undefined where there is none by now. */
export function linkText(entry: string): string | undefined {
  try {
    return readlinkSync(entry);
  } catch {
    return undefined;
  }
}

export function stampOf(stats: BigIntStats): Stamp {
  return {
    type: typeOf(stats),
    mode: modeOf(stats),
    inode: String(stats.ino),
    size: Number(stats.size),
    modified: String(stats.mtimeNs),
  };
}

/** Whether it is the entry of the stamp, unchanged. Of a directory its own size and times say nothing: its tree does. */
export function isSame(stats: BigIntStats | undefined, stamp: Stamp): boolean {
  if (stats === undefined || String(stats.ino) !== stamp.inode || typeOf(stats) !== stamp.type) return false;
  if (stamp.type === 'directory') return modeOf(stats) === stamp.mode;
  return modeOf(stats) === stamp.mode && Number(stats.size) === stamp.size && String(stats.mtimeNs) === stamp.modified;
}

export interface TreeEntry {
  /** Below the walk's root, `/`-separated. */
  readonly path: string;
  readonly stats: BigIntStats;
}

export interface Tree {
  readonly entries: readonly TreeEntry[];
  readonly digest: string;
  /** Of the plain files. */
  readonly bytes: number;
  /** The newest change time in it, ns. */
  readonly newest: bigint;
}

const sliceMs = 8;

/**
 * Everything below a directory, outer entries first, in slices that leave the event loop free. What cannot be read is not in it.
 * @param odd gets the directories with a name that is no text, which nothing here can open
 * @param skip an entry that is passed over
 */
export async function* walk(root: string, odd: Set<string> = new Set(), skip?: string): AsyncGenerator<TreeEntry> {
  const open = [''];
  let sliceStart = performance.now();
  for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
    for (const entry of list(root, directory, odd)) {
      if (entry.path === skip) continue;
      if (entry.stats.isDirectory()) open.push(entry.path);
      yield entry;
    }
    if (performance.now() - sliceStart < sliceMs) continue;
    await nextTurn();
    sliceStart = performance.now();
  }
}

function list(root: string, directory: string, odd: Set<string>): readonly TreeEntry[] {
  return namesIn(directory === '' ? root : `${root}/${directory}`).flatMap((name) => {
    const path = directory === '' ? name : `${directory}/${name}`;
    const stats = look(`${root}/${path}`);
    if (stats !== undefined) return [{ path, stats }];
    if (name.includes('\u{fffd}')) odd.add(directory);
    return [];
  });
}

/** None where it cannot be read. */
export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

export async function readTree(root: string): Promise<Tree> {
  const entries: TreeEntry[] = [];
  for await (const entry of walk(root)) entries.push(entry);
  return treeOf(entries, look(root)?.ctimeNs ?? 0n);
}

/** @param found everything below a directory @param changed its own change time @param as entries that count as of these stamps */
export function treeOf(found: readonly TreeEntry[], changed: bigint, as: ReadonlyMap<string, Stamp> = new Map()): Tree {
  const entries = found.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const hash = createHash('sha256');
  let [bytes, newest] = [0, changed];
  for (const { path, stats } of entries) {
    const { type, mode, inode, size, modified } = as.get(path) ?? stampOf(stats);
    // Times and size of a directory follow from what is put into it and taken out.
    hash.update(`${path}\0${type}\0${mode}\0${inode}\0${type === 'directory' ? '' : `${size}\0${modified}`}\n`);
    if (type === 'file') bytes += size;
    if (stats.ctimeNs > newest) newest = stats.ctimeNs;
  }
  return { entries, digest: hash.digest('hex'), bytes, newest };
}

const chunkBytes = 1 << 20;

/** Both of one length. What cannot be read counts as another content. */
export async function isSameContent(one: string, other: string): Promise<boolean> {
  const open: number[] = [];
  try {
    for (const file of [one, other]) open.push(openSync(file, 'r'));
    const [a = -1, b = -1] = open;
    const [left, right] = [Buffer.alloc(chunkBytes), Buffer.alloc(chunkBytes)];
    for (;;) {
      const length = readSync(a, left);
      if (readSync(b, right) !== length || !left.subarray(0, length).equals(right.subarray(0, length))) return false;
      if (length === 0) return true;
      await nextTurn();
    }
  } catch {
    return false;
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}
