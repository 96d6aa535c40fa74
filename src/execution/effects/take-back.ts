/** Takes back what a plan did, from wherever it was cut off: a rollback, an undo, the recovery of either. */
import { type BigIntStats, realpathSync } from 'node:fs';
import { forget, inWritable, keep, lookAt, move, type Places, placesOf, setTimes, type Work, whileOpen } from './carry-out.ts';
import { type AttributeWish, giveAttributes } from './directory-attributes.ts';
import type { Disk } from './disk.ts';
import { indexDigest, isNamedSince, repositoryOfObject } from './git-parts.ts';
import type { Parent, Plan, Step } from './journal.ts';
import { isSame, look, modeOf, readTree, type Stamp, treeOf } from './stamp.ts';

/**
 * Puts back what was there; steps that were not done, or are undone, are left alone.
 * @param parents directories that get their mode and times back
 * @returns paths where somebody else's work stays
 */
export async function takeBack(work: Work, parents: readonly Parent[]): Promise<readonly string[]> {
  const left: string[] = [];
  const times: Parent[] = [];
  const isInUse = objectsInUse(work);
  // The other way round: what names an object goes before it.
  for (const step of work.plan.steps.toReversed()) {
    if (await isInUse(step)) continue;
    const places = placesOf(work, step);
    if (places !== undefined && step.act === 'set') times.push(...unset(work, step, places));
    else if (!isBack(work, step, places)) left.push(step.path);
  }
  const attributes = work.plan.steps.flatMap((step) => attributesBefore(work, step));
  try {
    await giveAttributes(work, attributes);
  } finally {
    for (const wish of [...attributes, ...parents]) giveMode(work, wish);
    await setTimes(work, [...times, ...parents]);
  }
  // Only now: a directory may be led away while the times are set.
  const isLost = ({ path }: Parent) => work.tree.strayed(path) || lookAt(work, path) === undefined;
  const gone = parents.filter((parent) => isLost(parent) || lookAt(work, parent.path)?.isDirectory() !== true);
  return [...new Set([...left, ...[...gone, ...times.filter(isLost)].map(({ path }) => path)])];
}

/** Another directory that has its name by now is somebody else's. */
function attributesBefore(work: Work, { path, extended, before }: Step): readonly AttributeWish[] {
  if (extended === undefined || before === undefined || String(lookAt(work, path)?.ino) !== before.inode) return [];
  return [{ path, from: extended.to, to: extended.from, mode: before.mode }];
}

/** Of a repository to which somebody gave names since: git sweeps out what it does not need. */
function objectsInUse(work: Work): (step: Step) => Promise<boolean> {
  const found = new Map<string, Promise<boolean>>();
  return async ({ path, act, before }) => {
    const repository = act === 'put' && before === undefined ? repositoryOfObject(path) : undefined;
    if (repository === undefined) return false;
    const place = work.tree.place(`${repository}/objects`);
    const known =
      found.get(repository) ??
      (place === undefined ? Promise.resolve(false) : isNamedSince(parentOf(place), doneAt(work), { index: true }));
    found.set(repository, known);
    return known;
  };
}

/** Before it nobody else could use what the plan put there, ns since the epoch. */
function doneAt({ own }: Work): bigint {
  return (look(`${own}/applied`) ?? look(`${own}/plan`))?.ctimeNs ?? 0n;
}

function parentOf(place: string): string {
  return place.slice(0, place.lastIndexOf('/'));
}

/** New directories in which others put something since, by number: these stay. */
export async function changedTrees(work: Work): Promise<readonly number[]> {
  const found: number[] = [];
  for (const step of work.plan.steps.filter(({ act, after }) => act === 'put' && after?.tree !== undefined)) {
    const place = work.tree.place(step.path);
    if (place === undefined || step.after === undefined || !isSame(look(place), step.after)) continue;
    if (!(await isTreeAsLeft(work, step, place))) found.push(step.number);
  }
  return found;
}

function giveMode({ tree, disk }: Work, { path, mode }: Pick<Parent, 'path' | 'mode'>): void {
  const place = tree.place(path);
  const stats = place === undefined ? undefined : look(place);
  if (place !== undefined && stats?.isDirectory() && modeOf(stats) !== mode) disk.chmod(place, mode);
}

function isBack(work: Work, step: Step, places: Places | undefined): boolean {
  // What is not there need not go.
  if (places === undefined) return isLone(step) && !work.tree.strayed(step.path);
  if (!isLone(step)) return takeBackStep(work, step, places);
  takeEmpty(work, step, places);
  return true;
}

/** Directories that nobody changed since the plan was carried out. */
export function untouchedParents(work: Work, asLeft: readonly Parent[]): readonly Parent[] {
  return work.plan.parents.filter(({ path }) => {
    const now = lookAt(work, path);
    return asLeft.some((parent) => parent.path === path && parent.modified === String(now?.mtimeNs));
  });
}

function unset({ disk }: Work, { path, before, after, extended }: Step, { at }: Places): readonly Parent[] {
  const stats = look(at);
  // Somebody else's by now.
  if (stats === undefined || before === undefined || String(stats.ino) !== before.inode) return [];
  // A mode is the mask of an access list: that is taken back first.
  if (before.type !== 'link' && extended === undefined && modeOf(stats) !== before.mode) disk.chmod(at, before.mode);
  return before.type !== 'directory' || isTimeOurs(stats, before, after) ? [{ ...before, path }] : [];
}

/** Of a directory: what others put into it since has changed its time. */
function isTimeOurs({ mtimeNs }: BigIntStats, before: Stamp, after: Stamp | undefined): boolean {
  return after?.modified !== before.modified && String(mtimeNs) === after?.modified;
}

function takeBackStep(work: Work, step: Step, places: Places): boolean {
  const done = inWritable(work.disk, { step, places }, () => putBack(work, step, places));
  forget(work, step);
  return done;
}

function putBack(work: Work, step: Step, places: Places): boolean {
  const { disk } = work;
  const { at, kept, overwritten } = places;
  if (step.after !== undefined && !withdraw(work, step, places)) return false;
  const old = look(kept);
  const now = look(at);
  if (old !== undefined && now?.ino === old.ino) {
    // It had got its second name, and nothing more.
    disk.unlink(kept);
  } else if (old !== undefined) {
    if (now !== undefined && !isSetAside(now, places)) {
      if (!work.force) return false;
      move(disk, at, overwritten);
    }
    move(disk, kept, at);
  }
  closeAgain(disk, at, step);
  return true;
}

/** It has a second name in the journal by now, so that what was there can take its place. */
function isSetAside({ ino }: BigIntStats, { stage, overwritten }: Places): boolean {
  return [stage, overwritten].some((place) => look(place)?.ino === ino);
}

/** A directory may have been cut off while it was open for its move. */
function closeAgain(disk: Disk, at: string, { before }: Step): void {
  const now = look(at);
  if (before?.type !== 'directory' || now === undefined || String(now.ino) !== before.inode) return;
  if (modeOf(now) !== before.mode) disk.chmod(at, before.mode);
}

/** Takes what the step put there back to `stage`. @returns false where somebody else's work is there and stays */
function withdraw(work: Work, step: Step, { at, stage, kept, overwritten }: Places): boolean {
  const now = look(at);
  if (now === undefined) return true;
  const isOurs = isOwn(now, step, work);
  const old = look(kept);
  if (look(stage) !== undefined) {
    // Not put there, or cut off between the two names of a new file.
    if (isOurs && old === undefined) work.disk.unlink(at);
    return true;
  }
  if (!isOurs && work.force !== true) return false;
  setAside(work.disk, { at, to: isOurs ? stage : overwritten, forFile: old !== undefined && !old.isDirectory() });
  return true;
}

function takeEmpty(work: Work, step: Step & { readonly after: Stamp }, places: Places): void {
  if (!isSame(look(places.at), step.after)) return;
  inWritable(work.disk, { step, places }, () => {
    work.disk.removeEmpty(places.at);
    return true;
  });
  forget(work, step);
}

/** A new directory by itself, without what is in it: it goes when it is empty. */
function isLone<Of extends Step>(step: Of): step is Of & { readonly after: Stamp } {
  return step.act === 'put' && step.after?.type === 'directory' && step.after.tree === undefined;
}

/** Steps of new directories in which others have put more since, taken apart: what was put in goes, and what is empty then. */
export async function inParts(work: Work): Promise<Plan> {
  const steps: Step[] = [];
  for (const step of work.plan.steps) {
    const parts = step.inside === undefined || (await isAsAfter(work, step)) ? [step] : step.inside;
    steps.push(...parts);
  }
  return { ...work.plan, steps };
}

function isOwn(now: BigIntStats, { after, number }: Step, { foreign = [] }: Work): boolean {
  return after !== undefined && isSame(now, after) && !foreign.includes(number);
}

/** INVARIANT: a file that another one takes the place of stays until that one is there. */
function setAside(disk: Disk, { at, to, forFile }: { readonly at: string; readonly to: string; readonly forFile: boolean }): void {
  if (!forFile || look(at)?.isDirectory()) move(disk, at, to);
  else if (look(to) === undefined) keep(disk, at, to);
}

/** What is in the way of taking it back: steps whose places are not as they were left. */
export async function changedSince(work: Work): Promise<readonly Step[]> {
  return whileOpen(work, async (opened) => {
    const found: Step[] = [];
    for (const step of work.plan.steps) if (!opened.includes(step) && !(await isAsAfter(work, step))) found.push(step);
    return found;
  });
}

async function isAsAfter(work: Work, step: Step): Promise<boolean> {
  if (isLone(step)) return true;
  const place = work.tree.place(step.path);
  if (place === undefined) return false;
  const now = look(place);
  const { after } = step;
  if (after === undefined || now === undefined) return after === now;
  if (after.type === 'directory') return isSame(now, after) && isTreeAsLeft(work, step, place);
  return isSame(now, after) || (modeOf(now) === after.mode && (await areIndexesSame(work, step)));
}

async function isTreeAsLeft(work: Work, step: Step, place: string): Promise<boolean> {
  const { path, after, indexes = [] } = step;
  if (after?.tree === undefined) return true;
  const { digest, entries } = await readTree(place);
  if (digest === after.tree) return true;
  const left = new Map(indexes.map(({ path: at, stamp }) => [at.slice(path.length + 1), stamp]));
  return treeOf(entries, 0n, left).digest === after.tree && areIndexesSame(work, step);
}

/** They name what they named when the step was done, and nothing else does what was made since. */
async function areIndexesSame(work: Work, { indexes = [] }: Pick<Step, 'indexes'>): Promise<boolean> {
  const { programs, own, plan, tree } = work;
  const digest = (path: string, index?: string) =>
    indexDigest(programs, { workspaceRoot: plan.workspaceRoot, path, ...(index === undefined ? {} : { index }) });
  for (const { path, copy } of indexes) {
    const then = await digest(path, `${realpathSync(own)}/index/${copy}`);
    if (then === undefined || (await digest(path)) !== then) return false;
    const place = tree.place(path);
    if (place === undefined || (await isNamedSince(parentOf(place), doneAt(work), { index: false }))) return false;
  }
  return indexes.length > 0;
}
