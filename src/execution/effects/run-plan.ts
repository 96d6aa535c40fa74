/** A plan that is ready, carried out in the lock: noted, done step by step, and marked as done; or taken back. */
import type { LeftOut, RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { applySteps, type Hands, isAsPlanned, parentsNow, takeBack, type Work } from './carry-out.ts';
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
  const why = 'the git repository was changed from outside while the command ran, so nothing of it was applied: run it again';
  return { ...nothing, leftOut: conflicts.map(conflictOf), nothingApplied: why };
}

export function workOf({ disk, programs }: JournalGround, plan: Plan, directory: string): Work {
  return { disk, programs, plan, directory };
}

/** In the lock. The plan's content is staged, and nothing of it is done. */
export async function carryOut(ground: JournalGround, wished: Plan): Promise<RunEffects> {
  const directory = directoryOf(ground, wished.id);
  const late = wished.steps.filter((step) => !isAsPlanned(workOf(ground, wished, directory), step));
  if (late.some(isInRepository)) return repositoryConflict(late);
  const wanted = without(
    wished,
    late.map(({ number }) => number),
  );
  const plan = { ...wanted, parents: parentsNow({ plan: wanted }) };
  if (plan.steps.length === 0) return { ...nothing, leftOut: late.map(conflictOf) };
  const work = workOf(ground, plan, directory);
  syncContent(work);
  ground.disk.writeSafely(`${directory}/plan`, JSON.stringify(plan));
  try {
    const skipped = await applySteps(work);
    const inTheWay = plan.steps.filter(({ number }) => skipped.includes(number));
    if (inTheWay.some(isInRepository)) {
      await rollBack(ground, directory, plan);
      return repositoryConflict(inTheWay);
    }
    syncParents(work);
    ground.disk.writeSafely(`${directory}/applied`, JSON.stringify({ skipped, parents: parentsNow(work) }));
    const { lists } = without(plan, skipped);
    return { ...nothing, ...lists, runId: plan.id, leftOut: [...late, ...inTheWay].map(conflictOf) };
  } catch (thrown) {
    await rollBack(ground, directory, plan);
    throw thrown;
  }
}

/**
 * What replaces a file is on the disk before it takes the name; power that fails must not leave an empty file. A wholly new file may be lost then,
 * as any program's may.
 */
function syncContent({ plan, directory, disk }: Work): void {
  for (const { act, before, after, number } of plan.steps) {
    if (act === 'put' && before !== undefined && after?.type === 'file' && (after.mode & 0o400) !== 0)
      disk.sync(`${directory}/stage/${number}`);
  }
}

function syncParents({ plan, disk, directory }: Work): void {
  for (const { path, mode } of plan.parents) if ((mode & 0o400) !== 0) disk.sync(`${plan.workspaceRoot}/${path}`);
  disk.sync(`${directory}/kept`);
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

export async function rollBack(ground: JournalGround, directory: string, plan: Plan): Promise<void> {
  const left = await takeBack(workOf(ground, plan, directory), plan.parents);
  if (left.length === 0) ground.disk.remove(directory);
  else {
    // What was there before lies under somebody else's work: it stays in the journal.
    ground.log.warn(`run ${plan.id} was rolled back but for ${left.join(', ')}, changed by others; what was there is in ${directory}`);
    ground.disk.writeSafely(`${directory}/undone`, '');
  }
}
