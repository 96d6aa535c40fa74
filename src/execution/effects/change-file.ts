/**
 * A file's new content through the journal: a run of one step. The content is staged in the run's directory, so nothing unfinished is ever in
 * the workspace.
 */

import { accessSync, type BigIntStats, chmodSync, chownSync, constants, mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Fault } from '#kernel/errors';
import type { FileChange } from '#kernel/ports/file-journal';
import { say } from '#kernel/text/message';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { applySteps, isAsPlanned, parentsNow, type Work } from './carry-out.ts';
import { claim, hasMark, type Plan, type Step } from './journal.ts';
import { directoryOf, inHand, type JournalGround, rollBack } from './run-plan.ts';
import { look, modeOf, readTree, stampOf, typeOf } from './stamp.ts';

/** In the lock. @throws as `FileJournal.change` */
export async function changeFile(ground: JournalGround, change: FileChange, id: string): Promise<Pick<Plan, 'keptBytes'>> {
  const directory = directoryOf(ground, id);
  const { path, title, agentId, newNames } = change;
  try {
    ground.disk.mkdir(directory);
    claim(directory);
    for (const part of ['stage', 'kept', 'overwritten']) ground.disk.mkdir(`${directory}/${part}`);
    // A program may write there by itself; the journal would open a closed directory for a moment.
    accessSync(parentOf(change.place()), constants.W_OK | constants.X_OK);
    const step = newNames === 0 ? await stageOver(ground, change, directory) : await stageNew(ground, change, directory);
    const lists = { created: newNames > 0 ? [path] : [], changed: newNames > 0 ? [] : [path], deleted: [] };
    const keptBytes = step.before?.size ?? 0;
    const { workspaceRoot } = ground;
    const plan: Plan = { id, title, agentId, workspaceRoot, at: Date.now(), steps: [step], parents: [], lists, keptBytes };
    await carryOut(ground, plan, change);
    return { keptBytes };
  } catch (thrown) {
    // What could not be rolled back now is, by the next start.
    if (!hasMark(directory, 'plan')) ground.disk.remove(directory);
    throw thrown;
  }
}

/**
 * As `carryOut` of a run, with fewer waits for the disk, which are most of the time it takes: one step needs no plan to be all or nothing when
 * the power fails. INVARIANT: when it resolves, the file, its place and its undo are on the disk.
 */
function carryOut(ground: JournalGround, wished: Plan, change: FileChange): Promise<void> {
  const directory = directoryOf(ground, wished.id);
  return inHand(ground, wished, async (reached) => {
    const work = { ...reached, tree: through(reached.tree, wished, change) };
    if (!wished.steps.every((step) => isAsPlanned(work, step))) throw changedMeanwhile(change.path);
    const plan = { ...wished, parents: parentsNow(work) };
    change.signal?.throwIfAborted();
    ground.disk.write(`${directory}/plan`, JSON.stringify(plan));
    try {
      const skipped = await applySteps({ ...work, plan });
      if (skipped.length > 0) throw changedMeanwhile(change.path);
      ground.disk.write(`${directory}/applied`, JSON.stringify({ skipped, parents: parentsNow(work) }), { flush: true });
      ground.disk.sync(parentOf(change.held()));
    } catch (thrown) {
      // Wherever its directory is by now; the directories above keep the times that the step gave them.
      await rollBack(ground, { ...work, plan, tree: { ...work.tree, place: change.held } }, []);
      throw thrown;
    }
  });
}

/** The caller holds the directory that the change was decided for. */
function through(tree: Work['tree'], { steps }: Plan, { place, held }: FileChange): Work['tree'] {
  return { ...tree, place: (path) => (path === steps[0]?.path ? place() : parentOf(held())) };
}

function changedMeanwhile(path: string): Fault {
  return new Fault('FILE_CHANGED', say`\`${path}\` was changed by somebody else meanwhile; nothing was written`, {
    audience: 'user',
    next: 'read it again, then change what is there now',
  });
}

/** Only root may give a file away. */
function ofOthers(path: string): Fault {
  const why = say`\`${path}\` belongs to another user or group, and written anew it would not any more; nothing was written`;
  return new Fault('PERMISSION_DENIED', why, { audience: 'operator', next: 'ask the user to change it, or to whom it belongs' });
}

function parentOf(place: string): string {
  return place.slice(0, place.lastIndexOf('/'));
}

const attributesMs = 20_000;

/** With the mode, owner, extended attributes and access lists of what is there. */
async function stageOver({ programs }: JournalGround, change: FileChange, directory: string): Promise<Step> {
  const place = change.place();
  const before = look(place);
  if (before === undefined || typeOf(before) !== 'file') throw changedMeanwhile(change.path);
  const stage = `${directory}/stage/0`;
  // Node reads no extended attributes. The working directory leads through the held descriptor, and a link is copied as one.
  const args = ['-a', '--attributes-only', '-T', '--', `.${place.slice(place.lastIndexOf('/'))}`, stage];
  const options = { cwd: parentOf(place), env: launcherEnvironment, timeoutMs: attributesMs, keepBytes: 1_024 };
  const copied = await programs.run({ program: '/bin/cp', args, ...options }, new AbortController().signal).catch(() => undefined);
  const staged = look(stage);
  if (staged !== undefined && typeOf(staged) !== 'file') throw changedMeanwhile(change.path);
  if (copied?.exitCode !== 0 || staged === undefined) stageOwned(stage, before);
  const { uid, gid } = lookSurely(stage);
  if (uid !== before.uid || gid !== before.gid) throw ofOthers(change.path);
  chmodSync(stage, (modeOf(before) & 0o777) | 0o200);
  await store(stage, change.bytes, 'r+');
  // Without set-user-id and its like: what they stood for was the old content.
  chmodSync(stage, modeOf(before) & 0o777);
  return {
    number: 0,
    act: 'put',
    path: change.path,
    kind: 'modify',
    before: stampOf(before),
    changedAt: String(before.ctimeNs),
    after: stampOf(lookSurely(stage)),
  };
}

/** Where attributes cannot be copied (a file that this user may not read, another `cp`): at least the owner. */
function stageOwned(stage: string, { uid, gid }: BigIntStats): void {
  if (look(stage) !== undefined) unlinkSync(stage);
  writeFileSync(stage, '', { flag: 'wx', mode: 0o600 });
  try {
    chownSync(stage, Number(uid), Number(gid));
  } catch {
    // Then it is the writer's own, which is looked at next.
  }
}

const atOnceBytes = 1 << 20;

/** On the disk when it resolves. What is small is written at once: each turn of the thread pool would take longer. */
async function store(file: string, bytes: Uint8Array, flag: 'wx' | 'r+'): Promise<void> {
  if (bytes.length <= atOnceBytes) writeFileSync(file, bytes, { flag, flush: true });
  else await writeFile(file, bytes, { flag, flush: true });
}

/** A new file, in new directories where some are missing: they move as one. */
async function stageNew({ disk }: JournalGround, { path, newNames, bytes, place }: FileChange, directory: string): Promise<Step> {
  const names = path.split('/');
  const parent = lookSurely(parentOf(place()));
  const stages = names.slice(-newNames).map((_name, index, made) => [`${directory}/stage/0`, ...made.slice(1, index + 1)].join('/'));
  for (const stage of stages.slice(0, -1)) {
    mkdirSync(stage);
    inherit(stage, parent);
  }
  const file = stages.at(-1) ?? '';
  await store(file, bytes, 'wx');
  inherit(file, parent);
  for (const stage of stages.slice(0, -1)) disk.sync(stage);
  const inside = stages.map((stage, index) => ({
    number: index + 1,
    act: 'put' as const,
    path: names.slice(0, names.length - newNames + index + 1).join('/'),
    kind: 'create' as const,
    after: stampOf(lookSurely(stage)),
  }));
  const [top] = inside;
  if (top === undefined || newNames === 1) return { ...(top as Step), number: 0 };
  return { ...top, number: 0, after: { ...top.after, tree: (await readTree(`${directory}/stage/0`)).digest }, inside };
}

/** What the parent would have given it: the group, and to directories the bit that passes it on. `mkdir(2)` */
function inherit(entry: string, parent: BigIntStats): void {
  if ((modeOf(parent) & 0o2000) === 0) return;
  const made = lookSurely(entry);
  chownSync(entry, Number(made.uid), Number(parent.gid));
  if (made.isDirectory()) chmodSync(entry, modeOf(made) | 0o2000);
}

function lookSurely(place: string) {
  const stats = look(place);
  if (stats === undefined) throw new Error(`\`${place}\` was there a moment ago`);
  return stats;
}
