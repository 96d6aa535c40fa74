/** A plan that is ready, carried out in the lock: noted, done step by step, and marked as done; or taken back. */
import type { LeftOut, RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { applySteps, type Hands, isAsPlanned, parentsNow, takeBack, type Work, whileOpen } from './carry-out.ts';
import type { Unit } from './difference.ts';
import type { Plan } from './journal.ts';

export interface JournalGround extends Hands {
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

export function conflictOf({ path, kind }: Pick<Unit, 'path' | 'kind'>): LeftOut {
  return { path, kind, reason: 'conflict', rule: 'conflict', why: conflictWhy };
}

/** Half of what git wrote is a broken repository. */
export function repositoryConflict(conflicts: readonly Pick<Unit, 'path' | 'kind'>[]): RunEffects {
  const why = 'the git repository was changed from outside while the command ran, so nothing of it was applied';
  return { ...nothing, leftOut: conflicts.map(conflictOf), nothingApplied: why, instead: 'run it again' };
}

/** A person approved all of it, as it was shown to them. */
function heldConflict(late: readonly Pick<Unit, 'path' | 'kind'>[]): RunEffects {
  const named = late.slice(0, 5).map(({ path }) => `\`${path}\``);
  const more = late.length > named.length ? ` and ${late.length - named.length} more` : '';
  const why = `${named.join(', ')}${more} changed after it was held, so nothing of it was applied`;
  return { ...nothing, leftOut: late.map(conflictOf), nothingApplied: why };
}

export function workOf({ disk, programs }: JournalGround, plan: Plan, directory: string): Work {
  return { disk, programs, plan, directory };
}

/** In the lock. The plan's content is staged, and nothing of it is done. */
export async function carryOut(ground: JournalGround, wished: Plan): Promise<RunEffects> {
  const directory = directoryOf(ground, wished.id);
  // Before anything is looked at: it takes its time, in which others may change the workspace.
  await syncContent(workOf(ground, wished, directory));
  const late = wished.steps.filter((step) => !isAsPlanned(workOf(ground, wished, directory), step));
  if (wished.held !== undefined && late.length > 0) return heldConflict(late);
  if (late.some(isInRepository)) return repositoryConflict(late);
  const wanted = without(
    wished,
    late.map(({ number }) => number),
  );
  const plan = { ...wanted, parents: parentsNow({ plan: wanted }) };
  if (plan.steps.length === 0) return { ...nothing, leftOut: late.map(conflictOf) };
  const work = workOf(ground, plan, directory);
  ground.disk.writeSafely(`${directory}/plan`, JSON.stringify(plan));
  try {
    const skipped = await applySteps(work);
    const inTheWay = plan.steps.filter(({ number }) => skipped.includes(number));
    if (inTheWay.some(isInRepository) || (plan.held !== undefined && inTheWay.length > 0)) {
      await rollBack(ground, directory, plan);
      return plan.held === undefined ? repositoryConflict(inTheWay) : heldConflict(inTheWay);
    }
    const parents = await whileOpen(work, () => syncParents(work));
    ground.disk.writeSafely(`${directory}/applied`, JSON.stringify({ skipped, parents }));
    const { lists } = without(plan, skipped);
    return { ...nothing, ...lists, runId: plan.id, leftOut: [...late, ...inTheWay].map(conflictOf) };
  } catch (thrown) {
    return await giveUp(ground, plan, thrown);
  }
}

async function giveUp(ground: JournalGround, plan: Plan, thrown: unknown): Promise<RunEffects> {
  await rollBack(ground, directoryOf(ground, plan.id), plan);
  const why = notAllowed(thrown);
  if (why === undefined || plan.held !== undefined) throw thrown;
  return { ...nothing, ...why };
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
async function syncContent({ plan, directory, disk, programs }: Work): Promise<void> {
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
  if (exitCode !== 0) throw new Fault('effects_failed', `not flushed: ${stderr.trim()}`);
}

/** @returns the directories as they are left */
function syncParents(work: Work): Plan['parents'] {
  const parents = parentsNow(work);
  for (const { path, mode } of parents) if ((mode & 0o400) !== 0) work.disk.sync(`${work.plan.workspaceRoot}/${path}`);
  work.disk.sync(`${work.directory}/kept`);
  return parents;
}

export function without(plan: Plan, numbers: readonly number[]): Plan {
  if (numbers.length === 0) return plan;
  const gone = plan.steps.filter(({ number }) => numbers.includes(number)).flatMap(({ path }) => [path, `${path}/`]);
  const less = (names: readonly string[]) => names.filter((name) => !gone.includes(name));
  const { created, changed, deleted } = plan.lists;
  return {
    ...plan,
    steps: plan.steps.filter(({ number }) => !numbers.includes(number)),
    lists: { created: less(created), changed: less(changed), deleted: less(deleted) },
  };
}

/**
 * @param held of a plan of one step: where its entry is. SECURITY: by its path a link that somebody put there meanwhile would lead the old
 * content elsewhere; the directories above keep the times that the step gave them.
 */
export async function rollBack(ground: JournalGround, directory: string, plan: Plan, held?: () => string): Promise<void> {
  const work = workOf(ground, plan, directory);
  const left = await (held === undefined ? takeBack(work, plan.parents) : takeBack({ ...work, place: held }, []));
  if (left.length === 0) ground.disk.remove(directory);
  else {
    // What was there before lies under somebody else's work: it stays in the journal.
    ground.log.warn(`run ${plan.id} was rolled back but for ${left.join(', ')}, changed by others; what was there is in ${directory}`);
    ground.disk.writeSafely(`${directory}/undone`, '');
  }
}

export function stillHeld(): Fault {
  const next = 'deny its request, or leave it: what is held goes by itself (`banksman approvals list`)';
  return new Fault('not_undoable', 'these changes are held: nothing of them was applied', { audience: 'user', next });
}

const mostNamed = 10;

export function laterChanges(paths: readonly string[]): Fault {
  const named = paths.slice(0, mostNamed).map((path) => `\`${path}\``);
  const more = paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : '';
  return new Fault('undo_in_the_way', `changed since the run: ${named.join(', ')}${more}`, {
    audience: 'user',
    next: 'undo the later runs first, or set aside what is there now: `banksman runs undo ID --set-aside`',
  });
}
