/** What is held for a person: kept beside the runs, shown, applied whole or dropped. */
import { createHash } from 'node:crypto';
import { chmodSync, closeSync, mkdirSync, openSync, readlinkSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { grantLifeMs, requestLifeMs } from '#kernel/approval/request';
import type { HeldChanges, LeftOut, RunEffects } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { canonicalJson, type JsonValue } from '#kernel/json';
import type { AttributeChange } from './directory-attributes.ts';
import { indexDigest } from './git-parts.ts';
import { claim, hasMark, type Plan, readPlan, runIds, type Step } from './journal.ts';
import { makePlan, nameOf, type PlanRequest } from './make-plan.ts';
import { carryOut, directoryOf, type JournalGround } from './run-plan.ts';
import { type ShowOptions, showChanges } from './show-changes.ts';
import { look, modeOf, readTree, type Stamp, stampOf } from './stamp.ts';
import type { Unit } from './unit.ts';

/** As long as a person can answer, and what was granted can be used; and a little more, for the request comes after. */
export const heldMs = requestLifeMs + grantLifeMs + 300_000;

export interface HeldGround extends JournalGround {
  readonly limits: { readonly heldBytes: number; readonly journalBytes: number };
  /** Directories of what this process has under way. */
  readonly live: Set<string>;
}

export type HeldOutcome = { readonly heldId?: string; readonly leftOut: readonly LeftOut[] };

/** Content goes from the run's directory into one of its own. Where it cannot be kept, it is refused with the reason. */
export async function hold(ground: HeldGround, request: Omit<PlanRequest, 'directory' | 'programs'>): Promise<HeldOutcome> {
  if (request.units.length === 0) return { leftOut: [] };
  const directory = directoryOf(ground, request.id);
  const refused = (why: string): HeldOutcome => {
    ground.disk.remove(directory);
    return { leftOut: request.units.map((unit) => notHeld(unit, why)) };
  };
  try {
    ground.live.add(directory);
    mkdirSync(directory, { mode: 0o700 });
    claim(directory);
    const { plan, gone: away } = await makePlan({ ...request, ...ground, directory });
    if (away.length > 0) return refused('somebody else took away what it needs');
    return await keep(ground, { ...plan, steps: await withNames(ground, plan.steps) }, refused);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOSPC' || code === 'EDQUOT') return refused('the disk has no room to keep it for a person');
    ground.disk.remove(directory);
    throw thrown;
  } finally {
    ground.live.delete(directory);
  }
}

function withNames({ programs, workspaceRoot }: HeldGround, steps: readonly Step[]): Promise<readonly Step[]> {
  return Promise.all(
    steps.map(async (step) => {
      const named = step.before === undefined ? undefined : await indexDigest(programs, { workspaceRoot, path: step.path });
      return named === undefined ? step : { ...step, named };
    }),
  );
}

/** An index that git wrote anew with the same entries (`git status` does, for the times in it) is no other one. */
function refreshed({ programs, workspaceRoot }: HeldGround, steps: readonly Step[]): Promise<readonly Step[]> {
  return Promise.all(
    steps.map(async (step) => {
      const now = step.named === undefined ? undefined : look(`${workspaceRoot}/${step.path}`);
      if (now?.isFile() !== true || (await indexDigest(programs, { workspaceRoot, path: step.path })) !== step.named) return step;
      return { ...step, before: stampOf(now), changedAt: String(now.ctimeNs) };
    }),
  );
}

async function keep(ground: HeldGround, plan: Plan, refused: (why: string) => HeldOutcome): Promise<HeldOutcome> {
  const directory = directoryOf(ground, plan.id);
  const others = heldPlans(ground);
  const bytes = await stagedBytes(plan, directory);
  if (others.reduce((sum, { held }) => sum + (held?.bytes ?? 0), bytes) > ground.limits.heldBytes)
    return refused(`more than ${Math.floor(ground.limits.heldBytes / 2 ** 20)} MB would wait for a person`);
  const shown = await showChanges(plan, sidesOfHeld(plan, directory));
  const digest = await digestOf(plan, directory);
  const twin = others.find((other) => other.agentId === plan.agentId && other.held?.digest === digest);
  if (twin !== undefined) {
    // Asked once more for the very same: the request that waits is the answer.
    ground.disk.remove(directory);
    return { heldId: twin.id, leftOut: [] };
  }
  const held = { ...shown, digest, bytes, lost: plan.keptBytes > ground.limits.journalBytes };
  ground.disk.writeSafely(`${directory}/held`, JSON.stringify({ ...plan, held } satisfies Plan));
  return { heldId: plan.id, leftOut: [] };
}

function notHeld(unit: Unit, why: string): LeftOut {
  const { rule = 'held', why: reason = '' } = unit.held ?? {};
  return { path: nameOf(unit), kind: unit.kind, reason: 'refused', rule, why: `${reason}; it was not kept: ${why}` };
}

function sidesOfHeld({ workspaceRoot }: Plan, directory: string): ShowOptions {
  return {
    sidesOf: ({ path, number, before, after }) => ({
      before: before && `${workspaceRoot}/${path}`,
      after: after && `${directory}/stage/${number}`,
    }),
    withDeleted: false,
  };
}

/** Content that waits, not what its going in would keep. */
async function stagedBytes({ steps }: Plan, directory: string): Promise<number> {
  let bytes = 0;
  for (const { act, after, number } of steps)
    if (act === 'put') bytes += after?.type === 'directory' ? (await readTree(`${directory}/stage/${number}`)).bytes : (after?.size ?? 0);
  return bytes;
}

export function heldPlans(ground: JournalGround): readonly Plan[] {
  return runIds(ground.journal).flatMap((id) => {
    const directory = directoryOf(ground, id);
    return isHeld(directory) ? [readPlan(directory, 'held')] : [];
  });
}

export function isHeld(directory: string): boolean {
  return hasMark(directory, 'held') && !hasMark(directory, 'plan') && !hasMark(directory, 'undone');
}

/** SECURITY: over the bytes as they lie there now, so that what a person approved is what is applied. */
export async function readHeld(ground: JournalGround, id: string): Promise<HeldChanges | undefined> {
  const directory = directoryOf(ground, id);
  if (!isHeld(directory)) return undefined;
  const plan = readPlan(directory, 'held');
  const { held, title } = plan;
  return held && { ...held, id, title, digest: await digestOf(plan, directory) };
}

/** In the lock. */
export async function applyHeld(ground: HeldGround, id: string, digest: string): Promise<RunEffects> {
  const directory = directoryOf(ground, id);
  if (!isHeld(directory)) throw gone();
  const plan = readPlan(directory, 'held');
  if ((await digestOf(plan, directory)) !== digest) {
    ground.disk.remove(directory);
    throw new Fault('held_changed', 'what was held is not what was approved any more; nothing was applied, and it is dropped', {
      next: again,
    });
  }
  claim(directory);
  ground.live.add(directory);
  try {
    const effects = await carryOut(ground, { ...plan, steps: await refreshed(ground, plan.steps), at: Date.now() });
    if (effects.runId === undefined) {
      // Rolled back, and not all of it: what was there is in the journal alone.
      if (!hasMark(directory, 'undone')) ground.disk.remove(directory);
      throw new Fault('held_conflict', effects.nothingApplied ?? 'nothing was applied', { next: again });
    }
    ground.disk.unlink(`${directory}/held`);
    return effects;
  } finally {
    ground.live.delete(directory);
  }
}

const again = 'run the command again: a person is asked anew';

function gone(): Fault {
  return new Fault(
    'held_gone',
    'what was held does not lie here: it was applied, dropped or is too old, or another machine or state directory has it',
    { next: again },
  );
}

async function digestOf({ steps, agentId, workspaceRoot, keptBytes }: Plan, directory: string): Promise<string> {
  const hash = createHash('sha256');
  hash.update(canonicalJson({ agentId, workspaceRoot, keptBytes }));
  for (const { act, path, kind, before, after, extended, held, number } of steps) {
    const facts = {
      ...{ act, path, kind, before: before ?? null, after: after === undefined ? null : lasting(after, act), held: held ?? null },
      ...(extended === undefined ? {} : { extended: attributesText(extended) }),
    };
    hash.update(canonicalJson(facts as unknown as JsonValue));
    if (act === 'put') hash.update(await contentDigest(`${directory}/stage/${number}`, after));
  }
  return hash.digest('hex');
}

/** A name of an attribute need not be Unicode, and systems list them in any order. */
function attributesText({ from, to }: AttributeChange): string {
  return JSON.stringify([from, to].map((values) => Object.entries(values).toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

/** The same bytes made twice are the same, whatever their inodes and times; where attributes are set, the times are what changes. */
function lasting({ type, mode, modified }: Stamp, act: Step['act']) {
  return act === 'set' ? { type, mode, modified } : { type, mode };
}

async function contentDigest(place: string, stamp: Stamp | undefined): Promise<string> {
  if (stamp?.type !== 'directory') return entryDigest(place, stamp?.type);
  const hash = createHash('sha256');
  for (const { path, stats } of (await readTree(place)).entries) {
    const type = stats.isFile() ? 'file' : stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'directory' : 'other';
    hash.update(`${path}\0${type}\0${stats.mode}\0${await entryDigest(`${place}/${path}`, type)}\n`);
  }
  return hash.digest('hex');
}

/** What a command left without a right to read it is this user's own all the same. */
function openClosed(file: string): number {
  const stats = look(file);
  const mode = stats === undefined ? 0o400 : modeOf(stats);
  if ((mode & 0o400) === 0) chmodSync(file, mode | 0o400);
  try {
    return openSync(file, 'r');
  } finally {
    if ((mode & 0o400) === 0) chmodSync(file, mode);
  }
}

const chunkBytes = 1 << 20;

async function entryDigest(file: string, type: string | undefined): Promise<string> {
  if (type === 'link') return createHash('sha256').update(readlinkSync(file)).digest('hex');
  if (type !== 'file') return '';
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(chunkBytes);
  const descriptor = openClosed(file);
  try {
    for (let length = readSync(descriptor, chunk); length > 0; length = readSync(descriptor, chunk)) {
      hash.update(chunk.subarray(0, length));
      await nextTurn();
    }
  } finally {
    closeSync(descriptor);
  }
  return hash.digest('hex');
}
