/** Runs over a copy-on-write view: opened, sorted when the command has ended, listed, undone. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import type { EffectJudge, JudgeGround, LeftOut, RunBegun, RunEffects, RunHistory, RunRecord } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { FileChange, FileJournal } from '#kernel/ports/file-journal';
import type { Log } from '#kernel/ports/log';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { changeFile } from './change-file.ts';
import { type Difference, type DifferenceRequest, readDifference } from './difference.ts';
import { type Disk, disk as realDisk } from './disk.ts';
import { applyHeld, heldMs, hold, isHeld, readHeld } from './held.ts';
import { claim, hasMark, isOwnedByAnother, locked, readPlan, runIds, sweepLocks } from './journal.ts';
import { holdTogether, judgeUnits, type Sorted } from './judge-units.ts';
import { closeView, createLeavings, type Leavings, leftIn, openView } from './lay-view.ts';
import { withLinkSets } from './link-sets.ts';
import { copyMarked, keptBytesOf, listsOf, makePlan, nameOf } from './make-plan.ts';
import type { DifferenceLimits } from './read-upper.ts';
import {
  carryOut,
  conflictOf,
  directoryOf,
  failWithoutRoom,
  isInRepository,
  nothing,
  repositoryConflict,
  withoutRoom,
} from './run-plan.ts';
import { showRun, textsOfRun } from './show-changes.ts';
import { look } from './stamp.ts';
import { isAtRest, recoverRuns, undo } from './undo.ts';
import type { Unit } from './unit.ts';
import { createHeldView, createLooker, type HeldView, type OverHost, overView, type ProgramLine, upperOf, type View } from './view.ts';

export interface EffectsLimits extends DifferenceLimits {
  /** What the journal keeps for undo, over all runs. One run that would need more is held. */
  readonly journalBytes: number;
  /** How long, in ms. */
  readonly journalMs: number;
  /** Content that may wait for a person, over all that is held. */
  readonly heldBytes: number;
}

export const defaultEffectsLimits: EffectsLimits = {
  entries: 250_000,
  bytes: 20 * 2 ** 30,
  journalBytes: 5 * 2 ** 30,
  journalMs: 14 * 24 * 3_600_000,
  heldBytes: 2 ** 30,
};

interface EffectsOptions {
  readonly workspaceRoot: string;
  /** This workspace's own directory on its own mount, outside of it: `findPlace`. */
  readonly journal: string;
  readonly programs: ProgramRunner;
  readonly judge: EffectJudge;
  readonly log: Log;
  readonly limits?: Partial<EffectsLimits>;
  /** For tests that end the process at a step. */
  readonly disk?: Disk;
}

export interface OpenRun {
  /** The line that starts a program over the view. */
  over(line: ProgramLine, host?: OverHost): ProgramLine;
  /** Once it has started: the process that it is. */
  hold(pid: number): void;
  /** What the command writes goes there. */
  readonly upper: string;
  /** `upper` is to be mounted at the workspace's place: nothing else is. */
  readonly isCopy: boolean;
  /** Once nothing of the command is left. Removes what the run needed. */
  settle(how: SettleOptions, signal: AbortSignal): Promise<RunEffects>;
  /** Instead of `settle`: nothing happened. */
  discard(): Promise<void>;
}

interface SettleOptions extends Omit<JudgeGround, 'workspaceRoot'> {
  /** For the list of runs. */
  readonly title: string;
  readonly agentId: string;
  /** Places that no command may change, below the workspace. */
  readonly own?: readonly string[];
  /** False: a read-only run, whose changes are said and dropped. */
  readonly apply: boolean;
  /** Before the first change. Until then a signal that aborts leaves nothing applied and nothing held. */
  readonly onApply?: (begun: RunBegun) => void;
}

export interface Effects extends RunHistory, FileJournal {
  /** @param hide files whose content the command must not see, below the workspace */
  open(hide: readonly string[], how?: OpenOptions): Promise<OpenRun>;
}

export interface OpenOptions {
  /** On a copy instead of over an overlay. */
  readonly copy?: boolean;
  /** Where the overlay writes: on another file system, where the journal's own does not do. */
  readonly scratch?: string | undefined;
  /** Ends the wait for a journal that is in use. */
  readonly signal?: AbortSignal;
}

interface Ground extends Required<Omit<EffectsOptions, 'limits'>> {
  readonly limits: EffectsLimits;
  /** Their directories, of all runs of this process that are under way: a window may open its App anew meanwhile. */
  readonly live: Set<string>;
  /** Waiting for each other is quicker than for the lock. */
  turn: Promise<unknown>;
  readonly leavings: Leavings;
  /** When the journal was last held against its limits, in ms since the epoch, and what was added since. */
  pruned: { at: number; bytes: number };
}

const live = new Set<string>();

export function createEffects(options: EffectsOptions): Effects {
  mkdirSync(options.journal, { recursive: true, mode: 0o700 });
  const ground: Ground = {
    disk: realDisk,
    ...options,
    workspaceRoot: realpathSync(options.workspaceRoot),
    journal: realpathSync(options.journal),
    limits: { ...defaultEffectsLimits, ...options.limits },
    live,
    turn: Promise.resolve(),
    leavings: createLeavings({ disk: realDisk, ...options }, options.log),
    pruned: { at: 0, bytes: 0 },
  };
  let isRecovered = false;
  const recoverOnce = async () => {
    if (!isRecovered) await recover(ground);
    isRecovered = true;
  };
  type Abortable = { readonly signal?: AbortSignal | undefined } | undefined;
  const first =
    <A extends (string | readonly string[] | Abortable)[], R>(work: (...args: A) => R) =>
    async (...args: A): Promise<Awaited<R>> => {
      const signal = args.map((arg) => (arg as Abortable)?.signal).find((found) => found !== undefined);
      if (!isRecovered) await inLock(ground, recoverOnce, signal).catch(failWithoutRoom);
      return await work(...args);
    };
  return {
    open: first((hide, how = {}) => openRun(ground, hide, how).catch(failWithoutRoom)),
    change: first((change) => changeOne(ground, change)),
    list: first(() => records(ground)),
    undo: first((id, how) => inLock(ground, () => undo(ground, id, how), how.signal).catch(failWithoutRoom)),
    show: first(async (id) => (await readHeld(ground, id)) ?? (await showRun(ground, id))),
    texts: first((id, path) => textsOfRun(ground, id, path)),
    limits: ground.limits,
    unfinished: first(() => runIds(ground.journal).filter((id) => !isAtRest(directoryOf(ground, id)))),
    heldIds: first(() => runIds(ground.journal).filter((id) => isHeld(directoryOf(ground, id)))),
    held: first((id) => readHeld(ground, id)),
    applyHeld: first((id, digest) => inLock(ground, () => applyHeld(ground, id, digest).finally(() => prune(ground)))),
    dropHeld: first((id) =>
      inLock(ground, async () => {
        if (isHeld(directoryOf(ground, id))) ground.disk.remove(directoryOf(ground, id));
      }),
    ),
  };
}

function inLock<T>(ground: Ground, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const done = ground.turn.then(() => {
    // Somebody may have tidied up.
    mkdirSync(ground.journal, { recursive: true, mode: 0o700 });
    signal?.throwIfAborted();
    return locked(ground.journal, ground.disk, work, signal);
  });
  ground.turn = done.catch(() => undefined);
  return done;
}

function newId(): string {
  return `${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`;
}

async function changeOne(ground: Ground, change: FileChange): Promise<string> {
  const id = newId();
  ground.live.add(directoryOf(ground, id));
  try {
    const work = async () => pruneSometimes(ground, (await changeFile(ground, change, id)).keptBytes);
    await inLock(ground, work, change.signal);
    return id;
  } finally {
    ground.live.delete(directoryOf(ground, id));
  }
}

const pruneMs = 60_000;

/** To read all records after each change would take longer than the change. @param added bytes that the journal keeps since */
function pruneSometimes(ground: Ground, added: number): void {
  const { journalBytes, journalMs } = ground.limits;
  ground.pruned.bytes += added;
  if (Date.now() - ground.pruned.at > Math.min(pruneMs, journalMs) || ground.pruned.bytes > journalBytes / 100) prune(ground);
}

async function openRun(ground: Ground, hide: readonly string[], { copy = false, scratch: far }: OpenOptions): Promise<OpenRun> {
  // What ended runs left never becomes more than one run's, and is out of the disk's way.
  await ground.leavings.gone();
  const id = newId();
  const directory = directoryOf(ground, id);
  const kind = copy ? 'copy' : 'overlay';
  const scratch = copy || far === undefined ? directory : `${far}/${id}`;
  if (far !== undefined) sweepScratch(ground, far);
  ground.live.add(directory);
  mkdirSync(directory, { mode: 0o700 });
  const held = createHeldView({ workspaceRoot: ground.workspaceRoot });
  const close = async () => {
    await held.close();
    // Applied; or rolled back in part, or not yet: what was there before is in the journal alone.
    const isKept = hasMark(directory, 'plan');
    const left = await closeView({ directory, scratch, isKept }, ground);
    ground.live.delete(directory);
    void ground.leavings.remove(left);
  };
  try {
    claim(directory);
    if (scratch !== directory) mkdirSync(scratch, { recursive: true, mode: 0o700 });
    // The file system's own clock: a change time beyond this one's is a change from outside.
    const startedAt = look(`${directory}/owner`)?.ctimeNs ?? 0n;
    const view = await openView({ kind, workspaceRoot: ground.workspaceRoot, directory, scratch }, hide, ground.programs);
    return {
      over: (line, host) => overView(view, line, host),
      hold: held.open,
      upper: upperOf(view),
      isCopy: kind === 'copy',
      settle: async (how, signal) => {
        try {
          return await settle({ ground, view, held, startedAt, id }, how, signal);
        } catch (thrown) {
          return withoutRoom(thrown);
        } finally {
          await close();
        }
      },
      discard: close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

type Named = Pick<SettleOptions, 'title' | 'agentId'>;

interface Run {
  readonly ground: Ground;
  readonly view: View;
  readonly held: HeldView;
  readonly startedAt: bigint;
  readonly id: string;
}

async function settle(run: Run, how: SettleOptions, signal: AbortSignal): Promise<RunEffects> {
  const { title, agentId, apply, own = [], onApply = () => undefined, ...places } = how;
  const { ground, view } = run;
  const looker = createLooker(ground.programs, run.held);
  const difference = await readAll({ ...ground, view, looker, startedAt: run.startedAt }, signal).catch((thrown: unknown) => {
    if (thrown instanceof Fault && (thrown.code === 'too_many_changes' || thrown.code === 'other_owner')) return thrown;
    throw thrown;
  });
  // Nothing of what lies under a mounted view may be moved.
  await run.held.close();
  if (difference instanceof Fault) return { ...nothing, nothingApplied: difference.message, instead: difference.next ?? 'do less at once' };
  const request = {
    difference,
    view,
    judge: ground.judge,
    ground: { ...places, workspaceRoot: ground.workspaceRoot },
    own,
  };
  const sorted = withoutLoss(await holdTogether(await judgeUnits(request), request, ground.programs), ground.limits);
  if (!apply) return { ...nothing, ...listsOf([...sorted.apply, ...sorted.held]), dropped: true, leftOut: sorted.leftOut };
  const { free, conflicts } = apart(sorted.apply, run.startedAt);
  const toHold = apart(sorted.held, run.startedAt);
  const late = [...conflicts, ...toHold.conflicts];
  if (late.some(isInRepository)) return repositoryConflict(late.map((unit) => conflictOf(unit)));
  if (free.length + toHold.free.length > 0) await copyMarked([...free, ...toHold.free], view, looker, signal);
  const known = sorted.leftOut.filter(({ path }) => !toHold.conflicts.some((unit) => nameOf(unit) === path));
  const split = { free, toHold: toHold.free, leftOut: [...known, ...late.map((unit) => conflictOf(unit))] };
  return holdAndApply(run, split, { title, agentId, onApply, signal });
}

type Split = Record<'free' | 'toHold', readonly Unit[]> & Pick<RunEffects, 'leftOut'>;

interface Applying extends Named, Required<Pick<SettleOptions, 'onApply'>> {
  readonly signal: AbortSignal;
}

async function holdAndApply(run: Run, { free, toHold, leftOut }: Split, how: Applying): Promise<RunEffects> {
  const { ground, view } = run;
  const { title, agentId, onApply, signal } = how;
  signal.throwIfAborted();
  const id = `${run.id}-held`;
  const held = await hold(ground, { id, title, agentId, view, units: toHold, at: Date.now() });
  const notHeld = new Set(held.leftOut.map(({ path }) => path));
  const shown = { ...held, leftOut: [...leftOut.filter(({ path }) => !notHeld.has(path)), ...held.leftOut] };
  let hasBegun = false;
  const begin = (named: Pick<RunEffects, 'runId'> = {}) => {
    signal.throwIfAborted();
    hasBegun = true;
    onApply({ ...shown, ...named });
  };
  try {
    const applied = free.length === 0 ? nothing : await planAndApply(run, { ...how, begin }, free).catch(withoutRoom);
    if (!hasBegun) begin();
    return { ...applied, ...shown, leftOut: [...shown.leftOut, ...applied.leftOut] };
  } catch (thrown) {
    // Nobody is told of it, so nobody would be asked.
    if (!hasBegun && held.heldId === id) ground.disk.remove(directoryOf(ground, id));
    throw thrown;
  }
}

async function readAll(request: DifferenceRequest, signal: AbortSignal): Promise<Difference> {
  const found = await readDifference(request, signal);
  return { ...found, units: await withLinkSets(found.units, request) };
}

/** More than the journal may keep could never be undone. */
function withoutLoss(sorted: Sorted, { journalBytes }: EffectsLimits): Sorted {
  const total = sorted.apply.reduce((sum, unit) => sum + keptBytesOf(unit), 0);
  if (total <= journalBytes) return sorted;
  const isLoss = (unit: Unit) => keptBytesOf(unit) > 0;
  const why = `${Math.ceil(total / 2 ** 20)} MB would go, more than the journal keeps for undo`;
  const lost = sorted.apply.filter(isLoss).map((unit) => ({ ...unit, held: { rule: 'loss', why } }));
  const leftOut = lost.map(({ path, kind }): LeftOut => ({ path, kind, reason: 'held', rule: 'loss', why }));
  return { apply: sorted.apply.filter((unit) => !isLoss(unit)), held: [...sorted.held, ...lost], leftOut: [...sorted.leftOut, ...leftOut] };
}

function apart(units: readonly Unit[], startedAt: bigint) {
  const isConflict = ({ before, takenAway }: Unit) => takenAway === true || (before !== undefined && before.newest > startedAt);
  return { free: units.filter((unit) => !isConflict(unit)), conflicts: units.filter(isConflict) };
}

async function planAndApply(
  { ground, view, id }: Run,
  how: Applying & { begin(named: Pick<RunEffects, 'runId'>): void },
  units: readonly Unit[],
): Promise<RunEffects> {
  const { title, agentId, begin, signal } = how;
  const { plan, gone } = await makePlan({ ...ground, title, agentId, id, view, directory: view.directory, units, at: Date.now() });
  const conflicts = gone.map((unit) => conflictOf(unit));
  if (gone.some(isInRepository)) return repositoryConflict(conflicts);
  const work = async () => {
    const effects = await carryOut(ground, plan, () => begin({ runId: id }));
    pruneSometimes(ground, plan.keptBytes);
    return { ...effects, leftOut: [...conflicts, ...effects.leftOut] };
  };
  return inLock(ground, work, signal);
}

async function recover(ground: Ground): Promise<void> {
  await recoverRuns(ground);
  await ground.leavings.remove(leftIn(ground.journal));
  sweepLocks(ground.journal, ground.disk);
  prune(ground);
}

/** What killed runs left: each has the name of its run. */
function sweepScratch(ground: Ground, scratch: string): void {
  if (look(scratch) === undefined) return;
  const isInUse = (directory: string) => ground.live.has(directory) || isOwnedByAnother(directory);
  for (const id of runIds(scratch)) if (!isInUse(`${ground.journal}/${id}`)) ground.disk.remove(`${scratch}/${id}`);
  void ground.leavings.remove(leftIn(scratch));
}

function records(ground: Ground): readonly RunRecord[] {
  return runIds(ground.journal)
    .flatMap((id): readonly RunRecord[] => {
      const directory = directoryOf(ground, id);
      const state = stateOf(directory);
      if (state === undefined) return [];
      const { lists, title, agentId, at, keptBytes, held } = readPlan(directory, state === 'held' ? 'held' : 'plan');
      return [{ id, title, agentId, at, state, keptBytes: { applied: keptBytes, held: held?.bytes ?? 0, undone: 0 }[state], ...lists }];
    })
    .sort((one, other) => other.at - one.at);
}

function stateOf(directory: string): RunRecord['state'] | undefined {
  if (hasMark(directory, 'undone')) return 'undone';
  if (hasMark(directory, 'applied')) return 'applied';
  return isHeld(directory) ? 'held' : undefined;
}

/** Oldest first, until what is kept is within its limits. */
function prune(ground: Ground): void {
  const { journalBytes, journalMs } = ground.limits;
  ground.pruned = { at: Date.now(), bytes: 0 };
  let total = 0;
  for (const { id, at, keptBytes, state } of records(ground)) {
    if (state === 'applied') total += keptBytes;
    const isTooMuch = state !== 'held' && total > journalBytes;
    if (isTooMuch || Date.now() - at > (state === 'held' ? heldMs : journalMs)) ground.disk.remove(directoryOf(ground, id));
  }
}
