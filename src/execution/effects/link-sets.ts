/**
 * Files with several names. Over an overlay each name gets a copy of its own as soon as it is written to; on the disk what is written through one
 * name is seen through all of them. So the other names get the new file, too, as far as they lie in the workspace.
 */

import type { BigIntStats } from 'node:fs';
import { basename } from 'node:path';
import { Fault } from '#kernel/errors';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import type { DifferenceRequest } from './difference.ts';
import { isSameContent, look, modeOf, stampOf } from './stamp.ts';
import type { Before, NewEntry, Unit } from './unit.ts';
import { upperOf } from './view.ts';

type LinkGround = Pick<DifferenceRequest, 'view' | 'programs'>;

interface Changed extends Unit {
  readonly before: Before;
  readonly after: NewEntry;
}

/** Beyond these `find` is not given each number, and lists all files that have several names. */
const mostNumbers = 200;

/** @param units of files as each name alone tells */
export async function withLinkSets(units: readonly Unit[], ground: LinkGround): Promise<readonly Unit[]> {
  const isFile = (unit: Unit): unit is Changed => unit.before !== undefined && unit.after?.stats.isFile() === true;
  const sets = Map.groupBy(units.filter(isFile), ({ before }) => before.stamp.inode);
  const setOf = (unit: Changed) => sets.get(unit.before.stamp.inode) ?? [unit];
  // Written through several names they are one file as root, where the overlay keeps note of that, and else a copy each.
  const isOne = ([first, ...others]: readonly Changed[]) =>
    others.every(({ kind, after }) => kind === 'modify' && after.stats.ino === first?.after.stats.ino);
  const isFirst = (unit: Changed) => setOf(unit)[0] === unit && isOne(setOf(unit));
  const written = units.filter(isFile).filter((unit) => unit.writtenThrough === true && isFirst(unit));
  const firsts = new Map(written.map((first) => [first.before.stamp.inode, first]));
  const firstOf = (unit: Changed) => {
    const first = firsts.get(unit.before.stamp.inode);
    return first === unit ? undefined : first;
  };
  const settled = units.map((unit): Unit => {
    if (!isFile(unit)) return unit;
    // Of one file there is one mode and one time: the last.
    if (unit.kind === 'attributes') return { ...unit, after: { ...setOf(unit).reduce(newer).after, path: unit.path } };
    const first = unit.kind === 'modify' ? firstOf(unit) : undefined;
    return first === undefined ? unit : { ...unit, after: { ...unit.after, pure: true, nameOf: first.path } };
  });
  const moved = await withMovedNames([...settled, ...(await otherNames(written, settled, ground))], ground);
  return withNamesOfModes(moved, ground);
}

/** SECURITY: a mode is the file's, whichever of its names the command gave it by, and one of them may be a hook. */
async function withNamesOfModes(units: readonly Unit[], ground: LinkGround): Promise<readonly Unit[]> {
  const lower = (path: string) => look(`${ground.view.workspaceRoot}/${path}`);
  const isShared = ({ path, kind, before, after }: Unit) =>
    kind === 'attributes' && before?.stamp.type === 'file' && after !== undefined && modeOf(after.stats) !== before.stamp.mode
      ? (lower(path)?.nlink ?? 1n) > 1n
      : false;
  const shared = new Set(units.filter(isShared));
  if (shared.size === 0) return units;
  const { names, isAll } = await namesOf([...new Set([...shared].map(({ before }) => before?.stamp.inode ?? ''))], ground);
  const byInode = Map.groupBy(names, (name) => String(lower(name)?.ino));
  return units.map((unit) => {
    if (!shared.has(unit)) return unit;
    const others = byInode.get(unit.before?.stamp.inode ?? '') ?? [];
    return { ...unit, otherNames: isAll ? others.filter((name) => name !== unit.path) : 'unknown' };
  });
}

interface Gone {
  readonly path: string;
  readonly stats: BigIntStats;
}

/**
 * Where a file went that has other names, what was put elsewhere and is the same is taken for it: `mv` of a directory keeps no names together, as the
 * view gives it a copy.
 */
async function withMovedNames(units: readonly Unit[], ground: LinkGround): Promise<readonly Unit[]> {
  const gone = units.flatMap((unit) => goneFiles(unit, ground));
  if (gone.length === 0) return units;
  const isPut = ({ linkTo, nameOf }: NewEntry) => linkTo === undefined && nameOf === undefined;
  const put = units.flatMap(({ kind, after, inside }) => (after === undefined || kind === 'attributes' ? [] : [after, ...inside]));
  const moved = await movedTo(put.filter(isPut), gone, ground);
  if (moved.size === 0) return units;
  const numbers = [...new Set([...moved.values()].map(({ stats }) => String(stats.ino)))];
  const names = await namesStaying(numbers, units, ground);
  const linked = (entry: NewEntry): NewEntry => {
    const linkTo = names.get(String(moved.get(entry.path)?.stats.ino));
    return linkTo === undefined ? entry : { ...entry, pure: true, linkTo };
  };
  return units.map((unit) => {
    if (unit.after === undefined || unit.kind === 'attributes') return unit;
    return { ...unit, after: linked(unit.after), inside: unit.inside.map(linked) };
  });
}

/** By the path of what was put somewhere what went: it moved to no more names than it had, and what came later is a copy. */
async function movedTo(put: readonly NewEntry[], gone: readonly Gone[], { view }: LinkGround): Promise<ReadonlyMap<string, Gone>> {
  const lookOf = ({ stats: { size, mtimeNs, mode } }: Pick<Gone, 'stats'>) => `${size} ${mtimeNs} ${mode}`;
  const goneByLook = Map.groupBy(gone, lookOf);
  const found: { readonly entry: NewEntry; readonly was: Gone }[] = [];
  for (const entry of put) {
    const alike: Gone[] = [];
    for (const one of entry.stats.isFile() ? (goneByLook.get(lookOf(entry)) ?? []) : [])
      if (await isSameContent(entry.source, `${view.workspaceRoot}/${one.path}`)) alike.push(one);
    const was = onlyOne(alike, entry);
    if (was !== undefined) found.push({ entry, was });
  }
  // A directory that the kernel moved is copied after all others.
  const ageOf = ({ source, stats }: NewEntry) => (source.startsWith(`${view.directory}/copied/`) ? 0n : stats.birthtimeNs);
  const byAge = found.toSorted((one, other) => Number(ageOf(one.entry) - ageOf(other.entry)));
  const goneNames = Map.groupBy(gone, ({ stats }) => stats.ino);
  const sets = [...Map.groupBy(byAge, ({ was }) => was.stats.ino)];
  const kept = sets.flatMap(([inode, copies]) => copies.slice(0, goneNames.get(inode)?.length));
  return new Map(kept.map(({ entry, was }) => [entry.path, was]));
}

/** Two files that are alike are told by their name; where that does not tell, a file of its own is right and another's name is not. */
function onlyOne(alike: readonly Gone[], { path: put }: NewEntry): Gone | undefined {
  const isOne = (some: readonly Gone[]) => new Set(some.map(({ stats }) => stats.ino)).size === 1;
  const named = alike.filter(({ path: gone }) => basename(gone) === basename(put));
  return [alike, named].find(isOne)?.[0];
}

function goneFiles({ kind, path, before }: Unit, { view }: LinkGround): readonly Gone[] {
  if (before === undefined || kind === 'attributes') return [];
  const stats = look(`${view.workspaceRoot}/${path}`);
  const inside = before.tree?.entries.map((entry) => ({ ...entry, path: `${path}/${entry.path}` })) ?? [];
  return [...(stats === undefined ? [] : [{ path, stats }]), ...inside].filter((one) => one.stats.isFile() && one.stats.nlink > 1n);
}

/** By inode number one name of the file at which nothing happens. */
async function namesStaying(numbers: readonly string[], units: readonly Unit[], ground: LinkGround): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const name of (await namesOf(numbers, ground)).names.filter((one) => !isTouched(one, units, ground))) {
    const inode = String(look(`${ground.view.workspaceRoot}/${name}`)?.ino);
    if (numbers.includes(inode)) found.set(inode, name);
  }
  return found;
}

function newer(one: Changed, other: Changed): Changed {
  return other.after.stats.ctimeNs > one.after.stats.ctimeNs ? other : one;
}

/** Of what was written those names at which nothing else happened. */
async function otherNames(written: readonly Changed[], units: readonly Unit[], ground: LinkGround): Promise<readonly Unit[]> {
  if (written.length === 0) return [];
  const { workspaceRoot } = ground.view;
  const found: Unit[] = [];
  const byInode = new Map(written.map((one) => [one.before.stamp.inode, one]));
  for (const name of (await namesOf([...byInode.keys()], ground)).names) {
    const stats = look(`${workspaceRoot}/${name}`);
    const one = byInode.get(String(stats?.ino));
    if (stats === undefined || one === undefined || one.path === name || isTouched(name, units, ground)) continue;
    const before = { stamp: stampOf(stats), newest: stats.ctimeNs };
    found.push({ path: name, kind: 'modify', before, after: { ...one.after, path: name, pure: true, nameOf: one.path }, inside: [] });
  }
  return found;
}

/** Something else happened at the name. */
function isTouched(name: string, units: readonly Unit[], { view }: LinkGround): boolean {
  const isAtOrAbove = ({ kind, path }: Unit) => name === path || (kind !== 'attributes' && name.startsWith(`${path}/`));
  // A copy of the workspace has all names.
  return (view.kind === 'overlay' && look(`${upperOf(view)}/${name}`) !== undefined) || units.some(isAtOrAbove);
}

const limits = { timeoutMs: 60_000, keepBytes: 64_000_000 };

interface Names {
  readonly names: readonly string[];
  /** None was passed over: all directories could be looked into. */
  readonly isAll: boolean;
}

/** Below the workspace, on its own file system. Of many files those of others are among them. @throws {Fault} `too_many_changes` */
async function namesOf(inodes: readonly string[], { view, programs }: LinkGround): Promise<Names> {
  const numbers = inodes.flatMap((inode, index) => [...(index === 0 ? [] : ['-o']), '-inum', inode]);
  const skip = view.concealed === undefined ? [] : ['-path', `./${view.concealed}`, '-prune', '-o'];
  const which = inodes.length > mostNumbers ? ['-links', '+1'] : ['(', ...numbers, ')'];
  const args = ['.', '-xdev', ...skip, '-type', 'f', ...which, '-print0'];
  const line = { program: 'find', args, cwd: view.workspaceRoot, env: launcherEnvironment, ...limits };
  const { stdout, truncated, exitCode } = await programs.run(line, new AbortController().signal);
  if (truncated)
    throw new Fault(
      'too_many_changes',
      'too many files of the workspace have several names; nothing of what the command changed was kept',
      {
        next: 'change files that have one name',
      },
    );
  const names = stdout.split('\0').flatMap((name) => (name === '' ? [] : [name.slice('./'.length)]));
  return { names, isAll: exitCode === 0 };
}
