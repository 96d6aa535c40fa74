/**
 * What a command changed, read from the upper directory: it costs by what changed, not by what is there. Source: the kernel's
 * `overlayfs.rst` (whiteouts, opaque and redirected directories, inode numbers).
 */

import type { BigIntStats } from 'node:fs';
import { Fault } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { say } from '#kernel/text/message';
import { readAttributeChanges } from './directory-attributes.ts';
import {
  type DifferenceLimits,
  hasSetTime,
  isLaid,
  isLaidAbove,
  isWhiteout,
  type LostSecret,
  lostSecret,
  parentOf,
  type RootChange,
  readUpper,
  type Upper,
  type UpperEntry,
} from './read-upper.ts';
import {
  type Attributes,
  areSame,
  attributesOf,
  isCopiedUp,
  isSameEntry,
  look,
  modeOf,
  overLaid,
  readTree,
  stampOf,
  type TreeEntry,
  typeOf,
  withoutMarks,
} from './stamp.ts';
import type { Before, NewEntry, Unit } from './unit.ts';
import { holderMode, isPrivileged, type Looker, numberSeen, upperOf, type View } from './view.ts';

export interface Difference extends Pick<Upper, 'odd'> {
  readonly units: readonly Unit[];
  readonly lostSecrets: readonly LostSecret[];
  /** Directories that were there and have other extended attributes now, which are not given to them, and why. */
  readonly marked: readonly MarkedDirectory[];
}

export interface MarkedDirectory {
  readonly path: string;
  readonly why: 'unread' | 'no python';
}

export interface DifferenceRequest {
  readonly view: View;
  readonly looker: Looker;
  readonly limits: DifferenceLimits;
  readonly programs: ProgramRunner;
  /** What changed in the workspace later, ns since the epoch, somebody else did; left out: nobody does. */
  readonly startedAt?: bigint;
}

interface Reading extends DifferenceRequest {
  readonly upper: string;
  readonly inodes: ReadonlyMap<string, string>;
  /** Something that was there is gone, so a new entry may be it. */
  readonly anyGone: boolean;
  /** New files that are copies of what was there, by the overlay's mark; without root nothing else tells. */
  readonly marked: ReadonlySet<string>;
  /** Known by now not to be in the workspace. */
  readonly newDirectories: Set<string>;
  /** Directories that were there, and that somebody took away meanwhile. */
  readonly strays: Set<string>;
  /** Directories that were there, and files that look the same but for their mode and times perhaps: as the command left them, before we opened any. */
  readonly alike: Map<string, BigIntStats>;
}

/** @throws {Fault} `too_many_changes`, `other_owner` and `effects_failed` */
export async function readDifference(request: DifferenceRequest, signal: AbortSignal): Promise<Difference> {
  const { entries, odd, root } = await readUpper(request.view, request.limits);
  const ofRoot = root === undefined ? [] : rootUnit(root, request.view);
  if (entries.length === 0) return { units: ofRoot, odd, lostSecrets: [], marked: [] };
  const upper = upperOf(request.view);
  const { workspaceRoot } = request.view;
  const inodesOf = (some: readonly UpperEntry[]) => request.looker.inodes(request.view, pathsOf(some), signal);
  const inodes = new Map(await inodesOf(entries.filter((entry) => entry.stats.isDirectory() && isUntold(entry, request.view))));
  const isGone = (entry: UpperEntry) =>
    (isWhiteout(entry) || (entry.stats.isDirectory() && inodes.get(entry.path) === String(entry.stats.ino))) &&
    look(`${workspaceRoot}/${entry.path}`) !== undefined;
  const seen: Reading = {
    ...request,
    upper,
    inodes,
    anyGone: entries.some(isGone),
    marked: new Set(),
    newDirectories: new Set(),
    strays: new Set(),
    alike: new Map(),
  };
  // `mv a b; echo > a` leaves no mark that the old one is gone. Only as root inode numbers tell them apart then.
  const isOver = (entry: UpperEntry) => !(entry.stats.isDirectory() || isWhiteout(entry) || isNewPlace(entry.path, seen));
  const over = seen.anyGone ? [] : entries.filter(isOver);
  const reading = isPrivileged()
    ? { ...seen, anyGone: seen.anyGone || over.length > 0 }
    : { ...seen, marked: await markedFiles(entries, over, seen) };
  // Without root a mark does not tell where its file comes from: the inode numbers of directories alone are of use.
  const unsure = isPrivileged() ? entries.filter((entry) => !entry.stats.isDirectory() && isUntold(entry, request.view)) : [];
  for (const [place, inode] of await inodesOf(unsure.filter(({ path }) => !isNewPlace(path, reading)))) inodes.set(place, inode);
  const isMoved = (entry: UpperEntry) => request.view.kind === 'overlay' && entry.stats.isDirectory() && isRenamed(entry, reading);
  const renamed = entries.filter(isMoved).map(({ path }) => path);
  const outer = renamed.filter((path) => !renamed.some((other) => path.startsWith(`${other}/`)));
  await request.looker.copyOut(request.view, outer, signal);
  const lostSecrets = entries.flatMap((entry) => lostSecret(entry, request.view));
  const found = await withAway(await unitsOf(entries, reading, new Set(outer)), { ...reading, anyGone: seen.anyGone });
  const { units, marked } = await withAttributes(found, reading);
  refuseTaken(units, request.view);
  return { units: [...withLinks(units, entries, workspaceRoot), ...ofRoot], odd, lostSecrets, marked };
}

/** `mv a b; echo > a`, without root: of `over` one is not the copy of what was there, so that may have a new name. */
async function markedFiles(entries: readonly UpperEntry[], over: readonly UpperEntry[], reading: Reading): Promise<ReadonlySet<string>> {
  const { view, upper } = reading;
  if (view.kind === 'copy' || view.scratch !== view.directory) return new Set();
  const filesOf = (some: readonly UpperEntry[]) => pathsOf(some.filter(({ stats }) => stats.isFile()));
  const own = await attributesOf(upper, filesOf(over), reading);
  if (over.every(({ path }) => isCopiedUp(own.get(path)))) return new Set();
  const overPaths = new Set(pathsOf(over));
  const added = entries.filter((entry) => !(isWhiteout(entry) || overPaths.has(entry.path)));
  const marks = await attributesOf(upper, filesOf(added), reading);
  return new Set([...marks.keys()].filter((path) => isCopiedUp(marks.get(path))));
}

/**
 * In a copy that was made without root all is this user's own: what was another user's there, written to or given another name, must not become ours
 * in the workspace. What takes its place (`sed -i`) is ours everywhere.
 */
function refuseTaken(units: readonly Unit[], view: View): void {
  if (view.kind !== 'copy' || isPrivileged()) return;
  const isOthers = (path: string, { uid }: BigIntStats) => (look(`${view.workspaceRoot}/${path}`)?.uid ?? uid) !== uid;
  const others = new Map(
    [...view.laid].filter(([path, stats]) => isOthers(path, stats)).map(([, stats]) => [stats.ino, stats.birthtimeNs]),
  );
  const isTaken = ({ stats }: TreeEntry) => others.get(stats.ino) === stats.birthtimeNs;
  const taken = units.flatMap(({ after, inside }) => (after === undefined ? inside : [after, ...inside])).find(isTaken);
  if (taken === undefined) return;
  const why = say`nothing of it was applied: \`${taken.path}\` is another user’s, and would be this user’s with it`;
  throw new Fault('other_owner', why, { next: 'do it without that place, or ask the user to' });
}

function rootUnit({ stats, keepTimes }: RootChange, { workspaceRoot }: View): readonly Unit[] {
  const lower = look(workspaceRoot);
  const after = { path: '', stats, source: workspaceRoot, pure: true };
  return lower === undefined ? [] : [{ path: '', kind: 'attributes', before: flat(lower), after, inside: [], keepTimes }];
}

function pathsOf(entries: readonly { readonly path: string }[]): readonly string[] {
  return entries.map(({ path }) => path);
}

/**
 * Where there is nothing by now, a copy of something that was there stands for a change of that, and not for something new: somebody took it away. A
 * command that itself took something away may have given that this name.
 */
async function withAway(units: readonly Unit[], reading: Reading): Promise<readonly Unit[]> {
  const { view, startedAt, strays } = reading;
  const isSuspect = ({ path, kind }: Unit) =>
    kind === 'create' && startedAt !== undefined && (look(`${view.workspaceRoot}/${parentOf(path)}`)?.ctimeNs ?? 0n) > startedAt;
  const suspects = units.filter(isSuspect);
  if (suspects.length === 0) return units;
  const marks =
    reading.anyGone || view.kind === 'copy' ? new Map<string, Attributes>() : await attributesOf(reading.upper, pathsOf(suspects), reading);
  const isAway = ({ path, after }: Unit) =>
    strays.has(path) || isCopiedUp(marks.get(path)) || (view.kind === 'copy' && after !== undefined && isLaid(path, after.stats, view));
  return units.map((unit) => (suspects.includes(unit) && isAway(unit) ? { ...unit, takenAway: true } : unit));
}

/** Extended attributes and access lists show in nothing that Node can see. */
async function withAttributes(units: readonly Unit[], reading: Reading): Promise<Pick<Difference, 'units' | 'marked'>> {
  const paths = [...reading.alike.keys()];
  if (paths.length === 0) return { units, marked: [] };
  const { view, upper } = reading;
  const [now, then] = await Promise.all([attributesOf(upper, paths, reading), attributesOf(view.workspaceRoot, paths, reading)]);
  const laid = new Set(paths.filter((path) => isLaidAbove(path, view)));
  const after = (path: string) => overLaid(now.get(path), laid.has(path) ? then.get(path) : undefined);
  const changed = paths.filter((path) => !areSame(after(path), withoutMarks(then.get(path))));
  const directories = changed.filter((path) => look(`${upper}/${path}`)?.isDirectory());
  const given = await readAttributeChanges(reading.programs, { upper, workspaceRoot: view.workspaceRoot, paths: directories, laid });
  const others = changed.flatMap((path): readonly Unit[] => {
    const [stats, lower, extended] = [reading.alike.get(path), look(`${view.workspaceRoot}/${path}`), given.get(path)];
    if (stats === undefined || lower === undefined || extended === 'unread' || (stats.isDirectory() && extended === undefined)) return [];
    const both = { path, before: flat(lower), after: newEntry({ path, stats }, reading), inside: [] };
    if (extended === undefined) return lower.isFile() ? [{ ...both, kind: 'modify' }] : [];
    return [{ ...both, kind: 'attributes', keepTimes: true, ...units.find((unit) => unit.path === path), extended }];
  });
  const isOther = new Set(others.map(({ path }) => path));
  const left = directories.filter((path) => !isOther.has(path));
  const marked = left.map((path): MarkedDirectory => ({ path, why: given.has(path) ? 'unread' : 'no python' }));
  return { units: [...units.filter(({ path }) => !isOther.has(path)), ...others], marked };
}

function isUntold(entry: UpperEntry, view: View): boolean {
  const { path, stats } = entry;
  return view.kind === 'overlay' && !isWhiteout(entry) && !isLaid(path, stats, view);
}

/** Nothing was there, and nothing that was there is gone: what is there now was made by the command. */
function isNewPlace(path: string, { anyGone, view, newDirectories }: Reading): boolean {
  if (anyGone) return false;
  const parent = parentOf(path);
  if (newDirectories.has(parent)) return true;
  if (look(`${view.workspaceRoot}/${path}`) !== undefined) return false;
  if (parent !== '' && look(`${view.workspaceRoot}/${parent}`) === undefined) newDirectories.add(parent);
  return true;
}

/** Of the directory under another name below; the inode number in the view is the one it had there. */
function isRenamed(entry: TreeEntry, reading: Reading): boolean {
  const { path, stats } = entry;
  const inode = reading.inodes.get(path);
  const lower = look(`${reading.view.workspaceRoot}/${path}`);
  if (inode === String(stats.ino) || (!isInNew(path, reading) && isMerged(entry, lower, reading))) return false;
  if (inode !== undefined && isPrivileged()) return true;
  // Without root no directory that was there gets another name: it was this one, and somebody took it away.
  if (inode === undefined || lower !== undefined)
    throw new Fault('effects_failed', say`what became of the directory \`${path}\` cannot be told; nothing was kept`, { audience: 'bug' });
  reading.strays.add(path);
  return false;
}

/** `mv a/b t; rm -r a; mkdir a; mv t a/b`: it has its own name again, in a directory that is another one. */
function isInNew(path: string, { inodes, upper }: Reading): boolean {
  const parent = parentOf(path);
  return parent !== '' && inodes.get(parent) === String(look(`${upper}/${parent}`)?.ino);
}

async function unitsOf(entries: readonly UpperEntry[], reading: Reading, renamed: ReadonlySet<string>): Promise<readonly Unit[]> {
  const units: Unit[] = [];
  let top: { readonly path: string; readonly inside: NewEntry[] } | undefined;
  // A directory that was there got this name: all of it is in its copy.
  let whole: string | undefined;
  for (const entry of byDirectory(entries)) {
    if (isBelow(entry, whole)) continue;
    whole = renamed.has(entry.path) ? entry.path : undefined;
    if (top !== undefined && isBelow(entry, top.path)) {
      if (!isWhiteout(entry)) top.inside.push(...(whole === undefined ? [newEntry(entry, reading)] : await entriesOf(whole, reading)));
      continue;
    }
    const unit = await unitOf(entry, reading, whole !== undefined);
    if (unit !== undefined) units.push(unit);
    top = isWholeNew(unit) ? { path: unit.path, inside: unit.inside as NewEntry[] } : undefined;
  }
  return units;
}

/** Sorted by whole segments, so that what is in a directory follows it directly. */
function byDirectory(entries: readonly UpperEntry[]): readonly UpperEntry[] {
  const keyed = entries.map((entry) => ({ entry, key: entry.path.replaceAll('/', '\0') }));
  return keyed.sort((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key))).map(({ entry }) => entry);
}

function isBelow({ path }: UpperEntry, directory: string | undefined): boolean {
  return directory !== undefined && path.startsWith(`${directory}/`);
}

function isWholeNew(unit: Unit | undefined): unit is Unit {
  return unit?.after?.stats.isDirectory() === true && unit.kind !== 'attributes';
}

function newEntry({ path, stats }: TreeEntry, reading: Reading): NewEntry {
  const { kind, scratch, directory } = reading.view;
  const isFree = stats.isDirectory() || kind === 'copy' || (scratch === directory && hasNoMarks({ path, stats }, reading));
  return { path, stats, source: `${reading.upper}/${path}`, pure: isFree };
}

function hasNoMarks({ path, stats }: TreeEntry, reading: Reading): boolean {
  return (
    (stats.isSymbolicLink() && !isPrivileged()) || (stats.nlink === 1n && !reading.marked.has(path) && isOfTheRun(path, stats, reading))
  );
}

/** Made by the command, and no copy of what was there: that has a mark, and in the view still the inode number that it had. */
function isOfTheRun(path: string, stats: BigIntStats, reading: Reading): boolean {
  return isNewPlace(path, reading) || (isPrivileged() && reading.inodes.get(path) === String(stats.ino));
}

/** `ln old new`: the overlay has made a copy of the old file, and two names for that. */
function withLinks(units: readonly Unit[], entries: readonly TreeEntry[], workspaceRoot: string): readonly Unit[] {
  // In a directory that is another one, too: what lay at its place is gone.
  const changed = new Set(units.flatMap(({ path, inside }) => [path, ...pathsOf(inside)]));
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

async function unitOf(entry: UpperEntry, reading: Reading, renamed: boolean): Promise<Unit | undefined> {
  const { path } = entry;
  const lower = look(`${reading.view.workspaceRoot}/${path}`);
  if (renamed)
    return {
      path,
      kind: lower === undefined ? 'create' : 'replace',
      renamed: true,
      ...(await beforeOf(path, reading)),
      ...(await copied(path, reading)),
    };
  if (isWhiteout(entry)) return lower === undefined ? undefined : { path, kind: 'delete', ...(await beforeOf(path, reading)), inside: [] };
  if (lower !== undefined) return overUnit(entry, lower, reading);
  return isPlaceHolder(entry, reading) ? undefined : { path, kind: 'create', after: newEntry(entry, reading), inside: [] };
}

/** Of an entry where one was. */
async function overUnit(entry: TreeEntry, lower: BigIntStats, reading: Reading): Promise<Unit | undefined> {
  const { path, stats } = entry;
  if (isMerged(entry, lower, reading)) return mergedUnit(entry, lower, reading);
  const after = newEntry(entry, reading);
  const sameMode = modeOf(stats) === modeOf(lower);
  const attributes = { path, kind: 'attributes' as const, before: flat(lower), after, inside: [] };
  if (stats.isDirectory() || typeOf(lower) !== typeOf(stats))
    return { path, kind: 'replace', ...(await beforeOf(path, reading)), after, inside: [] };
  // The place holder's size and times say nothing about the secret.
  if (isPlaceHolder(entry, reading)) return modeOf(stats) === holderMode ? undefined : { ...attributes, keepTimes: true };
  if (!(await isSameEntry([stats, `${reading.upper}/${path}`], [lower, `${reading.view.workspaceRoot}/${path}`])))
    return { ...attributes, kind: 'modify', ...throughName(entry, lower, reading) };
  if (stats.isFile()) reading.alike.set(path, stats);
  return sameMode && stats.mtimeNs === lower.mtimeNs ? undefined : attributes;
}

/**
 * The overlay marks a copy of a file with several names in no way, but it has the time of the last look at the old one, since nothing changes that
 * in a view. Another file in its place has not.
 */
function throughName({ stats }: TreeEntry, lower: BigIntStats, { view }: Reading): Pick<Unit, 'writtenThrough'> {
  const isCopy = stats.isFile() && stats.atimeNs === lower.atimeNs;
  return view.kind === 'overlay' && lower.nlink > 1n && isCopy ? { writtenThrough: true } : {};
}

function mergedUnit(entry: TreeEntry, lower: BigIntStats, reading: Reading): Unit | undefined {
  const { path, stats } = entry;
  const keepTimes = !hasSetTime(stats, reading.view.laid.get(path) ?? lower, reading.view);
  reading.alike.set(path, stats);
  if (keepTimes && modeOf(stats) === modeOf(lower)) return undefined;
  return { path, kind: 'attributes', before: flat(lower), after: newEntry(entry, reading), inside: [], keepTimes };
}

/** A directory that was there, with changes in it. */
function isMerged({ path, stats }: TreeEntry, lower: BigIntStats | undefined, { inodes, view }: Reading): boolean {
  if (!stats.isDirectory()) return false;
  return isLaid(path, stats, view) || (lower?.isDirectory() === true && inodes.get(path) === numberSeen(view, lower));
}

function isPlaceHolder({ path, stats }: TreeEntry, { view: { holders } }: Reading): boolean {
  return holders.get(String(stats.ino)) === path;
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

async function entriesOf(renamed: string, reading: Reading): Promise<readonly NewEntry[]> {
  const { after, inside } = await copied(renamed, reading);
  return [after, ...inside];
}

/** A directory that got another name: the copy of it that was taken through the view. */
async function copied(path: string, { view }: Reading): Promise<Required<Pick<Unit, 'after' | 'inside'>>> {
  const source = `${view.directory}/copied/${path}`;
  const stats = look(source);
  if (stats === undefined) throw new Fault('effects_failed', say`the renamed directory \`${path}\` could not be read`);
  const { entries } = await readTree(source);
  const inside = entries.map((entry) => ({ ...entry, path: `${path}/${entry.path}`, source: `${source}/${entry.path}`, pure: true }));
  return { after: { path, stats, source, pure: true }, inside };
}
