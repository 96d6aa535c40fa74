/**
 * The journal: a directory for each run, on the workspace's file system, so that what is taken out and what is put in only moves. A plan is on
 * the disk before its first step; how far it came shows in what lies where, so that no step needs a note of its own.
 *
 *     <id>/owner      who works on it: process id and start time
 *     <id>/upper …    what the command wrote; gone once it is sorted
 *     <id>/held       a plan that a person decides about
 *     <id>/plan       a plan that is being carried out; from here on a crash is rolled back …
 *     <id>/applied    … until here
 *     <id>/undoing    a crash from here on is carried on with
 *     <id>/undone
 *     <id>/stage/3    content that step 3 puts into the workspace, before it did and after it was undone
 *     <id>/kept/3     what was there before step 3
 *     <id>/index/3-0  a copy of the first index of git that step 3 put there: what it named
 *     gone-<id>/      of a run that has ended: to be removed, by whoever comes first
 */
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startOf } from '#files/process-life';
import type { ChangeKind, ChangeList, HeldChanges, Verdict } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { AttributeChange } from './directory-attributes.ts';
import type { Disk } from './disk.ts';
import type { LeftIndex } from './git-parts.ts';
import { look, type Stamp } from './stamp.ts';

export interface Step {
  /** Names the step's places below `stage` and `kept`. */
  readonly number: number;
  /** `put`: create or replace. `take`: delete. `set`: mode and times. */
  readonly act: 'put' | 'take' | 'set';
  readonly path: string;
  readonly kind: ChangeKind;
  /** What must be there; undefined: nothing. */
  readonly before?: Stamp;
  /** Its change time when it was looked at, ns. */
  readonly changedAt?: string;
  /** Of an index of git that is held: a digest of what it named before. */
  readonly named?: string;
  /** What is there afterwards; undefined: nothing. */
  readonly after?: Stamp;
  /** Of `set`, a directory's: its extended attributes and access lists. */
  readonly extended?: AttributeChange;
  /** Index files of git in that. */
  readonly indexes?: readonly LeftIndex[];
  /** Of what a person decides about. */
  readonly held?: Pick<Verdict, 'rule' | 'why'>;
  /** Of a new directory with one file in it: the same as single steps, outer entries first, for undoing where others put more in it. */
  readonly inside?: readonly Step[];
}

/** A directory whose entries change: its times, and its mode where it had to be opened for that, are put back with them. */
export interface Parent {
  readonly path: string;
  readonly mode: number;
  /** ns */
  readonly modified: string;
}

export interface Plan {
  readonly id: string;
  readonly title: string;
  readonly agentId: string;
  readonly workspaceRoot: string;
  /** ms since the epoch. */
  readonly at: number;
  readonly steps: readonly Step[];
  readonly parents: readonly Parent[];
  /** Those in which the command only wrote to files: they keep their time. Left out: none. */
  readonly quiet?: readonly string[];
  readonly lists: ChangeList;
  readonly keptBytes: number;
  /** Of what is held: as a person is shown it, settled when it was held. INVARIANT: such a plan is carried out whole or not at all. */
  readonly held?: Omit<HeldChanges, 'id' | 'title'> & { readonly bytes: number };
}

export interface Applied {
  /** Steps that met somebody else's change. */
  readonly skipped: readonly number[];
  /** As they were left. */
  readonly parents: readonly Parent[];
}

export const marks = ['held', 'plan', 'applied', 'undoing', 'undone'] as const;
export type Mark = (typeof marks)[number];

export function hasMark(directory: string, mark: Mark): boolean {
  return existsSync(`${directory}/${mark}`);
}

/** @throws {Fault} `no_such_run` */
export function readPlan(directory: string, mark: 'held' | 'plan' = 'plan'): Plan {
  try {
    return JSON.parse(readFileSync(`${directory}/${mark}`, 'utf8')) as Plan;
  } catch (thrown) {
    throw new Fault('no_such_run', 'the journal has no such run', {
      audience: 'user',
      next: 'list them: `banksman runs list`',
      cause: thrown,
    });
  }
}

export function readApplied(directory: string): Applied {
  return JSON.parse(readFileSync(`${directory}/applied`, 'utf8')) as Applied;
}

/** Of an undo under way, settled before its first step. */
export interface Undoing {
  /** They get their times back. */
  readonly parents: readonly Parent[];
  /** Steps whose places somebody has changed since. */
  readonly foreign: readonly number[];
}

export function readUndoing(directory: string): Undoing {
  return JSON.parse(readFileSync(`${directory}/undoing`, 'utf8')) as Undoing;
}

export function runIds(journal: string): readonly string[] {
  return readdirSync(journal)
    .filter((name) => /^[a-z0-9]+-[a-f0-9]{8}(?:-held)?$/.test(name))
    .sort();
}

/** Says that this process works on it: another one leaves it alone as long as we live. A machine that stops takes us with it: nothing to flush. */
export function claim(directory: string): void {
  writeFileSync(`${directory}/owner.new`, self(), { mode: 0o600 });
  renameSync(`${directory}/owner.new`, `${directory}/owner`);
}

const claimedWithinMs = 2_000;

export function isOwnedByAnother(directory: string): boolean {
  const owner = readText(`${directory}/owner`);
  // Made a moment ago: it says so next.
  if (owner === undefined) return Date.now() - Number(look(directory)?.ctimeNs ?? 0n) / 1e6 < claimedWithinMs;
  return owner !== self() && isAlive(owner);
}

function self(): string {
  return `${process.pid} ${startOf(process.pid) ?? ''}`;
}

function isAlive(owner: string): boolean {
  const pid = Number(owner.split(' ')[0]);
  return Number.isSafeInteger(pid) && pid > 0 && `${pid} ${startOf(pid) ?? ''}` === owner;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

const lockMs = 120_000;

/**
 * One at a time changes the workspace, over all processes. What a dead one left locked is taken over.
 * @param signal ends the wait, not the work
 * @throws {Fault} `effects_busy`; the signal's reason
 */
export async function locked<T>(journal: string, disk: Disk, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const file = `${journal}/lock`;
  for (const until = performance.now() + lockMs; !tryLock(file); await delay(5)) {
    signal?.throwIfAborted();
    const owner = readText(file);
    if (owner !== undefined && !isAlive(owner)) takeOver(file, owner, disk);
    if (performance.now() > until) throw new Fault('effects_busy', 'another process still changes the workspace', { retryable: true });
  }
  try {
    return await work();
  } finally {
    disk.unlink(file);
  }
}

/** INVARIANT: it has its owner's name from its first moment, whatever happens in between (a full disk, a kill): an empty one is nobody's. */
function tryLock(file: string): boolean {
  if (existsSync(file)) return false;
  const named = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(named, self(), { mode: 0o600, flag: 'wx' });
    linkSync(named, file);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  } finally {
    rmSync(named, { force: true });
  }
}

/** What processes that were killed between its two names left. */
export function sweepLocks(journal: string, disk: Disk): void {
  for (const name of readdirSync(journal)) {
    const owner = /^lock\.[a-f0-9]{8}$/.test(name) ? readText(`${journal}/${name}`) : undefined;
    if (owner !== undefined && owner !== '' && !isAlive(owner)) disk.remove(`${journal}/${name}`);
  }
}

/** Of two that find it at once only one can give it another name. */
function takeOver(file: string, owner: string, disk: Disk): void {
  const aside = `${file}.${process.pid}`;
  try {
    disk.rename(file, aside);
    // Somebody may have been faster and hold the lock by right.
    if (readText(aside) !== owner) disk.link(aside, file);
    disk.unlink(aside);
  } catch {
    // The other one was faster.
  }
}
