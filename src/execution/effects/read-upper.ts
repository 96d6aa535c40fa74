/**
 * What a command left in the upper directory: all that is not as it was laid there. Source: the kernel's `overlayfs.rst` (whiteouts).
 */

import { type BigIntStats, chmodSync, readFileSync } from 'node:fs';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { look, modeOf, type TreeEntry, walk } from './stamp.ts';
import { holderMode, holderText, upperOf, type View } from './view.ts';

export interface DifferenceLimits {
  /** Entries that may differ. */
  readonly entries: number;
  /** Bytes on the disk that may be new. */
  readonly bytes: number;
}

/** Of an upper directory; `isGone`: the mark of a copy, which has none of the overlay's. */
export interface UpperEntry extends TreeEntry {
  readonly isGone?: true;
}

export interface Upper {
  readonly entries: readonly UpperEntry[];
  /** Names that are no text, in these directories. */
  readonly odd: readonly string[];
  /** Of the workspace's own directory, where the command changed its mode or set its time; its path is empty. */
  readonly root?: RootChange;
}

export interface RootChange {
  readonly stats: BigIntStats;
  /** Its time is not of the command's setting. */
  readonly keepTimes: boolean;
}

/** A place holder that lies elsewhere now, or was written to: nothing sensible can be made of those. */
export interface LostSecret {
  readonly path: string;
  readonly from: string;
}

/** @throws {Fault} `too_many_changes` */
export async function readUpper(view: View, limits: DifferenceLimits): Promise<Upper> {
  const upper = upperOf(view);
  const root = changeOfRoot(view);
  const { entries, odd } = await readAll(upper, limits);
  const changed = view.kind === 'copy' ? changedInCopy(entries, view) : entries.filter((entry) => !isAsLaid(entry, view));
  return { entries: changed, odd, ...(root === undefined ? {} : { root }) };
}

function changeOfRoot(view: View): RootChange | undefined {
  const [stats, laid] = [look(upperOf(view)), view.laidRoot];
  if (stats === undefined || laid === undefined) return undefined;
  // A plain `touch .` is not told from a command that looks and writes in it within one tick of the kernel's clock: both times are the same then.
  const keepTimes = stats.mtimeNs === laid.mtimeNs || isOfNow(stats, view);
  return keepTimes && modeOf(stats) === modeOf(laid) ? undefined : { stats, keepTimes };
}

async function readAll(upper: string, limits: DifferenceLimits) {
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

/** Of a path below the workspace, in bytes: with the directories above it must stay below the kernel's 4,096. */
const longestPath = 3_500;

/** A command may have taken away its own right to look; what its mode was is known by now. */
function openForUs(directory: string, stats = look(directory)): void {
  if (stats !== undefined && (modeOf(stats) & 0o700) !== 0o700) chmodSync(directory, modeOf(stats) | 0o700);
}

function tooMuch(what: string): Fault {
  return new Fault('too_many_changes', say`the command changed ${what}; nothing of it was kept`, { next: 'change less at once' });
}

/** As an upper directory would have it: what is not as it was laid, all of a directory that is another one, and marks for what is gone. */
function changedInCopy(found: readonly TreeEntry[], view: View): readonly UpperEntry[] {
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

/** A directory above place holders that lay there before: a merged one. Its inode number alone might have been given to another one. */
export function isLaid(path: string, { ino, birthtimeNs }: BigIntStats, { laid }: View): boolean {
  const before = laid.get(path);
  return before?.ino === ino && before.birthtimeNs === birthtimeNs;
}

/** Made by us without the attributes of the one below it: so it tells what was given, and not what was taken. */
export function isLaidAbove(path: string, view: View): boolean {
  const stats = look(`${upperOf(view)}/${path}`);
  return view.kind === 'overlay' && stats?.isDirectory() === true && isLaid(path, stats, view);
}

/**
 * By `touch`, which gives both times the same moment, by `touch -d`, `cp -a` and the like. What is put into a directory gives it the time of
 * that moment, which it gets anyway; what came and went in it is not worth a change.
 */
export function hasSetTime(stats: BigIntStats, before: BigIntStats, view: View): boolean {
  return stats.mtimeNs !== before.mtimeNs && (!isOfNow(stats, view) || stats.mtimeNs === stats.atimeNs);
}

/** Of a moment since the view was made; where nothing says when that was, of any. */
function isOfNow({ mtimeNs }: BigIntStats, view: View): boolean {
  const begun = look(upperOf(view))?.birthtimeNs ?? 0n;
  // To the end of this millisecond.
  return begun === 0n || (mtimeNs >= begun && mtimeNs < BigInt(Date.now() + 1) * 1_000_000n);
}

/** `overlayfs.rst`: a character device with the numbers 0 and 0 says that what is below is gone. */
export function isWhiteout({ stats, isGone }: UpperEntry): boolean {
  return isGone === true || (stats.isCharacterDevice() && stats.rdev === 0n);
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
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

export function lostSecret(entry: TreeEntry, view: View): readonly LostSecret[] {
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
