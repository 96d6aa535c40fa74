/** What tells one state of an entry from another, kept in the journal to see whether somebody changed it since. */

import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  type Dirent,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntryType } from '#kernel/effects';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';

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

type Placed = readonly [stats: BigIntStats, place: string];

/** Of one type; whatever its mode and times. */
export async function isSameEntry([stats, one]: Placed, [lower, other]: Placed): Promise<boolean> {
  if (stats.isSymbolicLink()) return linkText(one) === linkText(other);
  return !stats.isFile() || (stats.size === lower.size && (await isSameContent(one, other)));
}

// Extended attributes and access lists, which Node can neither read nor write: as `tar` notes them in an archive, without content. A `tar` that
// does not know them (busybox) finds none. Source: pax(1), GNU tar's `SCHILY.xattr` and `SCHILY.acl` records.
/** The attributes of one entry, by name; the values in no readable form. */
export type Attributes = ReadonlyMap<string, string>;

const kept = ['--xattrs', "--xattrs-include='user.*'", '--acls'].join(' ');
const create = `tar -c --format=pax ${kept} --xattrs-include='trusted.overlay.origin' --no-recursion --null -T - -f -`;
/**
 * Of files without their content: empty ones with their attributes, in directories of our own: with their own modes those would close themselves to
 * a user before all is copied.
 */
const emptyCopies = `files=(); folder=
copy() {
  [ \${#files[@]} -eq 0 ] || { mkdir -p -- "$1/$folder" && printf '%s\\0' "\${files[@]}" | xargs -0 cp -a --attributes-only -t "$1/$folder" --; } 2>/dev/null
  files=()
}
while IFS= read -r -d '' file; do
  [ "\${file%/*}" = "$folder" ] || { copy "$1"; folder=\${file%/*}; }
  files+=("$file")
done
copy "$1"; cd "$1" && find . -type f -print0`;
const limits = { timeoutMs: 120_000, env: launcherEnvironment };
const mostBytesOfOne = 16_384;

interface AttributesOf {
  /** Absolute; the paths are below it. */
  readonly root: string;
  readonly paths: readonly string[];
  /** A directory on the same file system, for copies that are removed afterwards: needed for files. */
  readonly scratch?: string;
}

/** Outer ones first. */
export function directoriesAbove(file: string): readonly string[] {
  const names = file.split('/').slice(0, -1);
  return names.map((_name, index) => names.slice(0, index + 1).join('/'));
}

/**
 * SECURITY: no entry is copied that another one lies below: it was no directory a moment ago, and copied as a link it would lead the copy of the other
 * one out of our own directories.
 */
function withoutAbove(paths: readonly string[]): readonly string[] {
  const above = new Set(paths.flatMap(directoriesAbove));
  return paths.filter((path) => !above.has(path));
}

/** Of those that have any. What cannot be read has none. */
export async function readAttributes(
  programs: ProgramRunner,
  { root, paths: asked, scratch }: AttributesOf,
): Promise<ReadonlyMap<string, Attributes>> {
  const paths = scratch === undefined ? asked : withoutAbove(asked);
  if (paths.length === 0) return new Map();
  const copies = scratch === undefined ? undefined : mkdtempSync(`${scratch}/attributes-`);
  const script = `${copies === undefined ? '' : `${emptyCopies} | `}${create} 2>/dev/null | base64 -w 0`;
  const args = ['--noprofile', '--norc', '-c', script, 'bash', copies ?? ''];
  const input = paths.map((path) => `./${path}\0`).join('');
  const line = { program: '/bin/bash', args, cwd: root, input, keepBytes: paths.length * mostBytesOfOne + 65_536, ...limits };
  const { stdout } = await programs.run(line, new AbortController().signal);
  if (copies !== undefined) rmSync(copies, { recursive: true, force: true });
  return parsePax(Buffer.from(stdout, 'base64'));
}

/** Of files and directories. */
export async function attributesOf(
  root: string,
  paths: readonly string[],
  { programs, view }: { readonly programs: ProgramRunner; readonly view: { readonly scratch: string } },
): Promise<ReadonlyMap<string, Attributes>> {
  const isDirectory = (path: string) => look(`${root}/${path}`)?.isDirectory() === true;
  const files = await readAttributes(programs, { root, paths: paths.filter((path) => !isDirectory(path)), scratch: view.scratch });
  return new Map([...files, ...(await readAttributes(programs, { root, paths: paths.filter(isDirectory) }))]);
}

/** Makes directories, or gives those that are there, the modes, times, attributes and access lists that they have below `root`, and makes those above them. The overlay's own marks stay behind. */
export async function copyDirectories(
  programs: ProgramRunner,
  { root, paths, to }: Omit<AttributesOf, 'scratch'> & { readonly to: string },
): Promise<void> {
  const script = `tar -c --format=pax ${kept} --xattrs-exclude='user.overlay.*' --no-recursion --null -T - -f - | tar -x -p ${kept} -C "$1" -f -`;
  const args = ['--noprofile', '--norc', '-c', script, 'bash', to];
  const input = paths.map((path) => `./${path}\0`).join('');
  await programs.run({ program: '/bin/bash', args, cwd: root, input, keepBytes: 1_024, ...limits }, new AbortController().signal);
}

const block = 512;

function parsePax(archive: Buffer): ReadonlyMap<string, Attributes> {
  const found = new Map<string, Attributes>();
  let records: ReadonlyMap<string, string> = new Map();
  for (let at = 0; at + block <= archive.length; ) {
    const field = (start: number, length: number) => archive.toString('latin1', at + start, at + start + length).split('\0', 1)[0] ?? '';
    const [name, prefix, type] = [field(0, 100), field(345, 155), field(156, 1)];
    const size = Number.parseInt(field(124, 12), 8) || 0;
    const content = archive.subarray(at + block, at + block + size);
    at += block + Math.ceil(size / block) * block;
    if (type === 'x') {
      records = recordsIn(content);
      continue;
    }
    const path = asText(records.get('path') ?? (prefix === '' ? name : `${prefix}/${name}`));
    const attributes = new Map([...records].filter(([key]) => key.startsWith('SCHILY.')));
    if (path !== '' && attributes.size > 0) found.set(path.replace(/^\.\//, '').replace(/\/$/, ''), attributes);
    records = new Map();
  }
  return found;
}

/** `LENGTH KEY=VALUE\n`, the length that of all of it. */
function recordsIn(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(' ', at);
    const length = Number(content.toString('latin1', at, blank));
    if (blank < 0 || !(length > 0)) break;
    const record = content.toString('latin1', blank + 1, at + length - 1);
    const equals = record.indexOf('=');
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

function asText(latin: string): string {
  return Buffer.from(latin, 'latin1').toString('utf8');
}

const ofOverlay = /^SCHILY\.xattr\.(?:user|trusted)\.overlay\./;

/** But for the overlay's own marks. */
export function withoutMarks(attributes: Attributes = new Map()): Attributes {
  return new Map([...attributes].filter(([name]) => !ofOverlay.test(name)));
}

/** @param below what the entry below has and this one, made without attributes, only adds to; left out: nothing */
export function overLaid(now: Attributes = new Map(), below: Attributes = new Map()): Attributes {
  return withoutMarks(new Map([...below, ...now]));
}

/** Of an upper layer: it is a copy of something that was there. */
export function isCopiedUp(attributes: Attributes = new Map()): boolean {
  return [...attributes.keys()].some((name) => name.endsWith('overlay.origin'));
}

export function areSame(one: Attributes, other: Attributes): boolean {
  return one.size === other.size && [...one].every(([name, value]) => other.get(name) === value);
}
