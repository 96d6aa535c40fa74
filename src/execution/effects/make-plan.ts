/** Makes a plan of units: their content goes to the journal first, free of the overlay's marks, each thing ready to be moved into place. */

import { chmodSync, lchownSync, linkSync, lutimesSync, mkdirSync, renameSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { pathChanged } from '#files/directory-pin';
import { type HeldTree, holdTree } from '#files/held-tree';
import type { ChangeList } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { disk } from './disk.ts';
import { keepIndexes, rankOf } from './git-parts.ts';
import type { Plan, Step } from './journal.ts';
import { parentOf } from './read-upper.ts';
import { copyDirectories, look, modeOf, readAttributes, readTree, type Stamp, stampOf, treeOf, withoutMarks } from './stamp.ts';
import type { NewEntry, Unit } from './unit.ts';
import { type Looker, upperOf, type View } from './view.ts';

export interface PlanRequest {
  readonly id: string;
  readonly title: string;
  readonly agentId: string;
  readonly view: View;
  /** Where `stage` and `kept` are made: the run's directory, or that of what is held. */
  readonly directory: string;
  readonly units: readonly Unit[];
  readonly at: number;
  readonly programs: ProgramRunner;
}

/** Content that the overlay has marked is copied through the view, attributes included; the rest is moved. */
export async function copyMarked(units: readonly Unit[], view: View, looker: Looker, signal: AbortSignal): Promise<void> {
  const marked = units.flatMap((unit) => contentOf(unit).filter(({ pure }) => !pure));
  await looker.copyOut(
    view,
    marked.map(({ path }) => path),
    signal,
  );
}

function contentOf(unit: Unit): readonly NewEntry[] {
  if (unit.after === undefined || unit.kind === 'attributes') return [];
  return [unit.after, ...unit.inside];
}

interface MadePlan {
  readonly plan: Plan;
  /** They need something of the workspace that somebody took away. */
  readonly gone: readonly Unit[];
}

export async function makePlan(request: PlanRequest): Promise<MadePlan> {
  const { id, title, agentId, view, directory, units: wanted, at } = request;
  for (const part of ['stage', 'kept', 'overwritten']) mkdirSync(`${directory}/${part}`, { mode: 0o700 });
  const isName = ({ after }: Unit) => Number(after?.nameOf !== undefined);
  const sorted = [...wanted].sort((one, other) => rankOf(one) - rankOf(other) || isName(one) - isName(other));
  const steps: Step[] = [];
  const gone: Unit[] = [];
  const marked = await withAttributes(wanted, request);
  const staged = new Map<string, string>();
  const quiet = quietParents(wanted, view);
  const tree = holdTree(view.workspaceRoot);
  try {
    for (const [number, unit] of sorted.entries()) {
      const step = await stepOf(unit, number, { ...request, marked, tree, staged }).catch(onlyGone);
      if (step !== undefined) steps.push(step);
      else gone.push(unit);
    }
  } finally {
    tree.close();
  }
  const units = wanted.filter((unit) => !gone.includes(unit));
  const keptBytes = [...units.map(keptBytesOf), ...steps.flatMap(copiedBytes)].reduce((sum, bytes) => sum + bytes, 0);
  const { workspaceRoot } = view;
  // The directories above are looked at right before the first step.
  return {
    plan: {
      id,
      title,
      agentId,
      workspaceRoot,
      at,
      steps: asLinked(steps, wanted, workspaceRoot),
      parents: [],
      quiet,
      lists: listsOf(units),
      keptBytes,
    },
    gone,
  };
}

/** Our renames give a directory a new time; a command that writes to a file in place does not. */
function quietParents(units: readonly Unit[], view: View): readonly string[] {
  const isQuiet = (path: string) => {
    const [before, after] = [look(`${view.workspaceRoot}/${path}`)?.mtimeNs ?? 0n, look(`${upperOf(view)}/${path}`)?.mtimeNs];
    // Those above place holders were given their times by Node, to the microsecond.
    return after === undefined || (after - before < 1_000n && before - after < 1_000n);
  };
  const parents = units.filter(({ kind }) => kind === 'modify').map(({ path }) => parentOf(path));
  return [...new Set(parents)].filter((path) => isQuiet(path));
}

/** The second name that a file got in the journal is no change of somebody else's to its other names. */
function asLinked(steps: readonly Step[], units: readonly Unit[], workspaceRoot: string): readonly Step[] {
  const linked = units.flatMap(({ after, inside }) => [after, ...inside].flatMap((entry) => entry?.linkTo ?? []));
  const inodes = new Set(linked.map((path) => String(look(`${workspaceRoot}/${path}`)?.ino)));
  return steps.map((step) => {
    const now = step.before !== undefined && inodes.has(step.before.inode) ? look(`${workspaceRoot}/${step.path}`) : undefined;
    return now === undefined ? step : { ...step, changedAt: String(now.ctimeNs) };
  });
}

/** What had to get a second name is not there any more. */
function onlyGone(thrown: unknown): undefined {
  if (!(thrown instanceof Fault) || thrown.code !== 'PATH_CHANGED') throw thrown;
}

export function keptBytesOf({ before, kind }: Unit): number {
  if (before === undefined || kind === 'attributes') return 0;
  return before.tree?.bytes ?? before.stamp.size;
}

function copiedBytes({ indexes = [] }: Step): readonly number[] {
  return indexes.map(({ stamp }) => stamp.size);
}

async function stepOf(unit: Unit, number: number, { view, directory, ...request }: StepRequest): Promise<Step> {
  const { path, kind, before, after, held } = unit;
  const lower = before === undefined ? undefined : look(`${view.workspaceRoot}/${path}`);
  const common = {
    number,
    path,
    kind,
    ...(before === undefined ? {} : { before: before.stamp }),
    ...(lower === undefined ? {} : { changedAt: String(lower.ctimeNs) }),
    ...(held === undefined ? {} : { held: { rule: held.rule, why: held.why } }),
  };
  if (kind === 'delete' || after === undefined) return { ...common, act: 'take' };
  if (kind === 'attributes') {
    return { ...common, act: 'set', ...setOf(unit, after, { view, directory }) };
  }
  const stage = `${directory}/stage/${number}`;
  const staged = await stageUnit(unit, after, { ...request, view, stage });
  const placeOf = (below: string) => `${stage}${below.slice(path.length)}`;
  const indexes = keepIndexes([after, ...unit.inside], { directory, number, placeOf });
  return { ...common, act: 'put', after: staged, ...(indexes.length === 0 ? {} : { indexes }) };
}

function setOf(
  unit: Unit,
  after: NewEntry,
  { view, directory }: Pick<PlanRequest, 'view' | 'directory'>,
): Pick<Step, 'after' | 'extended'> {
  const wished = newAttributes(unit, after);
  const { extended } = unit;
  const kept = view.scratch === view.directory ? wished : asKept(wished, `${directory}/time`);
  return { after: kept, ...(extended === undefined ? {} : { extended }) };
}

function newAttributes({ before: was, keepTimes = false }: Unit, { stats }: NewEntry): Stamp {
  const before = was?.stamp ?? stampOf(stats);
  return { ...before, mode: modeOf(stats), modified: keepTimes ? before.modified : String(stats.mtimeNs) };
}

/** A time that this file system cannot hold is another one once it is set: ext4 has none before December 1901. */
function asKept(stamp: Stamp, probe: string): Stamp {
  const wished = BigInt(stamp.modified);
  writeFileSync(probe, '');
  const inSeconds = Number(wished / 1_000_000_000n);
  utimesSync(probe, inSeconds, inSeconds);
  const kept = lookSurely(probe).mtimeNs;
  unlinkSync(probe);
  const isOther = (kept > wished ? kept - wished : wished - kept) > 2_000_000_000n;
  return isOther ? { ...stamp, modified: String(kept) } : stamp;
}

type StageGround = Pick<PlanRequest, 'programs'> & {
  /** New directories with extended attributes or access lists of their own, by default or not. */
  readonly marked: ReadonlySet<string>;
  /** The workspace: its files get second names. */
  readonly tree: Pick<HeldTree, 'place'>;
  /** Where each file lies that was staged before. */
  readonly staged: Map<string, string>;
};

type StepRequest = PlanRequest & StageGround;

interface Staging extends StageGround {
  readonly view: View;
  readonly stage: string;
}

/** New directories that `mkdir` alone does not make as they are. */
async function withAttributes(units: readonly Unit[], { view, programs }: PlanRequest): Promise<ReadonlySet<string>> {
  const made = units
    .filter((unit) => !isMovedWhole(unit) && unit.kind !== 'attributes')
    .flatMap(({ after, inside }) => (after?.stats.isDirectory() ? [after, ...inside] : []))
    .filter(({ stats }) => stats.isDirectory());
  const found = new Set<string>();
  for (const [root, paths] of byRoot(made, view)) {
    const attributes = await readAttributes(programs, { root, paths });
    for (const path of paths) if (withoutMarks(attributes.get(path)).size > 0) found.add(path);
  }
  return found;
}

/** Paths of entries by where they are read: the upper directory, or the copies of what was renamed. */
function byRoot(entries: readonly NewEntry[], view: View): ReadonlyMap<string, readonly string[]> {
  const copies = `${view.directory}/copied`;
  const rootOf = ({ source }: NewEntry) => (source.startsWith(`${copies}/`) ? copies : upperOf(view));
  return new Map([...Map.groupBy(entries, rootOf)].map(([root, some]) => [root, some.map(({ path }) => path)]));
}

/** The directories with attributes, made with them and all that lie above. */
async function makeMarked(unit: Unit, top: NewEntry, { view, stage, marked, programs }: Staging): Promise<boolean> {
  const own = [top, ...unit.inside].filter(({ path }) => marked.has(path));
  if (own.length === 0) return false;
  const tree = `${stage}-tree`;
  mkdirSync(tree, { mode: 0o700 });
  for (const [root, paths] of byRoot(own, view)) await copyDirectories(programs, { root, paths, to: tree });
  const made = look(`${tree}/${unit.path}`)?.isDirectory() === true;
  if (made) renameSync(`${tree}/${unit.path}`, stage);
  disk.remove(tree);
  return made;
}

async function stageUnit(unit: Unit, top: NewEntry, staging: Staging): Promise<Stamp> {
  const { stage } = staging;
  if (!top.stats.isDirectory()) {
    stageFile(top, staging, stage);
    return stampOf(lookSurely(stage));
  }
  const moved = isMovedWhole(unit) ? await moveWhole(unit, top, stage) : undefined;
  if (moved !== undefined) return moved;
  const place = (entry: NewEntry) => (entry.path === top.path ? stage : `${stage}${entry.path.slice(top.path.length)}`);
  const giveTimes = await noteTimes(unit, top, staging);
  // A directory is made anew: the overlay's marks cannot be taken off it.
  const make = (await makeMarked(unit, top, staging)) ? makeOrOpen : (at: string) => mkdirSync(at, { mode: 0o700 });
  for (const entry of [top, ...unit.inside]) {
    if (entry.stats.isDirectory()) make(place(entry));
    else stageFile(entry, staging, place(entry));
  }
  // From the inside: what is put into a directory changes its times, and its mode may close it.
  for (const entry of [...unit.inside.toReversed(), top]) if (entry.stats.isDirectory()) finishDirectory(place(entry), entry);
  await giveTimes();
  // What is closed is not in a tree that is read.
  const isOpen = [top, ...unit.inside].every(({ stats }) => !stats.isDirectory() || (modeOf(stats) & 0o700) === 0o700);
  if (!isOpen) return { ...stampOf(lookSurely(stage)), tree: (await readTree(stage)).digest };
  // A file that was moved is the one that was looked at before; of the others only their place tells.
  const staged = unit.inside.map((entry) => ({
    path: entry.path.slice(top.path.length + 1),
    stats: entry.pure && entry.stats.isFile() && entry.linkTo === undefined ? entry.stats : lookSurely(place(entry)),
  }));
  return { ...stampOf(lookSurely(stage)), tree: treeOf(staged, 0n).digest };
}

/** What is another name of something that stays is put in by itself. */
function isMovedWhole({ renamed, inside }: Unit): boolean {
  return renamed === true && inside.every(({ linkTo }) => linkTo === undefined);
}

/** Of a directory that got another name: the copy of it has no marks, and the access lists that it had. */
async function moveWhole({ inside }: Unit, { source }: NewEntry, stage: string): Promise<Stamp | undefined> {
  const { entries, digest } = await readTree(source);
  if (entries.length !== inside.length || (modeOf(lookSurely(source)) & 0o700) !== 0o700) return undefined;
  renameSync(source, stage);
  return { ...stampOf(lookSurely(stage)), tree: digest };
}

function makeOrOpen(at: string): void {
  const stats = look(at);
  if (stats === undefined) mkdirSync(at, { mode: 0o700 });
  else chmodSync(at, modeOf(stats) | 0o700);
}

function stageFile({ pure, source, path, linkTo, nameOf: other }: NewEntry, staging: Omit<Staging, 'stage'>, place: string): void {
  const { view, tree, staged } = staging;
  if (linkTo === undefined && other === undefined) {
    renameSync(pure ? source : `${view.directory}/copied/${path}`, place);
    staged.set(path, place);
    return;
  }
  const old = linkTo === undefined ? staged.get(other ?? '') : tree.place(linkTo);
  if (old === undefined || look(old) === undefined) throw pathChanged();
  linkSync(old, place);
}

function finishDirectory(place: string, { stats }: NewEntry): void {
  const made = lookSurely(place);
  // A directory of another group, by the group bit of the one above it.
  if (made.gid !== stats.gid) lchownSync(place, Number(stats.uid), Number(stats.gid));
  chmodSync(place, modeOf(stats));
  lutimesSync(place, Number(stats.atimeMs) / 1_000, Number(stats.mtimeNs) / 1e9);
}

/**
 * Node's own call has a double for a time, which ends at microseconds: a time that a command has set is given to the nanosecond. What is moved out of
 * a directory changes its time, so the times are noted before, in empty directories.
 * @returns what gives them
 */
async function noteTimes({ path, inside }: Unit, top: NewEntry, { view, stage, programs }: Staging): Promise<() => Promise<void>> {
  const begun = look(upperOf(view))?.birthtimeNs ?? 0n;
  const isFine = ({ stats: { mtimeNs } }: NewEntry) => mtimeNs < begun && mtimeNs % 1_000_000_000n !== 0n;
  const fine = [top, ...inside].filter((entry) => entry.stats.isDirectory() && isFine(entry));
  if (fine.length === 0) return () => Promise.resolve();
  const notes = `${stage}-times`;
  mkdirSync(notes, { mode: 0o700 });
  for (const [root, paths] of byRoot(fine, view)) await copyDirectories(programs, { root, paths, to: notes });
  return async () => {
    const below = fine.map((entry) => entry.path.slice(path.length + 1) || '.');
    await copyDirectories(programs, { root: `${notes}/${path}`, paths: below, to: stage });
    disk.remove(notes);
    // What the command closed was opened to look into it.
    for (const { path: at, stats } of fine.toReversed()) chmodSync(`${stage}${at.slice(path.length)}`, modeOf(stats));
  };
}

function lookSurely(place: string) {
  const stats = look(place);
  if (stats === undefined) throw new Error(`\`${place}\` was there a moment ago`);
  return stats;
}

/** For people: of directories the name alone. */
export function listsOf(units: readonly Unit[]): ChangeList {
  const named = (kinds: readonly string[]) => units.filter(({ kind }) => kinds.includes(kind)).map(nameOf);
  return { created: named(['create']), changed: named(['modify', 'attributes', 'replace']), deleted: named(['delete']) };
}

export function nameOf({ path, after, before, kind }: Unit): string {
  if (path === '') return '.';
  const isWhole = kind !== 'attributes' && (after?.stats.isDirectory() ?? before?.stamp.type === 'directory');
  return isWhole ? `${path}/` : path;
}
