/**
 * What a command changed, read from the upper directory: it costs by what changed, not by what is there. Source: the kernel's
 * `overlayfs.rst` (whiteouts, opaque and redirected directories, inode numbers).
 */
import { type BigIntStats, chmodSync, readFileSync, readlinkSync } from 'node:fs';
import type { ChangeKind, Verdict } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { isSameContent, look, modeOf, readTree, type Stamp, stampOf, type Tree, type TreeEntry, typeOf, walk } from './stamp.ts';
import { holderMode, holderText, isPrivileged, type Looker, numberSeen, upperOf, type View } from './view.ts';

/** Something that is there afterwards. */
export interface NewEntry extends TreeEntry {
  /** `path` is below the workspace; the content lies here. */
  readonly source: string;
  /** It has no marks of the overlay, lies on the journal's file system and can be moved as it is; else a copy must be taken through the view. */
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
  /** Of what a person decides about. */
  readonly held?: Pick<Verdict, 'rule' | 'why'>;
  /** A directory that was there got this name; its content is a copy, taken without any covers. */
  readonly renamed?: true;
}

export interface Difference {
  readonly units: readonly Unit[];
  /** Names that are no text, in these directories. */
  readonly odd: readonly string[];
  /** The command changed the mode of the workspace's own directory. */
  readonly rootMode: boolean;
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

/** Of an upper directory; `isGone`: the mark of a copy, which has none of the overlay's. */
interface Entry extends TreeEntry {
  readonly isGone?: true;
}

interface Reading extends DifferenceRequest {
  readonly upper: string;
  readonly inodes: ReadonlyMap<string, string>;
  /** Something that was there is gone, so a new entry may be it. */
  readonly anyGone: boolean;
  /** Known by now not to be in the workspace. */
  readonly newDirectories: Set<string>;
}

/** @throws {Fault} `too_many_changes` and `effects_failed` */
export async function readDifference(request: DifferenceRequest, signal: AbortSignal): Promise<Difference> {
  const upper = upperOf(request.view);
  const [ours, theirs] = [upper, request.view.workspaceRoot].map((place) => Number(look(place)?.mode ?? 0n) & 0o777);
  const { entries: found, odd } = await readUpper(upper, request.limits);
  const entries =
    request.view.kind === 'copy' ? changedInCopy(found, request.view) : found.filter((entry) => !isAsLaid(entry, request.view));
  if (entries.length === 0) return { units: [], odd, rootMode: ours !== theirs, lostSecrets: [] };
  const { workspaceRoot } = request.view;
  const inodesOf = (some: readonly Entry[]) =>
    request.looker.inodes(
      request.view,
      some.map(({ path }) => path),
      signal,
    );
  const inodes = new Map(await inodesOf(entries.filter((entry) => entry.stats.isDirectory() && isUntold(entry, request.view))));
  const isGone = (entry: Entry) =>
    (isWhiteout(entry) || (entry.stats.isDirectory() && inodes.get(entry.path) === String(entry.stats.ino))) &&
    look(`${workspaceRoot}/${entry.path}`) !== undefined;
  const seen: Reading = { ...request, upper, inodes, anyGone: entries.some(isGone), newDirectories: new Set() };
  // `mv a b; echo > a` leaves no mark that the old one is gone. Only as root inode numbers tell them apart then.
  const isOver = (entry: Entry) => !(entry.stats.isDirectory() || isWhiteout(entry) || isNewPlace(entry.path, seen));
  const reading = isPrivileged() && !seen.anyGone && entries.some(isOver) ? { ...seen, anyGone: true } : seen;
  // Without root a mark does not tell where its file comes from: the inode numbers of directories alone are of use.
  const unsure = isPrivileged() ? entries.filter((entry) => !entry.stats.isDirectory() && isUntold(entry, request.view)) : [];
  for (const [place, inode] of await inodesOf(unsure.filter(({ path }) => !isNewPlace(path, reading)))) inodes.set(place, inode);
  const renamed = entries.filter((entry) => entry.stats.isDirectory() && isRenamed(entry, reading)).map(({ path }) => path);
  const outer = renamed.filter((path) => !renamed.some((other) => path.startsWith(`${other}/`)));
  await request.looker.copyOut(request.view, outer, signal);
  const lostSecrets = entries.flatMap((entry) => lostSecret(entry, reading));
  const units = await unitsOf(entries, reading, new Set(outer));
  return { units: withLinks(units, entries, workspaceRoot), odd, rootMode: ours !== theirs, lostSecrets };
}

/** A directory above place holders that lay there before: a merged one. Its inode number alone might have been given to another one. */
function isLaid(path: string, { ino, birthtimeNs }: BigIntStats, { laid }: View): boolean {
  const before = laid.get(path);
  return before?.ino === ino && before.birthtimeNs === birthtimeNs;
}

/** Nothing that the command did. */
function isAsLaid({ path, stats }: TreeEntry, view: View): boolean {
  if (path === view.concealed) return isWhiteout({ path, stats });
  if (stats.isDirectory()) {
    const laid = view.laid.get(path);
    return laid !== undefined && isLaid(path, stats, view) && stats.mode === laid.mode && !hasSetTime(stats, laid, view);
  }
  if (view.holders.get(String(stats.ino)) === path) return isUnwritten(stats) && modeOf(stats) === holderMode && stats.nlink === 2n;
  // Written anew with the very same words: a stash that was popped, `sed -i` that found nothing.
  return view.hidden.has(path) && textOf({ path, stats }, view) === holderText;
}

/**
 * By `touch`, which gives both times the same moment, by `touch -d`, `cp -a` and the like. What is put into a directory gives it the time of
 * that moment, which it gets anyway; what came and went in it is not worth a change.
 */
function hasSetTime({ mtimeNs, atimeNs }: BigIntStats, before: BigIntStats, view: View): boolean {
  const begun = look(upperOf(view))?.birthtimeNs ?? 0n;
  const isOfNow = mtimeNs >= begun && mtimeNs <= BigInt(Date.now()) * 1_000_000n;
  return mtimeNs !== before.mtimeNs && begun !== 0n && (!isOfNow || mtimeNs === atimeNs);
}

function isUnwritten(stats: BigIntStats): boolean {
  return stats.size === BigInt(holderText.length);
}

const longestRewritten = 1_048_576;

/** Empty where it is long, no file, or cannot be read. */
function textOf({ path, stats }: TreeEntry, view: View): string {
  if (!stats.isFile() || stats.size > longestRewritten) return '';
  try {
    return readFileSync(`${upperOf(view)}/${path}`, 'latin1');
  } catch {
    return '';
  }
}

function isUntold(entry: Entry, view: View): boolean {
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

/** `overlayfs.rst`: a character device with the numbers 0 and 0 says that what is below is gone. */
function isWhiteout({ stats, isGone }: Entry): boolean {
  return isGone === true || (stats.isCharacterDevice() && stats.rdev === 0n);
}

/** As an upper directory would have it: what is not as it was laid, all of a directory that is another one, and marks for what is gone. */
function changedInCopy(found: readonly TreeEntry[], view: View): readonly Entry[] {
  const anew = new Set<string>();
  const changed = found.filter(({ path, stats }) => {
    const isOther = anew.has(parentOf(path)) || !isLaid(path, stats, view);
    if (stats.isDirectory() && isOther) anew.add(path);
    const before = view.laid.get(path);
    if (stats.isFile() && isAsLaid({ path, stats }, view)) return false;
    if (isOther || before?.mode !== stats.mode) return true;
    return stats.isDirectory() ? hasSetTime(stats, before, view) : before.ctimeNs !== stats.ctimeNs;
  });
  const there = new Map(found.map(({ path, stats }) => [path, stats]));
  const gone = [...view.laid].filter(([path]) => !there.has(path) && (!path.includes('/') || there.get(parentOf(path))?.isDirectory()));
  return [...changed, ...gone.flatMap(([path, stats]) => ({ path, stats, isGone: true as const }))];
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Of a path below the workspace, in bytes: with the directories above it must stay below the kernel's 4,096. */
const longestPath = 3_500;

async function readUpper(upper: string, limits: DifferenceLimits) {
  const entries: TreeEntry[] = [];
  const odd = new Set<string>();
  let bytes = 0;
  openForUs(upper);
  for await (const entry of walk(upper, odd)) {
    if (Buffer.byteLength(entry.path) > longestPath) throw tooMuch('directories that lie too deep to be named');
    entries.push(entry);
    bytes += Number(entry.stats.blocks) * 512;
    if (entries.length > limits.entries) throw tooMuch(`more than ${limits.entries} files and directories`);
    if (bytes > limits.bytes) throw tooMuch(`more than ${Math.round(limits.bytes / 2 ** 20)} MB`);
    if (entry.stats.isDirectory()) openForUs(`${upper}/${entry.path}`, entry.stats);
  }
  return { entries, odd: [...odd] };
}

/** A command may have taken away its own right to look; what its mode was is known by now. */
function openForUs(directory: string, stats = look(directory)): void {
  if (stats !== undefined && (modeOf(stats) & 0o700) !== 0o700) chmodSync(directory, modeOf(stats) | 0o700);
}

function tooMuch(what: string): Fault {
  return new Fault('too_many_changes', `the command changed ${what}; nothing of it was kept`, { next: 'change less at once' });
}

/** Of the directory under another name below; the inode number in the view is the one it had there. */
function isRenamed({ path, stats }: TreeEntry, { inodes, view }: Reading): boolean {
  const inode = inodes.get(path);
  if (view.kind === 'copy' || inode === String(stats.ino) || isLaid(path, stats, view)) return false;
  const lower = look(`${view.workspaceRoot}/${path}`);
  if (lower?.isDirectory() && inode === numberSeen(view, lower)) return false;
  if (inode === undefined || !isPrivileged()) {
    throw new Fault('effects_failed', `what became of the directory \`${path}\` cannot be told; nothing was kept`, { audience: 'bug' });
  }
  return true;
}

function lostSecret(entry: TreeEntry, { view }: Reading): Difference['lostSecrets'] {
  const { path, stats } = entry;
  const from = stats.isFile() ? view.holders.get(String(stats.ino)) : undefined;
  if (from !== undefined) return from === path && isUnwritten(stats) ? [] : [{ path, from }];
  return view.hidden.has(path) && isOfHolder(textOf(entry, view)) ? [{ path, from: path }] : [];
}

const partLength = 16;
const holderWords = holderText.trimEnd().toLowerCase();
const holderParts = Array.from({ length: holderWords.length - partLength + 1 }, (_, start) => holderWords.slice(start, start + partLength));

/** An edit of what the command was shown (`sed -i`, `tr`): some words in a row are left of it. */
function isOfHolder(text: string): boolean {
  const folded = text.toLowerCase();
  return holderParts.some((part) => folded.includes(part));
}

async function unitsOf(entries: readonly Entry[], reading: Reading, renamed: ReadonlySet<string>): Promise<readonly Unit[]> {
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
function byDirectory(entries: readonly Entry[]): readonly Entry[] {
  const keyed = entries.map((entry) => ({ entry, key: entry.path.replaceAll('/', '\0') }));
  return keyed.sort((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key))).map(({ entry }) => entry);
}

function isBelow({ path }: Entry, directory: string | undefined): boolean {
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
  return (stats.isSymbolicLink() && !isPrivileged()) || (stats.nlink === 1n && isOfTheRun(path, stats, reading));
}

/** Made by the command, and no copy of what was there: that has a mark, and in the view still the inode number that it had. */
function isOfTheRun(path: string, stats: BigIntStats, reading: Reading): boolean {
  return isNewPlace(path, reading) || (isPrivileged() && reading.inodes.get(path) === String(stats.ino));
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

async function unitOf(entry: Entry, reading: Reading, renamed: boolean): Promise<Unit | undefined> {
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
  if (!(await isSameEntry(entry, lower, reading))) return { ...attributes, kind: 'modify' };
  return sameMode && stats.mtimeNs === lower.mtimeNs ? undefined : attributes;
}

function mergedUnit(entry: TreeEntry, lower: BigIntStats, reading: Reading): Unit | undefined {
  const { path, stats } = entry;
  const keepTimes = !hasSetTime(stats, reading.view.laid.get(path) ?? lower, reading.view);
  if (keepTimes && modeOf(stats) === modeOf(lower)) return undefined;
  return { path, kind: 'attributes', before: flat(lower), after: newEntry(entry, reading), inside: [], keepTimes };
}

/** A directory that was there, with changes in it. */
function isMerged({ path, stats }: TreeEntry, lower: BigIntStats, { inodes, view }: Reading): boolean {
  return stats.isDirectory() && lower.isDirectory() && (inodes.get(path) === numberSeen(view, lower) || isLaid(path, stats, view));
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
