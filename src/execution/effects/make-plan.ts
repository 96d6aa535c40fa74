/** Makes a plan of units: their content goes to the journal first, free of the overlay's marks, each thing ready to be moved into place. */
import { chmodSync, lchownSync, linkSync, lutimesSync, mkdirSync, renameSync } from 'node:fs';
import type { ChangeList } from '#kernel/effects';
import type { NewEntry, Unit } from './difference.ts';
import type { Plan, Step } from './journal.ts';
import { look, modeOf, readTree, type Stamp, stampOf } from './stamp.ts';
import type { Looker, View } from './view.ts';

export interface PlanRequest {
  readonly id: string;
  readonly title: string;
  readonly agentId: string;
  readonly view: View;
  /** Where `stage` and `kept` are made: the run's directory, or that of what is held. */
  readonly directory: string;
  readonly units: readonly Unit[];
  readonly at: number;
}

/** Content that the overlay has marked is copied through the view, attributes included; the rest is moved. */
export async function copyMarked(units: readonly Unit[], view: View, looker: Looker, signal: AbortSignal): Promise<void> {
  const marked = units.flatMap((unit) => contentOf(unit).filter(({ pure }) => !pure));
  await looker.copyOut(
    view,
    marked.map(({ path }) => path),
    signal,
  );
}

function contentOf(unit: Unit): readonly NewEntry[] {
  if (unit.after === undefined || unit.kind === 'attributes') return [];
  return [unit.after, ...unit.inside];
}

export async function makePlan(request: PlanRequest): Promise<Plan> {
  const { id, title, agentId, view, directory, units, at } = request;
  for (const part of ['stage', 'kept', 'overwritten']) mkdirSync(`${directory}/${part}`, { mode: 0o700 });
  const steps: Step[] = [];
  // Modes and times last: a directory may be closed by its new mode.
  const sorted = [...units].sort((one, other) => Number(one.kind === 'attributes') - Number(other.kind === 'attributes'));
  for (const [number, unit] of sorted.entries()) steps.push(await stepOf(unit, number, request));
  return {
    id,
    title,
    agentId,
    workspaceRoot: view.workspaceRoot,
    at,
    steps,
    // Looked at right before the first step.
    parents: [],
    lists: listsOf(units),
    keptBytes: units.reduce((sum, unit) => sum + keptBytesOf(unit), 0),
  };
}

export function keptBytesOf({ before, kind }: Unit): number {
  if (before === undefined || kind === 'attributes') return 0;
  return before.tree?.bytes ?? before.stamp.size;
}

async function stepOf(unit: Unit, number: number, { view, directory }: PlanRequest): Promise<Step> {
  const { path, kind, before, after, keepTimes } = unit;
  const lower = before === undefined ? undefined : look(`${view.workspaceRoot}/${path}`);
  const common = {
    number,
    path,
    kind,
    ...(before === undefined ? {} : { before: before.stamp }),
    ...(lower === undefined ? {} : { changedAt: String(lower.ctimeNs) }),
  };
  if (kind === 'delete' || after === undefined) return { ...common, act: 'take' };
  if (kind === 'attributes')
    return { ...common, act: 'set', after: newAttributes(before?.stamp ?? stampOf(after.stats), after, keepTimes) };
  const stage = `${directory}/stage/${number}`;
  return { ...common, act: 'put', after: await stageUnit(unit, after, { view, stage }) };
}

function newAttributes(before: Stamp, { stats }: NewEntry, keepTimes = false): Stamp {
  return { ...before, mode: modeOf(stats), modified: keepTimes ? before.modified : String(stats.mtimeNs) };
}

interface Staging {
  readonly view: View;
  readonly stage: string;
}

async function stageUnit(unit: Unit, top: NewEntry, { view, stage }: Staging): Promise<Stamp> {
  if (!top.stats.isDirectory()) {
    stageFile(top, view, stage);
    return stampOf(lookSurely(stage));
  }
  mkdirSync(stage, { mode: 0o700 });
  const place = (entry: NewEntry) => (entry.path === top.path ? stage : `${stage}${entry.path.slice(top.path.length)}`);
  // A directory is made anew: the overlay's marks cannot be taken off it.
  for (const entry of unit.inside) {
    if (entry.stats.isDirectory()) mkdirSync(place(entry), { mode: 0o700 });
    else stageFile(entry, view, place(entry));
  }
  // From the inside: what is put into a directory changes its times, and its mode may close it.
  for (const entry of [...unit.inside.toReversed(), top]) if (entry.stats.isDirectory()) finishDirectory(place(entry), entry);
  return { ...stampOf(lookSurely(stage)), tree: (await readTree(stage)).digest };
}

function stageFile({ pure, source, path, linkTo }: NewEntry, { directory, workspaceRoot }: View, place: string): void {
  if (linkTo !== undefined) linkSync(`${workspaceRoot}/${linkTo}`, place);
  else renameSync(pure ? source : `${directory}/copied/${path}`, place);
}

function finishDirectory(place: string, { stats }: NewEntry): void {
  const made = lookSurely(place);
  // A directory of another group, by the group bit of the one above it.
  if (made.gid !== stats.gid) lchownSync(place, Number(stats.uid), Number(stats.gid));
  chmodSync(place, modeOf(stats));
  lutimesSync(place, Number(stats.atimeMs) / 1_000, Number(stats.mtimeNs) / 1e9);
}

function lookSurely(place: string) {
  const stats = look(place);
  if (stats === undefined) throw new Error(`\`${place}\` was there a moment ago`);
  return stats;
}

/** For people: of directories the name alone. */
export function listsOf(units: readonly Unit[]): ChangeList {
  const named = (kinds: readonly string[]) => units.filter(({ kind }) => kinds.includes(kind)).map(nameOf);
  return { created: named(['create']), changed: named(['modify', 'attributes', 'replace']), deleted: named(['delete']) };
}

export function nameOf({ path, after, before, kind }: Unit): string {
  const isWhole = kind !== 'attributes' && (after?.stats.isDirectory() ?? before?.stamp.type === 'directory');
  return isWhole ? `${path}/` : path;
}
