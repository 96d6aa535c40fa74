/** Runs over a copy-on-write view: opened, sorted when the command has ended, listed, undone. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import type { ChangeList, EffectJudge, LeftOut, RunEffects, RunHistory, RunRecord } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { changedSince, takeBack, untouchedParents } from './carry-out.ts';
import { type DifferenceLimits, readDifference, type Unit } from './difference.ts';
import { type Disk, disk as realDisk } from './disk.ts';
import { claim, hasMark, isOwnedByAnother, locked, type Plan, readApplied, readPlan, readUndoing, runIds } from './journal.ts';
import { judgeUnits, type Sorted } from './judge-units.ts';
import { copyMarked, keptBytesOf, listsOf, makePlan } from './make-plan.ts';
import { carryOut, conflictOf, directoryOf, isInRepository, nothing, repositoryConflict, rollBack, without, workOf } from './run-plan.ts';
import { look } from './stamp.ts';
import { createLooker, openView, overView, type ProgramLine, type View } from './view.ts';

export interface EffectsLimits extends DifferenceLimits {
  /** What the journal keeps for undo, over all runs. One run that would need more is held. */
  readonly journalBytes: number;
  /** How long, in ms. */
  readonly journalMs: number;
}

export const defaultEffectsLimits: EffectsLimits = {
  entries: 250_000,
  bytes: 20 * 2 ** 30,
  journalBytes: 5 * 2 ** 30,
  journalMs: 14 * 24 * 3_600_000,
};

export interface EffectsOptions {
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
  readonly id: string;
  /** The line that starts a program over the view. */
  over(line: ProgramLine): ProgramLine;
  /** Once nothing of the command is left. Removes what the run needed. */
  settle(how: SettleOptions, signal: AbortSignal): Promise<RunEffects>;
  /** Instead of `settle`: nothing happened. */
  discard(): Promise<void>;
}

export interface SettleOptions {
  /** For the list of runs. */
  readonly title: string;
  readonly agentId: string;
  /** Places that no command may change, below the workspace. */
  readonly own?: readonly string[];
  /** `JudgeGround.obeyed` */
  readonly obeyed?: readonly string[];
  /** False: a read-only run, whose changes are said and dropped. */
  readonly apply: boolean;
}

export interface Effects extends RunHistory {
  /** @param hide files whose content the command must not see, below the workspace */
  open(hide: readonly string[]): Promise<OpenRun>;
  /** Applies what was held: a person said so. @throws {Fault} `no_such_run` */
  release(heldId: string): Promise<RunEffects>;
  /** @throws {Fault} `no_such_run` */
  drop(heldId: string): Promise<void>;
}

interface Ground extends Required<Omit<EffectsOptions, 'limits'>> {
  readonly limits: EffectsLimits;
  /** Runs of this process that are under way. */
  readonly live: Set<string>;
}

export function createEffects(options: EffectsOptions): Effects {
  mkdirSync(options.journal, { recursive: true, mode: 0o700 });
  const ground: Ground = {
    disk: realDisk,
    ...options,
    workspaceRoot: realpathSync(options.workspaceRoot),
    limits: { ...defaultEffectsLimits, ...options.limits },
    live: new Set(),
  };
  let recovered: Promise<void> | undefined;
  const ready = async () => {
    recovered ??= inLock(ground, () => recover(ground));
    await recovered.catch((thrown: unknown) => {
      recovered = undefined;
      throw thrown;
    });
  };
  return {
    open: async (hide) => {
      await ready();
      return openRun(ground, hide);
    },
    list: async () => {
      await ready();
      return records(ground);
    },
    undo: async (id, how) => {
      await ready();
      return inLock(ground, () => undo(ground, id, how));
    },
    release: async (id) => {
      await ready();
      return inLock(ground, () => release(ground, id));
    },
    drop: async (id) => {
      await ready();
      readPlan(directoryOf(ground, id), 'held');
      ground.disk.remove(directoryOf(ground, id));
    },
  };
}

function inLock<T>({ journal, disk }: Ground, work: () => Promise<T>): Promise<T> {
  return locked(journal, disk, work);
}

function openRun(ground: Ground, hide: readonly string[]): OpenRun {
  const id = `${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`;
  const view: View = { workspaceRoot: ground.workspaceRoot, directory: directoryOf(ground, id) };
  ground.live.add(id);
  mkdirSync(view.directory, { mode: 0o700 });
  claim(view.directory, ground.disk);
  openView(view, hide);
  // The file system's own clock: a change time beyond this one's is a change from outside.
  writeFileSync(`${view.directory}/started`, '');
  const startedAt = look(`${view.directory}/started`)?.ctimeNs ?? 0n;
  const close = async () => {
    const isKept = hasMark(view.directory, 'applied');
    for (const part of ['upper', 'work', 'copied', 'hidden']) await removeApart(ground, `${view.directory}/${part}`);
    if (!isKept) ground.disk.remove(view.directory);
    ground.live.delete(id);
  };
  return {
    id,
    over: (line) => overView(view, line),
    settle: async (how, signal) => {
      try {
        return await settle({ ground, view, startedAt, id }, how, signal);
      } finally {
        await close();
      }
    },
    discard: close,
  };
}

/** A hundred thousand files take their time, and others wait for this process. */
async function removeApart({ programs, disk }: Ground, directory: string): Promise<void> {
  const options = { cwd: '/', env: launcherEnvironment, timeoutMs: 600_000, keepBytes: 1_024 };
  if (look(directory) !== undefined)
    await programs.run({ program: '/bin/rm', args: ['-rf', '--', directory], ...options }, new AbortController().signal);
  // What had closed itself is left.
  disk.remove(directory);
}

type Named = Pick<SettleOptions, 'title' | 'agentId'>;

interface Run {
  readonly ground: Ground;
  readonly view: View;
  readonly startedAt: bigint;
  readonly id: string;
}

async function settle(run: Run, { title, agentId, apply, own = [], obeyed = [] }: SettleOptions, signal: AbortSignal): Promise<RunEffects> {
  const { ground, view } = run;
  const looker = createLooker(ground.programs);
  const difference = await readDifference({ view, looker, limits: ground.limits }, signal).catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code === 'too_many_changes') return thrown;
    throw thrown;
  });
  if (difference instanceof Fault) return { ...nothing, nothingApplied: difference.message };
  const sorted = withoutLoss(
    judgeUnits({ difference, view, judge: ground.judge, ground: { workspaceRoot: ground.workspaceRoot, obeyed }, own }),
    ground.limits,
  );
  if (!apply) return { ...nothing, ...listsOf([...sorted.apply, ...sorted.held]), dropped: true, leftOut: sorted.leftOut };
  const { free, conflicts } = apart(sorted.apply, run.startedAt);
  if (conflicts.some(isInRepository)) return repositoryConflict(conflicts);
  const units = { free, held: sorted.held };
  if (free.length + sorted.held.length > 0) await copyMarked([...free, ...sorted.held], view, looker, signal);
  signal.throwIfAborted();
  const heldId = await planHeld(run, { title, agentId }, sorted.held);
  const leftOut = [...sorted.leftOut, ...conflicts.map(conflictOf)];
  const applied = units.free.length === 0 ? nothing : await planAndApply(run, { title, agentId }, units.free);
  return { ...applied, leftOut: [...leftOut, ...applied.leftOut], ...(heldId === undefined ? {} : { heldId }) };
}

/** More than the journal may keep could never be undone. */
function withoutLoss(sorted: Sorted, { journalBytes }: EffectsLimits): Sorted {
  const total = sorted.apply.reduce((sum, unit) => sum + keptBytesOf(unit), 0);
  if (total <= journalBytes) return sorted;
  const isLoss = (unit: Unit) => keptBytesOf(unit) > 0;
  const why = `${Math.ceil(total / 2 ** 20)} MB would go, more than the journal keeps for undo`;
  const lost = sorted.apply.filter(isLoss);
  const leftOut = lost.map(({ path, kind }): LeftOut => ({ path, kind, reason: 'held', rule: 'loss', why }));
  return { apply: sorted.apply.filter((unit) => !isLoss(unit)), held: [...sorted.held, ...lost], leftOut: [...sorted.leftOut, ...leftOut] };
}

function apart(units: readonly Unit[], startedAt: bigint) {
  const isConflict = ({ before }: Unit) => before !== undefined && before.newest > startedAt;
  return { free: units.filter((unit) => !isConflict(unit)), conflicts: units.filter(isConflict) };
}

async function planHeld({ ground, view, id }: Run, named: Named, held: readonly Unit[]): Promise<string | undefined> {
  if (held.length === 0) return undefined;
  const heldId = `${id}-held`;
  const directory = directoryOf(ground, heldId);
  mkdirSync(directory, { mode: 0o700 });
  claim(directory, ground.disk);
  const plan = await makePlan({ id: heldId, ...named, view, directory, units: held, at: Date.now() });
  ground.disk.writeSafely(`${directory}/held`, JSON.stringify(plan));
  return heldId;
}

async function planAndApply({ ground, view, id }: Run, named: Named, units: readonly Unit[]): Promise<RunEffects> {
  const plan = await makePlan({ id, ...named, view, directory: view.directory, units, at: Date.now() });
  return inLock(ground, async () => {
    const effects = await carryOut(ground, plan);
    prune(ground);
    return effects;
  });
}

/** What a process that ended left behind: a half-done plan is taken back, a half-done undo is finished. */
async function recover(ground: Ground): Promise<void> {
  for (const id of runIds(ground.journal)) {
    const directory = directoryOf(ground, id);
    const isAtRest =
      hasMark(directory, 'undone') || hasMark(directory, 'held') || (hasMark(directory, 'applied') && !hasMark(directory, 'undoing'));
    if (isAtRest || ground.live.has(id) || isOwnedByAnother(directory)) continue;
    if (hasMark(directory, 'undoing')) await finishUndo(ground, readPlan(directory));
    else if (hasMark(directory, 'plan')) await rollBack(ground, directory, readPlan(directory));
    else ground.disk.remove(directory);
    ground.log.info(`run ${id} was interrupted; the workspace is as before it`);
  }
  prune(ground);
}

async function finishUndo(ground: Ground, plan: Plan): Promise<void> {
  const directory = directoryOf(ground, plan.id);
  const { parents, foreign } = readUndoing(directory);
  await takeBack({ ...workOf(ground, plan, directory), force: true, foreign }, parents);
  ground.disk.writeSafely(`${directory}/undone`, '');
  for (const part of ['stage', 'kept']) ground.disk.remove(`${directory}/${part}`);
}

async function undo(ground: Ground, id: string, { force }: { readonly force: boolean }): Promise<ChangeList> {
  const directory = directoryOf(ground, id);
  const plan = readPlan(directory);
  if (hasMark(directory, 'undone')) throw new Fault('not_undoable', 'this run is undone already', { audience: 'user' });
  if (!hasMark(directory, 'applied')) throw new Fault('not_undoable', 'this run was not applied', { audience: 'user' });
  const { skipped } = readApplied(directory);
  const done = without(plan, skipped);
  const inTheWay = await changedSince(workOf(ground, done, directory));
  if (inTheWay.length > 0 && !force) throw laterChanges(inTheWay.map(({ path }) => path));
  claim(directory, ground.disk);
  ground.disk.writeSafely(`${directory}/plan`, JSON.stringify(done));
  const parents = untouchedParents(workOf(ground, done, directory), readApplied(directory).parents);
  ground.disk.writeSafely(`${directory}/undoing`, JSON.stringify({ parents, foreign: inTheWay.map(({ number }) => number) }));
  await finishUndo(ground, done);
  return done.lists;
}

const mostNamed = 10;

function laterChanges(paths: readonly string[]): Fault {
  const named = paths.slice(0, mostNamed).map((path) => `\`${path}\``);
  const more = paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : '';
  return new Fault('undo_in_the_way', `changed since the run: ${named.join(', ')}${more}`, {
    audience: 'user',
    next: 'undo the later runs first, or set aside what is there now: `banksman runs undo ID --set-aside`',
  });
}

async function release(ground: Ground, id: string): Promise<RunEffects> {
  const directory = directoryOf(ground, id);
  const plan = readPlan(directory, 'held');
  claim(directory, ground.disk);
  ground.live.add(id);
  try {
    const effects = await carryOut(ground, plan);
    if (effects.runId !== undefined) ground.disk.unlink(`${directory}/held`);
    return effects;
  } finally {
    ground.live.delete(id);
  }
}

function records(ground: Ground): readonly RunRecord[] {
  return runIds(ground.journal)
    .flatMap((id): readonly RunRecord[] => {
      const directory = directoryOf(ground, id);
      const state = stateOf(directory);
      if (state === undefined) return [];
      const { lists, title, agentId, at, keptBytes } = readPlan(directory, state === 'held' ? 'held' : 'plan');
      return [{ id, title, agentId, at, state, keptBytes: state === 'applied' ? keptBytes : 0, ...lists }];
    })
    .sort((one, other) => other.at - one.at);
}

function stateOf(directory: string): RunRecord['state'] | undefined {
  if (hasMark(directory, 'undone')) return 'undone';
  if (hasMark(directory, 'applied')) return 'applied';
  return hasMark(directory, 'held') ? 'held' : undefined;
}

/** Oldest first, until what is kept is within its limits. */
function prune(ground: Ground): void {
  const { journalBytes, journalMs } = ground.limits;
  let total = 0;
  for (const { id, at, keptBytes } of records(ground)) {
    total += keptBytes;
    if (total > journalBytes || Date.now() - at > journalMs) ground.disk.remove(directoryOf(ground, id));
  }
}
