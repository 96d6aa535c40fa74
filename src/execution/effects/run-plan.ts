/** A plan that is ready, carried out in the lock: noted, done step by step, and marked as done; or taken back. */

import { holdTree } from '#files/held-tree';
import type { LeftOut, RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { say } from '#kernel/text/message';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { applySteps, type Hands, isAsPlanned, parentsNow, type Work, whileOpen } from './carry-out.ts';
import type { Parent, Plan } from './journal.ts';
import { changedTrees, takeBack } from './take-back.ts';
import type { Unit } from './unit.ts';

export interface JournalGround extends Hands {
  /** Links resolved. */
  readonly workspaceRoot: string;
  readonly journal: string;
  readonly log: Log;
}

export const nothing: RunEffects = { created: [], changed: [], deleted: [], leftOut: [], dropped: false };

export function directoryOf({ journal }: JournalGround, id: string): string {
  if (!/^[a-z0-9-]+$/.test(id)) throw new Fault('no_such_run', 'the journal has no such run', { audience: 'user' });
  return `${journal}/${id}`;
}

export function isInRepository({ path }: { readonly path: string }): boolean {
  return path.split('/').includes('.git');
}

const conflictWhy = 'somebody else changed it while the command ran; their change stays';

const strayWhy = 'a directory on the way to it is a link or something else by now, so nothing was changed there';

/** @param tree in which it was looked for, where it was */
export function conflictOf({ path, kind }: Pick<Unit, 'path' | 'kind'>, tree?: Work['tree']): LeftOut {
  return {
    path: path === '' ? '.' : path,
    kind,
    reason: 'conflict',
    rule: 'conflict',
    why: tree?.strayed(path) === true ? strayWhy : conflictWhy,
  };
}

/** Half of what git wrote is a broken repository. */
export function repositoryConflict(conflicts: readonly LeftOut[]): RunEffects {
  const why = 'the git repository was changed from outside while the command ran, so nothing of it was applied';
  return { ...nothing, leftOut: conflicts, nothingApplied: why, instead: 'run it again' };
}

/** A person approved all of it, as it was shown to them. */
function heldConflict(late: readonly LeftOut[]): RunEffects {
  const named = late.slice(0, 5).map(({ path }) => `\`${path}\``);
  const more = late.length > named.length ? ` and ${late.length - named.length} more` : '';
  const why = `${named.join(', ')}${more} changed after it was held, so nothing of it was applied`;
  return { ...nothing, leftOut: late, nothingApplied: why };
}

/** With the workspace and the run's directory held open. @throws {Fault} `PATH_CHANGED` where a link leads to one of them by now */
export async function inHand<T>(ground: JournalGround, plan: Plan, act: (work: Work) => Promise<T>): Promise<T> {
  const { disk, programs, workspaceRoot } = ground;
  const tree = holdTree(workspaceRoot);
  try {
    const run = holdTree(directoryOf(ground, plan.id));
    try {
      return await act({ disk, programs, plan, tree, own: run.place('') ?? '' });
    } finally {
      run.close();
    }
  } catch (thrown) {
    throw asKnown(thrown, tree);
  } finally {
    tree.close();
  }
}

/**
 * In the lock. The plan's content is staged, and nothing of it is done.
 * @param begin right before the first step; where it throws nothing is done
 */
export async function carryOut(ground: JournalGround, wished: Plan, begin?: () => void): Promise<RunEffects> {
  // Before anything is looked at: it takes its time, in which others may change the workspace.
  await syncContent(ground, wished);
  return inHand(ground, wished, async (work) => {
    const late = wished.steps.filter((step) => !isAsPlanned(work, step));
    const conflicts = late.map((step) => conflictOf(step, work.tree));
    if (wished.held !== undefined && late.length > 0) return heldConflict(conflicts);
    if (late.some(isInRepository)) return repositoryConflict(conflicts);
    const wanted = without(
      wished,
      late.map(({ number }) => number),
    );
    if (wanted.steps.length === 0) return { ...nothing, leftOut: conflicts };
    const plan = { ...wanted, parents: parentsNow({ ...work, plan: wanted }) };
    begin?.();
    const done = await applyPlan(ground, { ...work, plan });
    return { ...done, leftOut: [...conflicts, ...done.leftOut] };
  });
}

async function applyPlan(ground: JournalGround, work: Work): Promise<RunEffects> {
  const { plan } = work;
  const directory = directoryOf(ground, plan.id);
  ground.disk.writeSafely(`${directory}/plan`, JSON.stringify(plan));
  try {
    const skipped = await applySteps(work);
    const inTheWay = plan.steps.filter(({ number }) => skipped.includes(number));
    const conflicts = inTheWay.map((step) => conflictOf(step, work.tree));
    if (inTheWay.some(isInRepository) || (plan.held !== undefined && inTheWay.length > 0)) {
      await rollBack(ground, work);
      return plan.held === undefined ? repositoryConflict(conflicts) : heldConflict(conflicts);
    }
    const parents = await whileOpen(work, () => syncParents(work));
    ground.disk.writeSafely(`${directory}/applied`, JSON.stringify({ skipped, parents }));
    const { lists } = without(plan, skipped);
    return { ...nothing, ...lists, runId: plan.id, leftOut: conflicts };
  } catch (thrown) {
    return await giveUp(ground, work, thrown);
  }
}

async function giveUp(ground: JournalGround, work: Work, thrown: unknown): Promise<RunEffects> {
  await rollBack(ground, work);
  const why = notAllowed(asKnown(thrown, work.tree));
  if (why === undefined || work.plan.held !== undefined) throw thrown;
  return { ...nothing, ...why };
}

/** People know a place by its path, not by the descriptor that held its directory. */
function asKnown(thrown: unknown, { nameOf }: Pick<Work['tree'], 'nameOf'>): unknown {
  if (!(thrown instanceof Error) || thrown instanceof Fault) return thrown;
  const { dest, path } = thrown as NodeJS.ErrnoException & { readonly dest?: string };
  return Object.assign(thrown, {
    ...(path === undefined ? {} : { path: nameOf(path) }),
    ...(dest === undefined ? {} : { dest: nameOf(dest) }),
  });
}

/** What was to be kept found no room: nothing of it is in the workspace yet. */
export function withoutRoom(thrown: unknown): RunEffects {
  const why = isFull(thrown) ? notAllowed(thrown) : undefined;
  if (why === undefined) throw thrown;
  return { ...nothing, ...why };
}

/** @throws {Fault} `disk_full`; whatever else it was */
export function failWithoutRoom(thrown: unknown): never {
  if (!isFull(thrown)) throw thrown;
  const next = 'ask the user to make room, then try again';
  throw new Fault('disk_full', 'the disk is full, so nothing was begun', { audience: 'user', next, cause: thrown });
}

function isFull(thrown: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(String((thrown as NodeJS.ErrnoException).code));
}

/** What the view let a command do, for it is this user's own, and the workspace does not. */
function notAllowed(thrown: unknown): Required<Pick<RunEffects, 'nothingApplied' | 'instead'>> | undefined {
  const { code, dest, path } = thrown as NodeJS.ErrnoException & { readonly dest?: string };
  const place = dest ?? path ?? 'a file';
  const because = (why: string, instead: string) => ({ nothingApplied: `nothing of it was applied: ${why}`, instead });
  const change = 'do it without that place, or ask the user to let this user write there';
  if (code === 'EACCES' || code === 'EPERM') return because(`this user may not write \`${place}\``, change);
  if (code === 'EROFS') return because('the workspace is on a file system that is read-only', 'ask the user: no command can change this');
  return isFull(thrown) ? because('the disk is full', 'ask the user to make room, then run it again') : undefined;
}

const fewFiles = 8;

/**
 * What is put in is on the disk before it takes its name: power that fails must leave no empty file, and a command that flushed what it wrote (git, a
 * database) relies on that, though over a view its own flush may be none. One flush of the file system costs less than one for each of many files.
 * @throws where it fails: nothing is applied then
 */
async function syncContent(ground: JournalGround, plan: Plan): Promise<void> {
  const { disk, programs } = ground;
  const directory = directoryOf(ground, plan.id);
  const put = plan.steps.filter(({ act, after }) => act === 'put' && after?.type !== 'link');
  const isFew = put.length <= fewFiles && put.every(({ after }) => after?.type === 'file' && (after.mode & 0o400) !== 0);
  if (isFew) {
    for (const { number } of put) disk.sync(`${directory}/stage/${number}`);
    return;
  }
  // `syncfs(2)`, which Node has not.
  const line = {
    program: 'sync',
    args: ['-f', `${directory}/stage`],
    cwd: '/',
    env: launcherEnvironment,
    timeoutMs: 600_000,
    keepBytes: 1_024,
  };
  const { exitCode, stderr } = await programs.run(line, new AbortController().signal);
  if (exitCode !== 0) throw new Fault('effects_failed', say`not flushed: ${stderr.trim()}`);
}

/** @returns the directories as they are left */
function syncParents(work: Work): Plan['parents'] {
  const parents = parentsNow(work);
  for (const { path, mode } of parents) {
    const place = work.tree.place(path);
    if (place !== undefined && (mode & 0o400) !== 0) work.disk.sync(place);
  }
  work.disk.sync(`${work.own}/kept`);
  return parents;
}

export function without(plan: Plan, numbers: readonly number[]): Plan {
  if (numbers.length === 0) return plan;
  const gone = plan.steps
    .filter(({ number }) => numbers.includes(number))
    .flatMap(({ path }) => (path === '' ? ['.'] : [path, `${path}/`]));
  const less = (names: readonly string[]) => names.filter((name) => !gone.includes(name));
  const { created, changed, deleted } = plan.lists;
  return {
    ...plan,
    steps: plan.steps.filter(({ number }) => !numbers.includes(number)),
    lists: { created: less(created), changed: less(changed), deleted: less(deleted) },
  };
}

/** @param parents directories that get their mode and times back */
export async function rollBack(ground: JournalGround, work: Work, parents: readonly Parent[] = work.plan.parents): Promise<void> {
  const { id } = work.plan;
  const directory = directoryOf(ground, id);
  const left = await takeBack({ ...work, foreign: await changedTrees(work) }, parents);
  if (left.length === 0) ground.disk.remove(directory);
  else {
    // What was there before lies under somebody else's work, or its directory is elsewhere: it stays in the journal.
    ground.log.warn(`run ${id} was rolled back but for ${left.join(', ')}, changed by others; what was there is in ${directory}`);
    ground.disk.writeSafely(`${directory}/undone`, '');
  }
}
