/**
 * Carries a plan out, and takes it back. Every step can be done again and taken back from wherever it was cut off: what lies at the step's two
 * places in the journal and in the workspace tells how far it came.
 */
import type { BigIntStats } from 'node:fs';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import type { Disk } from './disk.ts';
import type { Parent, Plan, Step } from './journal.ts';
import { isSame, look, modeOf, readTree, type Stamp } from './stamp.ts';

export interface Hands {
  readonly disk: Disk;
  readonly programs: ProgramRunner;
}

/** A plan and the places it works on. */
export interface Work extends Hands {
  readonly plan: Plan;
  /** The run's. */
  readonly directory: string;
  /** Where the only step's entry is, through a directory that is held open; left out: by its path. @throws where it is elsewhere by now */
  readonly place?: () => string;
  /** Set aside what somebody else put in the way; else it stays, and so does what it hides. */
  readonly force?: boolean;
  /** Numbers of the steps whose places somebody else has changed since, in ways that the entry itself may not show. */
  readonly foreign?: readonly number[];
}

interface Places {
  readonly at: string;
  readonly stage: string;
  readonly kept: string;
  readonly overwritten: string;
}

function placesOf(work: Work, step: Step): Places {
  const [stage, kept, overwritten] = ['stage', 'kept', 'overwritten'].map((name) => `${work.directory}/${name}/${step.number}`);
  return { at: placeOf(work, step), stage: stage ?? '', kept: kept ?? '', overwritten: overwritten ?? '' };
}

function placeOf({ plan, place }: Pick<Work, 'plan' | 'place'>, { path }: Pick<Step, 'path'>): string {
  return place?.() ?? `${plan.workspaceRoot}/${path}`;
}

/** Whether the workspace is, at this place, as it was when the plan was made. */
export function isAsPlanned(work: Work, step: Step): boolean {
  const place = placeOf(work, step);
  const now = look(place);
  if (step.before === undefined) return now === undefined && isDirectory(parentOf(place));
  return isSame(now, step.before) && String(now?.ctimeNs) === step.changedAt;
}

/** Without the change time, which our own steps move: a second name changes it. */
function isUnchanged(work: Work, step: Step, parent: BigIntStats | undefined): boolean {
  const now = look(placeOf(work, step));
  return step.before === undefined ? now === undefined && parent?.isDirectory() === true : isSame(now, step.before);
}

/** Another step did it, on another name of the same file. */
function isSetAlready(work: Work, { act, before, after, path }: Step): boolean {
  if (act !== 'set' || before === undefined || after?.type !== 'file') return false;
  return isSame(look(placeOf(work, { path })), { ...before, mode: after.mode });
}

function isDirectory(place: string): boolean {
  return look(place)?.isDirectory() ?? false;
}

function parentOf(place: string): string {
  return place.slice(0, place.lastIndexOf('/'));
}

/** @returns the numbers of the steps that met somebody else's change and were left out */
export async function applySteps(work: Work): Promise<readonly number[]> {
  const skipped: number[] = [];
  const times: Parent[] = [];
  for (const step of work.plan.steps) {
    const parent = look(parentOf(placeOf(work, step)));
    if (!(isUnchanged(work, step, parent) || isSetAlready(work, step)) || !inWritable(work, step, () => applyStep(work, step), parent))
      skipped.push(step.number);
    else if (step.act === 'set' && step.after !== undefined && step.after.modified !== step.before?.modified)
      times.push({ ...step.after, path: step.path });
  }
  await whileOpen(work, () => setTimes(work, times));
  return skipped;
}

/** @returns whether it was done: somebody may be faster by less than a moment */
function applyStep(work: Work, step: Step): boolean {
  const { disk } = work;
  const places = placesOf(work, step);
  const { act, before, after } = step;
  if (act === 'take') move(disk, places.at, places.kept);
  if (act === 'set' && after !== undefined && after.type !== 'link' && after.mode !== before?.mode) disk.chmod(places.at, after.mode);
  if (act !== 'put') return true;
  return before === undefined ? putNew(disk, step, places) : putOver(disk, { ...step, before }, places);
}

function putOver(disk: Disk, { before, after }: Step & { readonly before: Stamp }, { at, stage, kept }: Places): boolean {
  if (before.type === 'directory' || after?.type === 'directory') {
    move(disk, at, kept);
    move(disk, stage, at);
    return true;
  }
  keep(disk, at, kept);
  if (!isSame(look(kept), before)) {
    giveBack(disk, at, kept);
    return false;
  }
  // INVARIANT: over the old one in one go: at no moment is the place empty.
  disk.rename(stage, at);
  return true;
}

/** Never over what somebody put there a moment ago. */
function putNew(disk: Disk, step: Step, { at, stage }: Pick<Places, 'at' | 'stage'>): boolean {
  if (step.after?.type === 'directory') {
    move(disk, stage, at);
    return true;
  }
  try {
    disk.link(stage, at);
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false;
    // A file system without second names.
    disk.rename(stage, at);
    return true;
  }
  disk.unlink(stage);
  return true;
}

/** A second name for what is about to be replaced; where the system refuses one (another owner's file, FAT), the only name. */
function keep(disk: Disk, at: string, kept: string): void {
  try {
    disk.link(at, kept);
  } catch {
    disk.rename(at, kept);
  }
}

/** `kept` was made from something else than was meant. */
function giveBack(disk: Disk, at: string, kept: string): void {
  if (look(at) === undefined) disk.rename(kept, at);
  else disk.unlink(kept);
}

/** A directory that its owner may not write cannot be moved to another one. */
function move(disk: Disk, from: string, to: string): void {
  const stats = look(from);
  const mode = stats === undefined ? 0 : modeOf(stats);
  const closed = stats?.isDirectory() === true && (mode & 0o200) === 0;
  if (closed) disk.chmod(from, mode | 0o200);
  disk.rename(from, to);
  if (closed) disk.chmod(to, mode);
}

/** The command may have opened a directory for a moment, and closed it again. */
function inWritable(work: Work, step: Step, act: () => boolean, stats = look(parentOf(placeOf(work, step)))): boolean {
  const parent = parentOf(placeOf(work, step));
  const mode = stats === undefined ? 0 : modeOf(stats);
  if (step.act === 'set' || (mode & 0o300) === 0o300) return act();
  work.disk.chmod(parent, mode | 0o300);
  try {
    return act();
  } finally {
    work.disk.chmod(parent, mode);
  }
}

/**
 * Puts back what was there; steps that were not done, or are undone, are left alone.
 * @param parents directories that get their mode and times back
 * @returns paths where somebody else's work stays
 */
export async function takeBack(work: Work, parents: readonly Parent[]): Promise<readonly string[]> {
  const { plan } = work;
  const left: string[] = [];
  const times: Parent[] = [];
  for (const step of plan.steps.toReversed()) {
    if (step.act === 'set') times.push(...unset(work, step));
    else if (isLone(step)) takeEmpty(work, step);
    else if (!inWritable(work, step, () => takeBackStep(work, step))) left.push(step.path);
  }
  for (const { path, mode } of parents) {
    const place = `${plan.workspaceRoot}/${path}`;
    const stats = look(place);
    if (stats !== undefined && modeOf(stats) !== mode) work.disk.chmod(place, mode);
  }
  await setTimes(work, [...times, ...parents]);
  return left;
}

/** Directories that nobody changed since the plan was carried out. */
export function untouchedParents({ plan }: Work, asLeft: readonly Parent[]): readonly Parent[] {
  return plan.parents.filter(({ path }) => {
    const now = look(`${plan.workspaceRoot}/${path}`);
    return asLeft.some((parent) => parent.path === path && parent.modified === String(now?.mtimeNs));
  });
}

function unset({ plan, disk }: Work, { path, before }: Step): readonly Parent[] {
  const place = `${plan.workspaceRoot}/${path}`;
  const stats = look(place);
  // Somebody else's by now.
  if (stats === undefined || before === undefined || String(stats.ino) !== before.inode) return [];
  if (before.type !== 'link' && modeOf(stats) !== before.mode) disk.chmod(place, before.mode);
  return before.type === 'directory' ? [] : [{ ...before, path }];
}

function takeBackStep(work: Work, step: Step): boolean {
  const { disk } = work;
  const places = placesOf(work, step);
  const { at, kept, overwritten } = places;
  if (step.after !== undefined && !withdraw(work, step, places)) return false;
  const old = look(kept);
  const now = look(at);
  if (old !== undefined && now?.ino === old.ino) {
    // It had got its second name, and nothing more.
    disk.unlink(kept);
  } else if (old !== undefined) {
    if (now !== undefined && step.after === undefined) {
      if (!work.force) return false;
      move(disk, at, overwritten);
    }
    move(disk, kept, at);
  }
  closeAgain(disk, at, step);
  return true;
}

/** A directory may have been cut off while it was open for its move. */
function closeAgain(disk: Disk, at: string, { before }: Step): void {
  const now = look(at);
  if (before?.type !== 'directory' || now === undefined || String(now.ino) !== before.inode) return;
  if (modeOf(now) !== before.mode) disk.chmod(at, before.mode);
}

/** Takes what the step put there back to `stage`. @returns false where somebody else's work is there and stays */
function withdraw(work: Work, step: Step, { at, stage, kept, overwritten }: Places): boolean {
  const now = look(at);
  if (now === undefined) return true;
  const isOurs = isOwn(now, step, work);
  const old = look(kept);
  if (look(stage) !== undefined) {
    // Not put there, or cut off between the two names of a new file.
    if (isOurs && old === undefined) work.disk.unlink(at);
    return true;
  }
  if (!isOurs && work.force !== true) return false;
  setAside(work.disk, { at, to: isOurs ? stage : overwritten, forFile: old !== undefined && !old.isDirectory() });
  return true;
}

function takeEmpty(work: Work, step: Step & { readonly after: Stamp }): void {
  const { at } = placesOf(work, step);
  if (!isSame(look(at), step.after)) return;
  inWritable(work, step, () => {
    work.disk.removeEmpty(at);
    return true;
  });
}

/** A new directory by itself, without what is in it: it goes when it is empty. */
function isLone<Of extends Step>(step: Of): step is Of & { readonly after: Stamp } {
  return step.act === 'put' && step.after?.type === 'directory' && step.after.tree === undefined;
}

/** Steps of new directories in which others have put more since, taken apart: what was put in goes, and what is empty then. */
export async function inParts(work: Work): Promise<Plan> {
  const steps: Step[] = [];
  for (const step of work.plan.steps) {
    const parts = step.inside === undefined || (await isAsAfter(work, step)) ? [step] : step.inside;
    steps.push(...parts);
  }
  return { ...work.plan, steps };
}

function isOwn(now: BigIntStats, { after, number }: Step, { foreign = [] }: Work): boolean {
  return after !== undefined && isSame(now, after) && !foreign.includes(number);
}

/** INVARIANT: a file that another one takes the place of stays until that one is there. */
function setAside(disk: Disk, { at, to, forFile }: { readonly at: string; readonly to: string; readonly forFile: boolean }): void {
  if (!forFile || look(at)?.isDirectory()) move(disk, at, to);
  else if (look(to) === undefined) keep(disk, at, to);
}

function codeOf(thrown: unknown): string | undefined {
  return (thrown as NodeJS.ErrnoException).code;
}

/**
 * Node's own call has a double for a time, which ends at microseconds. `touch` takes nanoseconds; one call of it for all that have the same.
 */
async function setTimes({ plan, programs }: Work, entries: readonly Pick<Parent, 'path' | 'modified'>[]): Promise<void> {
  const wanted = entries.filter(({ path, modified }) => {
    const stats = look(`${plan.workspaceRoot}/${path}`);
    return stats !== undefined && String(stats.mtimeNs) !== modified;
  });
  if (wanted.length === 0) return;
  const script = 'while IFS= read -r -d "" time && IFS= read -r -d "" file; do touch -h -c -m -d "@$time" -- "$file"; done';
  const input = wanted.map(({ path, modified }) => `${seconds(modified)}\0./${path}\0`).join('');
  const options = { cwd: plan.workspaceRoot, env: launcherEnvironment, timeoutMs: 120_000, keepBytes: 4_096, input };
  await programs.run({ program: '/bin/bash', args: ['--noprofile', '--norc', '-c', script], ...options }, new AbortController().signal);
}

function seconds(nanoseconds: string): string {
  const digits = nanoseconds.replace('-', '').padStart(10, '0');
  return `${nanoseconds.startsWith('-') ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

/** What is in the way of taking it back: steps whose places are not as they were left. */
export async function changedSince(work: Work): Promise<readonly Step[]> {
  return whileOpen(work, async (opened) => {
    const found: Step[] = [];
    for (const step of work.plan.steps) if (!opened.includes(step) && !(await isAsAfter(work, step))) found.push(step);
    return found;
  });
}

/** Opens what the plan closed, for the time of a look into it. */
export async function whileOpen<T>(work: Work, act: (opened: readonly Step[]) => T): Promise<Awaited<T>> {
  const opened = openClosed(work);
  try {
    return await act(opened);
  } finally {
    for (const { path, after } of opened.toReversed()) work.disk.chmod(`${work.plan.workspaceRoot}/${path}`, after?.mode ?? 0);
  }
}

/** Directories that the plan itself closed for us, and nobody has touched since: to look into them. Outer ones first. */
function openClosed({ plan, disk }: Work): readonly Step[] {
  const closing = plan.steps.filter(({ act, after }) => act === 'set' && after?.type === 'directory' && (after.mode & 0o700) !== 0o700);
  return closing
    .toSorted((one, other) => one.path.length - other.path.length)
    .filter(({ path, after }) => {
      const place = `${plan.workspaceRoot}/${path}`;
      if (after === undefined || !isSame(look(place), after)) return false;
      disk.chmod(place, after.mode | 0o700);
      return true;
    });
}

async function isAsAfter({ plan }: Work, step: Step): Promise<boolean> {
  const { path, after } = step;
  if (isLone(step)) return true;
  const place = `${plan.workspaceRoot}/${path}`;
  const now = look(place);
  if (after === undefined) return now === undefined && isDirectory(parentOf(place));
  if (!isSame(now, after)) return false;
  return after.tree === undefined || (await readTree(place)).digest === after.tree;
}

/** The directories whose entries the steps change, as they are. */
export function parentsNow({ plan }: Pick<Work, 'plan'>): readonly Parent[] {
  const places = plan.steps.filter(({ act }) => act !== 'set').map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf('/'))));
  return [...new Set(places)].flatMap((path) => {
    const stats = look(`${plan.workspaceRoot}/${path}`);
    return stats === undefined ? [] : [{ path, mode: modeOf(stats), modified: String(stats.mtimeNs) }];
  });
}
