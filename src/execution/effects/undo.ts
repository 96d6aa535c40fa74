/** Undoing a run in the lock, and what a start does about runs that were cut off: a half-done plan is taken back, a half-done undo is finished. */

import type { ChangeList } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import type { Work } from './carry-out.ts';
import { whileOpen } from './carry-out.ts';
import { isHeld } from './held.ts';
import { claim, hasMark, isOwnedByAnother, readApplied, readPlan, readUndoing, runIds, type Step } from './journal.ts';
import { closeView, hasView } from './lay-view.ts';
import { directoryOf, inHand, type JournalGround, rollBack, without } from './run-plan.ts';
import { changedSince, changedTrees, inParts, takeBack, untouchedParents } from './take-back.ts';

export interface UndoGround extends JournalGround {
  /** Directories of what this process has under way. */
  readonly live: ReadonlySet<string>;
}

export async function recoverRuns(ground: UndoGround): Promise<void> {
  for (const id of runIds(ground.journal)) {
    const directory = directoryOf(ground, id);
    const isDone = isAtRest(directory);
    if ((isDone && !hasView(directory)) || ground.live.has(directory) || isOwnedByAnother(directory)) continue;
    if (isDone) {
      await closeView({ directory, scratch: directory, isKept: true }, ground);
      continue;
    }
    const left = await recover(ground, directory);
    if (left.length === 0) ground.log.info(`run ${id} was interrupted; the workspace is as before it`);
    else ground.log.warn(`the undo of run ${id} was interrupted and cannot be finished: ${left.join(', ')}`);
  }
}

async function recover(ground: UndoGround, directory: string): Promise<readonly string[]> {
  if (!isReadable(directory)) {
    // A plan that is cut off is of one step, which is done or not: every other one is flushed first.
    ground.disk.remove(directory);
    return [];
  }
  return inHand(ground, readPlan(directory), async (work) => {
    if (hasMark(directory, 'undoing')) return finishUndo(ground, work, await changedTrees(work));
    await rollBack(ground, work);
    return [];
  });
}

function isReadable(directory: string): boolean {
  try {
    readPlan(directory);
    return true;
  } catch {
    return false;
  }
}

export function isAtRest(directory: string): boolean {
  return hasMark(directory, 'undone') || isHeld(directory) || (hasMark(directory, 'applied') && !hasMark(directory, 'undoing'));
}

/** @param since steps whose directories others changed after it began @returns what could not be put back, so that the undo stays half-done: the directories on its way are not there */
async function finishUndo(ground: UndoGround, work: Work, since: readonly number[] = []): Promise<readonly string[]> {
  const directory = directoryOf(ground, work.plan.id);
  const { parents, foreign } = readUndoing(directory);
  const left = await takeBack({ ...work, force: true, foreign: [...foreign, ...since] }, parents);
  if (left.length > 0) return left;
  ground.disk.writeSafely(`${directory}/undone`, '');
  for (const part of ['stage', 'kept', 'index']) ground.disk.remove(`${directory}/${part}`);
  return [];
}

/** @throws {Fault} `no_such_run`, `not_undoable`, `undo_in_the_way` */
export async function undo(ground: UndoGround, id: string, { force }: { readonly force: boolean }): Promise<ChangeList> {
  const directory = directoryOf(ground, id);
  if (isHeld(directory)) throw stillHeld();
  const plan = readPlan(directory);
  if (hasMark(directory, 'undone')) throw new Fault('not_undoable', 'this run is undone already', { audience: 'user' });
  if (!hasMark(directory, 'applied')) throw new Fault('not_undoable', 'this run was not applied', { audience: 'user' });
  const isBegun = hasMark(directory, 'undoing');
  const { skipped } = readApplied(directory);
  return inHand(ground, isBegun ? plan : without(plan, skipped), async (whole) => {
    const work = isBegun ? whole : await begin(ground, whole, force);
    const left = await finishUndo(ground, work, isBegun ? await changedTrees(work) : []);
    if (left.length > 0) throw ledAway(left, 'the rest is undone');
    return work.plan.lists;
  });
}

async function begin(ground: UndoGround, whole: Work, force: boolean): Promise<Work> {
  const directory = directoryOf(ground, whole.plan.id);
  const plan = await inParts(whole);
  const work = { ...whole, plan };
  const inTheWay = await changedSince(work);
  const parents = await whileOpen(work, () => untouchedParents(work, readApplied(directory).parents));
  const away = plan.steps.filter(({ path }) => work.tree.place(path) === undefined && work.tree.strayed(path));
  if (away.length > 0) throw ledAway(pathsOf(away), 'nothing was undone');
  if (inTheWay.length > 0 && !force) throw laterChanges(pathsOf(inTheWay));
  claim(directory);
  ground.disk.writeSafely(`${directory}/plan`, JSON.stringify(plan));
  ground.disk.writeSafely(`${directory}/undoing`, JSON.stringify({ parents, foreign: inTheWay.map(({ number }) => number) }));
  return work;
}

function pathsOf(steps: readonly Step[]): readonly string[] {
  return steps.map(({ path }) => path);
}

function stillHeld(): Fault {
  const next = 'deny its request, or leave it: what is held goes by itself (`banksman approvals list`)';
  return new Fault('not_undoable', 'these changes are held: nothing of them was applied', { audience: 'user', next });
}

/** Not to be forced: what is on the way is not what was changed. */
function ledAway(paths: readonly string[], done: string): Fault {
  const why = say`a directory on the way to ${named(paths)} is gone, or a link or something else by now; ${done}`;
  return new Fault('undo_in_the_way', why, { audience: 'user', next: 'put that directory back, then undo the run again' });
}

function laterChanges(paths: readonly string[]): Fault {
  return new Fault('undo_in_the_way', say`changed since the run: ${named(paths)}`, {
    audience: 'user',
    next: 'undo the later runs first, or set aside what is there now: `banksman runs undo ID --set-aside`',
  });
}

const mostNamed = 10;

function named(paths: readonly string[]): string {
  const first = paths.slice(0, mostNamed).map((path) => `\`${path}\``);
  return `${first.join(', ')}${paths.length > mostNamed ? ` and ${paths.length - mostNamed} more` : ''}`;
}
