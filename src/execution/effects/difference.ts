/**
 * What a command changed, read from the upper directory: it costs by what changed, not by what is there. Source: the kernel's
 * `overlayfs.rst` (whiteouts, opaque and redirected directories, inode numbers).
 */
import { type BigIntStats, chmodSync, closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChangeKind } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { look, modeOf, readTree, type Stamp, stampOf, type Tree, type TreeEntry, typeOf, walk } from './stamp.ts';
import { type HiddenFile, hiddenFiles, isPrivileged, type Looker, type View } from './view.ts';

/** Something that is there afterwards. */
export interface NewEntry extends TreeEntry {
  /** `path` is below the workspace; the content lies here. */
  readonly source: string;
  /** It has no marks of the overlay and can be moved as it is; else a copy must be taken through the view. */
  readonly pure: boolean;
  /** A file of the workspace that is not changed, and gets a second name here. */
  readonly linkTo?: string;
}

export interface Before {
  readonly stamp: Stamp;
  /** The newest change time of it and of all in it, ns. */
  readonly newest: bigint;
  /** Of a directory that goes as a whole. */
  readonly tree?: Tree;
}

/** What is applied, held and undone as one. */
export interface Unit {
  readonly path: string;
  readonly kind: ChangeKind;
  readonly before?: Before;
  readonly after?: NewEntry;
  /** Of a new directory, outer entries first; paths below the workspace. */
  readonly inside: readonly NewEntry[];
  /** Of `attributes`: the times stay, for what the command saw of them was not the entry's own. */
  readonly keepTimes?: boolean;
  /** A directory that was there got this name; its content is a copy, taken without any covers. */
  readonly renamed?: true;
}

export interface Difference {
  readonly units: readonly Unit[];
  /** Names that are no text, in these directories. */
  readonly odd: readonly string[];
  /** Place holders of secrets that lie elsewhere now, or were written to: nothing sensible can be made of those. */
  readonly lostSecrets: readonly { readonly path: string; readonly from: string }[];
}

export interface DifferenceLimits {
  /** Entries that may differ. */
  readonly entries: number;
  /** Bytes on the disk that may be new. */
  readonly bytes: number;
}

export interface DifferenceRequest {
  readonly view: View;
  readonly looker: Looker;
  readonly limits: DifferenceLimits;
}

interface Reading extends DifferenceRequest {
  readonly upper: string;
  readonly inodes: ReadonlyMap<string, string>;
  readonly secrets: ReadonlyMap<string, HiddenFile>;
  /** Something that was there is gone, so a new entry may be it. */
  readonly anyGone: boolean;
}

/** @throws {Fault} `too_many_changes` and `effects_failed` */
export async function readDifference(request: DifferenceRequest, signal: AbortSignal): Promise<Difference> {
  const upper = `${request.view.directory}/upper`;
  const { entries, odd } = await readUpper(upper, request.limits);
  if (entries.length === 0) return { units: [], odd, lostSecrets: [] };
  const { workspaceRoot } = request.view;
  // Without root a mark does not tell where its file comes from: the inode numbers of directories alone are of use.
  const told = entries.filter(({ stats }) => !isWhiteout(stats) && (isPrivileged() || stats.isDirectory()));
  const inodes = await request.looker.inodes(
    request.view,
    told.map(({ path }) => path),
    signal,
  );
  const secrets = new Map(hiddenFiles(request.view).map((file) => [file.inode, file]));
  const isGone = ({ path, stats }: TreeEntry) =>
    (isWhiteout(stats) || (stats.isDirectory() && inodes.get(path) === String(stats.ino))) &&
    look(`${workspaceRoot}/${path}`) !== undefined;
  const reading: Reading = { ...request, upper, inodes, secrets, anyGone: entries.some(isGone) };
  const renamed = entries.filter((entry) => entry.stats.isDirectory() && isRenamed(entry, reading)).map(({ path }) => path);
  const outer = renamed.filter((path) => !renamed.some((other) => path.startsWith(`${other}/`)));
  await request.looker.copyOut(request.view, outer, signal);
  const lostSecrets = entries.flatMap((entry) => lostSecret(entry, reading));
  const units = await unitsOf(entries, reading, new Set(outer));
  return { units: withLinks(units, entries, workspaceRoot), odd, lostSecrets };
}

/** `overlayfs.rst`: a character device with the numbers 0 and 0 says that what is below is gone. */
function isWhiteout(stats: BigIntStats): boolean {
  return stats.isCharacterDevice() && stats.rdev === 0n;
}

async function readUpper(upper: string, limits: DifferenceLimits) {
  const entries: TreeEntry[] = [];
  const odd: string[] = [];
  let bytes = 0;
  openForUs(upper);
  for await (const entry of walk(upper)) {
    entries.push(entry);
    bytes += Number(entry.stats.blocks) * 512;
    if (entries.length > limits.entries) throw tooMuch(`more than ${limits.entries} files and directories`);
    if (bytes > limits.bytes) throw tooMuch(`more than ${Math.round(limits.bytes / 2 ** 20)} MB`);
    if (!entry.stats.isDirectory()) continue;
    openForUs(`${upper}/${entry.path}`, entry.stats);
    if (hasOddName(`${upper}/${entry.path}`)) odd.push(entry.path);
  }
  if (hasOddName(upper)) odd.push('');
  return { entries, odd };
}

/** A command may have taken away its own right to look; what its mode was is known by now. */
function openForUs(directory: string, stats = look(directory)): void {
  if (stats !== undefined && (modeOf(stats) & 0o700) !== 0o700) chmodSync(directory, modeOf(stats) | 0o700);
}

function hasOddName(directory: string): boolean {
  return readdirSync(directory).some((name) => name.includes('\u{fffd}') && look(`${directory}/${name}`) === undefined);
}

function tooMuch(what: string): Fault {
  return new Fault('too_many_changes', `the command changed ${what}; nothing of it was kept`, { next: 'change less at once' });
}

/** Of the directory under another name below; the inode number in the view is the one it had there. */
function isRenamed({ path, stats }: TreeEntry, { inodes, view }: Reading): boolean {
  const inode = inodes.get(path);
  if (inode === String(stats.ino)) return false;
  const lower = look(`${view.workspaceRoot}/${path}`);
  if (lower?.isDirectory() && inode === String(lower.ino)) return false;
  if (inode === undefined || !isPrivileged()) {
    throw new Fault('effects_failed', `what became of the directory \`${path}\` cannot be told; nothing was kept`, { audience: 'bug' });
  }
  return true;
}

function lostSecret({ path, stats }: TreeEntry, { secrets }: Reading): Difference['lostSecrets'] {
  const secret = stats.isFile() ? secrets.get(String(stats.ino)) : undefined;
  if (secret === undefined || (secret.path === path && stats.size === 0n)) return [];
  return [{ path, from: secret.path }];
}

async function unitsOf(entries: readonly TreeEntry[], reading: Reading, renamed: ReadonlySet<string>): Promise<readonly Unit[]> {
  const units: Unit[] = [];
  // Sorted by whole segments, so that what is in a directory follows it directly.
  const sorted = [...entries].sort((one, other) => compare(one.path, other.path));
  let top: { readonly path: string; readonly inside: NewEntry[] } | undefined;
  for (const entry of sorted) {
    if (top !== undefined && entry.path.startsWith(`${top.path}/`)) {
      if (!isWhiteout(entry.stats) && !renamed.has(top.path)) top.inside.push(newEntry(entry, reading));
      continue;
    }
    top = undefined;
    const unit = await unitOf(entry, reading, renamed.has(entry.path));
    if (unit === undefined) continue;
    units.push(unit);
    if (unit.after?.stats.isDirectory() && unit.kind !== 'attributes') top = { path: unit.path, inside: unit.inside as NewEntry[] };
  }
  return units;
}

function compare(one: string, other: string): number {
  const [a, b] = [one.replaceAll('/', '\0'), other.replaceAll('/', '\0')];
  return a < b ? -1 : Number(a > b);
}

function newEntry({ path, stats }: TreeEntry, reading: Reading): NewEntry {
  const isPure =
    stats.isDirectory() || (stats.isSymbolicLink() && !isPrivileged()) || (stats.nlink === 1n && isOfTheRun(path, stats, reading));
  return { path, stats, source: `${reading.upper}/${path}`, pure: isPure };
}

/** Made by the command, and no copy of what was there: that has a mark, and in the view still the inode number that it had. */
function isOfTheRun(path: string, stats: BigIntStats, { inodes, anyGone, view }: Reading): boolean {
  if (isPrivileged()) return inodes.get(path) === String(stats.ino);
  return !anyGone && look(`${view.workspaceRoot}/${path}`) === undefined;
}

/** `ln old new`: the overlay has made a copy of the old file, and two names for that. */
function withLinks(units: readonly Unit[], entries: readonly TreeEntry[], workspaceRoot: string): readonly Unit[] {
  const changed = new Set(units.map(({ path }) => path));
  const isOld = ({ path, stats }: TreeEntry) =>
    stats.isFile() && stats.nlink > 1n && !changed.has(path) && look(`${workspaceRoot}/${path}`)?.isFile() === true;
  const old = new Map(entries.filter(isOld).map(({ path, stats }) => [stats.ino, path]));
  if (old.size === 0) return units;
  const linked = (entry: NewEntry): NewEntry => {
    const linkTo = entry.stats.isFile() ? old.get(entry.stats.ino) : undefined;
    return linkTo === undefined ? entry : { ...entry, pure: true, linkTo };
  };
  return units.map((unit) => ({
    ...unit,
    ...(unit.after === undefined ? {} : { after: linked(unit.after) }),
    inside: unit.inside.map(linked),
  }));
}

async function unitOf(entry: TreeEntry, reading: Reading, renamed: boolean): Promise<Unit | undefined> {
  const { path, stats } = entry;
  const lower = look(`${reading.view.workspaceRoot}/${path}`);
  if (renamed)
    return {
      path,
      kind: lower === undefined ? 'create' : 'replace',
      renamed: true,
      ...(await beforeOf(path, reading)),
      ...(await copied(path, reading)),
    };
  if (isWhiteout(stats)) return lower === undefined ? undefined : { path, kind: 'delete', ...(await beforeOf(path, reading)), inside: [] };
  if (lower !== undefined) return overUnit(entry, lower, reading);
  return isPlaceHolder(entry, reading) ? undefined : { path, kind: 'create', after: newEntry(entry, reading), inside: [] };
}

/** Of an entry where one was. */
async function overUnit(entry: TreeEntry, lower: BigIntStats, reading: Reading): Promise<Unit | undefined> {
  const { path, stats } = entry;
  const after = newEntry(entry, reading);
  const sameMode = modeOf(stats) === modeOf(lower);
  const attributes = { path, kind: 'attributes' as const, before: flat(lower), after, inside: [] };
  if (isMerged(entry, lower, reading)) return sameMode ? undefined : { ...attributes, keepTimes: true };
  if (stats.isDirectory() || typeOf(lower) !== typeOf(stats))
    return { path, kind: 'replace', ...(await beforeOf(path, reading)), after, inside: [] };
  // The place holder's size and times say nothing about the secret.
  if (isPlaceHolder(entry, reading)) return modeOf(stats) === 0 ? undefined : { ...attributes, keepTimes: true };
  if (!(await isSameEntry(entry, lower, reading))) return { ...attributes, kind: 'modify' };
  return sameMode && stats.mtimeNs === lower.mtimeNs ? undefined : attributes;
}

/** A directory that was there, with changes in it. */
function isMerged({ path, stats }: TreeEntry, lower: BigIntStats, { inodes }: Reading): boolean {
  return stats.isDirectory() && lower.isDirectory() && inodes.get(path) === String(lower.ino);
}

function isPlaceHolder({ path, stats }: TreeEntry, { secrets }: Reading): boolean {
  return secrets.get(String(stats.ino))?.path === path;
}

function flat(stats: BigIntStats): Before {
  return { stamp: stampOf(stats), newest: stats.ctimeNs };
}

/** With all that is in it; nothing where nothing is. */
async function beforeOf(path: string, { view }: Reading): Promise<Pick<Unit, 'before'>> {
  const place = `${view.workspaceRoot}/${path}`;
  const stats = look(place);
  if (stats === undefined) return {};
  if (!stats.isDirectory()) return { before: flat(stats) };
  const tree = await readTree(place);
  return { before: { stamp: { ...stampOf(stats), tree: tree.digest }, newest: tree.newest, tree } };
}

/** A directory that got another name: the copy of it that was taken through the view. */
async function copied(path: string, { view }: Reading): Promise<Pick<Unit, 'after' | 'inside'>> {
  const source = `${view.directory}/copied/${path}`;
  const stats = look(source);
  if (stats === undefined) throw new Fault('effects_failed', `the renamed directory \`${path}\` could not be read`);
  const { entries } = await readTree(source);
  const inside = entries.map((entry) => ({ ...entry, path: `${path}/${entry.path}`, source: `${source}/${entry.path}`, pure: true }));
  return { after: { path, stats, source, pure: true }, inside };
}

/** Of one type; whatever its mode and times. */
async function isSameEntry({ path, stats }: TreeEntry, lower: BigIntStats, { upper, view }: Reading): Promise<boolean> {
  const [now, then] = [`${upper}/${path}`, `${view.workspaceRoot}/${path}`];
  if (stats.isSymbolicLink()) return readlinkSync(now) === readlinkSync(then);
  return !stats.isFile() || (stats.size === lower.size && (await isSameContent(now, then)));
}

const chunkBytes = 1 << 20;

/** Both of one length. What cannot be read counts as another content. */
async function isSameContent(one: string, other: string): Promise<boolean> {
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
