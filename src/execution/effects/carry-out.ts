/**
 * Carries a plan out. Every step can be done again and taken back (`take-back.ts`) from wherever it was cut off: what lies at the step's two
 * places in the journal and in the workspace tells how far it came. SECURITY: entries of the workspace are named through directories that are held
 * open (`held-tree.ts`); where that leads to none, the step meets a change of somebody else.
 */
import type { BigIntStats } from 'node:fs';
import type { HeldTree } from '#files/held-tree';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { giveAttributes } from './directory-attributes.ts';
import type { Disk } from './disk.ts';
import type { Parent, Plan, Step } from './journal.ts';
import { isSame, look, modeOf, type Stamp } from './stamp.ts';

export interface Hands {
  readonly disk: Disk;
  readonly programs: ProgramRunner;
}

/** A plan and the places it works on. */
export interface Work extends Hands {
  readonly plan: Plan;
  /** The workspace. */
  readonly tree: Omit<HeldTree, 'close'>;
  /** The run's directory, held open. */
  readonly own: string;
  /** Set aside what somebody else put in the way; else it stays, and so does what it hides. */
  readonly force?: boolean;
  /** Numbers of the steps whose places somebody else has changed since, in ways that the entry itself may not show. */
  readonly foreign?: readonly number[];
}

export interface Places {
  readonly at: string;
  readonly stage: string;
  readonly kept: string;
  readonly overwritten: string;
}

/** undefined: there is no such place in the workspace by now. */
export function placesOf({ tree, own }: Work, { path, number }: Step): Places | undefined {
  const at = tree.place(path);
  if (at === undefined) return undefined;
  return { at, stage: `${own}/stage/${number}`, kept: `${own}/kept/${number}`, overwritten: `${own}/overwritten/${number}` };
}

export function lookAt({ tree }: Pick<Work, 'tree'>, path: string): BigIntStats | undefined {
  const place = tree.place(path);
  return place === undefined ? undefined : look(place);
}

/** Whether the workspace is, at this place, as it was when the plan was made. */
export function isAsPlanned({ tree }: Work, { path, before, changedAt }: Step): boolean {
  const place = tree.place(path);
  if (place === undefined) return false;
  const now = look(place);
  return before === undefined ? now === undefined : isSame(now, before) && String(now?.ctimeNs) === changedAt;
}

/** Without the change time, which our own steps move: a second name changes it. */
function isUnchanged({ at }: Places, { before }: Step): boolean {
  const now = look(at);
  return before === undefined ? now === undefined : isSame(now, before);
}

/** Another step did it, on another name of the same file. */
function isSetAlready({ at }: Places, { act, before, after }: Step): boolean {
  if (act !== 'set' || before === undefined || after?.type !== 'file') return false;
  return isSame(look(at), { ...before, mode: after.mode });
}

function parentOf(place: string): string {
  return place.slice(0, place.lastIndexOf('/'));
}

/** @returns the numbers of the steps that met somebody else's change and were left out */
export async function applySteps(work: Work): Promise<readonly number[]> {
  const skipped: number[] = [];
  const { parents, quiet = [] } = work.plan;
  const times = parents.filter(({ path }) => quiet.includes(path));
  for (const step of work.plan.steps) {
    if (!applyStep(work, step)) skipped.push(step.number);
    else if (step.act === 'set' && step.after !== undefined && step.after.modified !== step.before?.modified)
      times.push({ ...step.after, path: step.path });
  }
  const done = work.plan.steps.filter(({ number }) => !skipped.includes(number));
  await whileOpen(work, async () => {
    await giveAttributes(
      work,
      done.flatMap(({ path, extended, after }) =>
        extended === undefined || after === undefined ? [] : [{ ...extended, path, mode: after.mode }],
      ),
    );
    await setTimes(work, times);
  });
  return skipped;
}

/** @returns whether it was done: somebody may be faster by less than a moment */
function applyStep(work: Work, step: Step): boolean {
  const places = placesOf(work, step);
  if (places === undefined || !(isUnchanged(places, step) || isSetAlready(places, step))) return false;
  try {
    return inWritable(work.disk, { step, places }, () => actOn(work.disk, step, places));
  } catch (thrown) {
    // Somebody took it away, or put something there, since we looked.
    if (!metSomebody.has(codeOf(thrown) ?? '')) throw thrown;
    giveBack(work.disk, places);
    return false;
  } finally {
    forget(work, step);
  }
}

/** `rename(2)`, `link(2)`, `open(2)` */
const metSomebody = new Set(['ENOENT', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY', 'EISDIR', 'ELOOP']);

/** What was held below a directory that moved is elsewhere now. */
export function forget({ tree }: Work, { act, path, before, after }: Step): void {
  if (act !== 'set' && (before?.type === 'directory' || after?.type === 'directory')) tree.moved(path);
}

function actOn(disk: Disk, step: Step, places: Places): boolean {
  const { act, before, after } = step;
  if (act === 'take') move(disk, places.at, places.kept);
  if (act === 'set' && after !== undefined && after.type !== 'link' && after.mode !== before?.mode) disk.chmod(places.at, after.mode);
  if (act !== 'put') return true;
  return before === undefined ? putNew(disk, step, places) : putOver(disk, { ...step, before }, places);
}

function putOver(disk: Disk, { before, after }: Step & { readonly before: Stamp }, places: Places): boolean {
  const { at, stage, kept } = places;
  if (before.type === 'directory' || after?.type === 'directory') {
    move(disk, at, kept);
    move(disk, stage, at);
    return true;
  }
  keep(disk, at, kept);
  if (!isSame(look(kept), before)) {
    if (look(at) === undefined) disk.rename(kept, at);
    else disk.unlink(kept);
    return false;
  }
  // INVARIANT: over the old one in one go: at no moment is the place empty.
  disk.rename(stage, at);
  if (isSame(look(kept), before)) return true;
  // Who had it open wrote to it meanwhile.
  disk.rename(kept, at);
  return false;
}

/** Never over what somebody put there a moment ago. */
function putNew(disk: Disk, step: Step, { at, stage }: Pick<Places, 'at' | 'stage'>): boolean {
  try {
    if (step.after?.type === 'directory') {
      move(disk, stage, at);
      return true;
    }
    disk.link(stage, at);
  } catch (thrown) {
    if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(codeOf(thrown) ?? '')) return false;
    if (step.after?.type === 'directory') throw thrown;
    // A file system without second names.
    disk.rename(stage, at);
    return true;
  }
  disk.unlink(stage);
  return true;
}

/** A second name for what is about to be replaced; where the system refuses one (another owner's file, FAT), the only name. */
export function keep(disk: Disk, at: string, kept: string): void {
  try {
    disk.link(at, kept);
  } catch {
    disk.rename(at, kept);
  }
}

/** Nothing could take its place. */
function giveBack(disk: Disk, { at, kept }: Places): void {
  const [now, old] = [look(at), look(kept)];
  if (old === undefined) return;
  if (now === undefined) move(disk, kept, at);
  // Under somebody else's work what was there stays in the journal.
  else if (now.ino === old.ino) disk.unlink(kept);
}

/** A directory that its owner may not write cannot be moved to another one. */
export function move(disk: Disk, from: string, to: string): void {
  const stats = look(from);
  const mode = stats === undefined ? 0 : modeOf(stats);
  const closed = stats?.isDirectory() === true && (mode & 0o200) === 0;
  if (closed) disk.chmod(from, mode | 0o200);
  try {
    disk.rename(from, to);
  } catch (thrown) {
    if (closed) disk.chmod(from, mode);
    throw thrown;
  }
  if (closed) disk.chmod(to, mode);
}

/** The command may have opened a directory for a moment, and closed it again. */
export function inWritable(disk: Disk, { step, places }: { readonly step: Step; readonly places: Places }, act: () => boolean): boolean {
  if (step.act === 'set') return act();
  const parent = parentOf(places.at);
  const stats = look(parent);
  const mode = stats === undefined ? 0 : modeOf(stats);
  if ((mode & 0o300) === 0o300) return act();
  disk.chmod(parent, mode | 0o300);
  try {
    return act();
  } finally {
    disk.chmod(parent, mode);
  }
}

function codeOf(thrown: unknown): string | undefined {
  return (thrown as NodeJS.ErrnoException).code;
}

/** Their directories are open at once. */
const timesAtOnce = 100;

/**
 * Node's own call has a double for a time, which ends at microseconds. `touch` takes nanoseconds. SECURITY: it gets each directory as an open
 * descriptor, and leaves a link in the entry's place alone.
 */
export async function setTimes(work: Work, entries: readonly Pick<Parent, 'path' | 'modified'>[]): Promise<void> {
  const wanted = entries.filter(({ path, modified }) => {
    const stats = lookAt(work, path);
    return stats !== undefined && String(stats.mtimeNs) !== modified;
  });
  for (let start = 0; start < wanted.length; start += timesAtOnce) await touch(work, wanted.slice(start, start + timesAtOnce));
}

async function touch({ tree, programs }: Work, entries: readonly Pick<Parent, 'path' | 'modified'>[]): Promise<void> {
  const pins = entries.map(({ path }) => tree.hold(path.slice(0, Math.max(0, path.lastIndexOf('/')))));
  try {
    const held = pins.filter((pin) => pin !== undefined);
    const lines = entries.flatMap(({ path, modified }, index) => {
      const pin = pins[index];
      if (pin === undefined) return [];
      const file = `/proc/self/fd/${held.indexOf(pin) + firstInherited}/./${path.slice(path.lastIndexOf('/') + 1)}`;
      return [...touchOptions, `@${seconds(modified)}`, '--', file];
    });
    const descriptors = held.map(({ at }) => Number(at.slice(at.lastIndexOf('/') + 1)));
    const args = ['-0', '-r', '-n', String(touchOptions.length + 3), '-P', '2', 'touch'];
    const input = lines.map((line) => `${line}\0`).join('');
    const options = { cwd: '/', env: launcherEnvironment, timeoutMs: 120_000, keepBytes: 4_096, input, descriptors };
    await programs.run({ program: 'xargs', args, ...options }, new AbortController().signal);
  } finally {
    for (const pin of pins) pin?.close();
  }
}

const firstInherited = 3;
const touchOptions = ['-h', '-c', '-m', '-d'];

function seconds(nanoseconds: string): string {
  const digits = nanoseconds.replace('-', '').padStart(10, '0');
  return `${nanoseconds.startsWith('-') ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

/** Opens what the plan closed, for the time of a look into it. */
export async function whileOpen<T>(work: Work, act: (opened: readonly Step[]) => T): Promise<Awaited<T>> {
  const opened = openClosed(work);
  try {
    return await act(opened);
  } finally {
    for (const { path, after } of opened.toReversed()) {
      const place = work.tree.place(path);
      if (place !== undefined) work.disk.chmod(place, after?.mode ?? 0);
    }
  }
}

/** Directories that the plan itself closed for us, and nobody has touched since: to look into them. Outer ones first. */
function openClosed({ plan, disk, tree }: Work): readonly Step[] {
  const closing = plan.steps.filter(({ act, after }) => act === 'set' && after?.type === 'directory' && (after.mode & 0o700) !== 0o700);
  return closing
    .toSorted((one, other) => one.path.length - other.path.length)
    .filter(({ path, after }) => {
      const place = tree.place(path);
      if (place === undefined || after === undefined || !isSame(look(place), after)) return false;
      disk.chmod(place, after.mode | 0o700);
      return true;
    });
}

/** The directories whose entries the steps change, as they are. */
export function parentsNow(work: Pick<Work, 'plan' | 'tree'>): readonly Parent[] {
  const places = work.plan.steps.filter(({ act }) => act !== 'set').map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf('/'))));
  return [...new Set(places)].flatMap((path) => {
    const stats = lookAt(work, path);
    return stats?.isDirectory() !== true ? [] : [{ path, mode: modeOf(stats), modified: String(stats.mtimeNs) }];
  });
}
