/** What lies in a view before anything is started in it, and its end. */

import {
  chmodSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { pathChanged } from '#files/directory-pin';
import { type HeldTree, holdTree } from '#files/held-tree';
import { Fault, reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { say } from '#kernel/text/message';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { isInside, runsFolder } from '../sandbox/entries.ts';
import type { Hands } from './carry-out.ts';
import { disk as realDisk } from './disk.ts';
import { directoriesAbove, look, walk } from './stamp.ts';
import { holderMode, holderText, isPrivileged, upperOf, type View, type ViewPlace } from './view.ts';

/**
 * SECURITY: a secret's content is not within reach, for a place holder lies over it in the upper directory. The command can still delete,
 * rename or replace that; over a mount `rm`, `git clean` and `mv` would fail.
 * @param hide files of the workspace, below it
 * @throws {Fault} `PATH_CHANGED` where one of them is reached through a link by now
 */
export async function openView(place: ViewPlace, hide: readonly string[], programs: ProgramRunner): Promise<View> {
  const { workspaceRoot, scratch, kind } = place;
  const upper = upperOf(place);
  for (const part of ['upper', 'work']) mkdirSync(`${scratch}/${part}`, { mode: 0o700 });
  if (kind === 'copy') await copyWorkspace(place, programs);
  const there = hide.filter((file) => look(`${workspaceRoot}/${file}`) !== undefined);
  const above = new Set(there.flatMap(directoriesAbove));
  const parents = [...above];
  // SECURITY: one was a file and is a directory by now: copied as a link it would lead the copy of the other one elsewhere.
  if (there.some((file) => above.has(file))) throw pathChanged();
  if (kind === 'overlay') await layOverlay(place, there, programs);
  if (there.length > 0) writeFileSync(`${scratch}/work/parents`, parents.map((parent) => `${parent}\0`).join(''));
  const holders = layHolders(place, there, parents);
  return {
    ...place,
    ...(isWithin(place) ? { concealed: runsFolder } : {}),
    holders,
    hidden: new Set(there),
    laidRoot: look(upper),
    laid: kind === 'copy' ? await lookAtAll(upper) : new Map(parents.flatMap((parent) => laidDirectory(upper, parent))),
  };
}

/**
 * SECURITY: what was copied from the workspace may hold a link where a directory was: nothing is laid through it.
 * @param parents the directories above, outer ones first
 * @returns their paths by inode number
 */
function layHolders(place: ViewPlace, files: readonly string[], parents: readonly string[]): View['holders'] {
  const tree = holdTree(realpathSync(upperOf(place)));
  try {
    for (const parent of parents) openParent(placeIn(tree, parent));
    const holders = new Map(files.map((file, index) => [layHolder(place, { file, index, at: placeIn(tree, file) }), file]));
    for (const parent of ['', ...parents]) giveLooks(`${place.workspaceRoot}/${parent}`, placeIn(tree, parent));
    return holders;
  } finally {
    tree.close();
  }
}

function placeIn(tree: Pick<HeldTree, 'place'>, path: string): string {
  const place = tree.place(path);
  if (place === undefined) throw pathChanged();
  return place;
}

function openParent(at: string): void {
  const stats = look(at);
  if (stats === undefined) mkdirSync(at);
  else if (!stats.isDirectory()) throw pathChanged();
  realDisk.chmod(at, 0o700);
}

/** The journal lies in the workspace. */
function isWithin({ directory, workspaceRoot }: ViewPlace): boolean {
  return isInside(directory, workspaceRoot);
}

async function layOverlay(place: ViewPlace, hide: readonly string[], programs: ProgramRunner): Promise<void> {
  await copyParents(place, hide, programs);
  if (isWithin(place)) await layWhiteout(`${upperOf(place)}/${runsFolder}`, programs);
}

/** The overlay's mark that there is nothing: any user may make one, and Node cannot. Source: `overlayfs.rst`; Linux 5.8. */
async function layWhiteout(at: string, programs: ProgramRunner): Promise<void> {
  const options = { cwd: '/', env: launcherEnvironment, timeoutMs: 20_000, keepBytes: 1_024 };
  const { exitCode, stderr } = await programs.run(
    { program: 'mknod', args: [at, 'c', '0', '0'], ...options },
    new AbortController().signal,
  );
  if (exitCode !== 0) throw new Fault('sandbox_failed', say`the journal cannot be hidden from commands: ${stderr.trim()}`);
}

/** A file system that does not know when a directory was made cannot tell it from one that takes its place. */
function laidDirectory(upper: string, path: string) {
  const stats = look(`${upper}/${path}`);
  return stats === undefined || stats.birthtimeNs === 0n ? [] : [[path, stats] as const];
}

/** All but the journal, which lies in the workspace. */
const copyAll = `shopt -s dotglob nullglob; GLOBIGNORE="./$2"; set -o pipefail
printf '%s\\0' ./* | xargs -0 -r cp -a --reflink=auto -t "$1" --`;

async function copyWorkspace(place: ViewPlace, programs: ProgramRunner): Promise<void> {
  const line = isWithin(place)
    ? { program: '/bin/bash', args: ['--noprofile', '--norc', '-c', copyAll, 'bash', upperOf(place), runsFolder] }
    : { program: '/bin/cp', args: ['-a', '--reflink=auto', '-T', '--', '.', upperOf(place)] };
  const options = { cwd: place.workspaceRoot, env: launcherEnvironment, timeoutMs: 120_000, keepBytes: 1_024 };
  const { exitCode, stderr } = await programs.run({ ...line, ...options }, new AbortController().signal);
  if (exitCode !== 0) throw new Fault('sandbox_failed', say`the workspace could not be copied: ${stderr.trim().split('\n', 1)[0] ?? ''}`);
}

async function lookAtAll(upper: string): Promise<View['laid']> {
  const laid = new Map<string, View['laid'] extends ReadonlyMap<string, infer Stats> ? Stats : never>();
  for await (const { path, stats } of walk(upper)) {
    if (stats.birthtimeNs === 0n)
      throw new Fault('sandbox_failed', 'this file system does not say when an entry was made, so a copy cannot be compared');
    laid.set(path, stats);
  }
  return laid;
}

const mostCopied = { entries: 20_000, bytes: 2 ** 30 };

/** Whether a copy for each run takes no longer than a person waits. */
export async function isSmall(root: string): Promise<boolean> {
  let [entries, bytes] = [0, 0];
  for await (const { stats } of walk(root, new Set(), runsFolder)) {
    entries += 1;
    bytes += Number(stats.blocks) * 512;
    if (entries > mostCopied.entries || bytes > mostCopied.bytes) return false;
  }
  return true;
}

const mostArguments = 500;

/** With their access lists, which Node can neither read nor write; what cannot be copied is made without. */
async function copyParents({ workspaceRoot, scratch }: ViewPlace, files: readonly string[], programs: ProgramRunner): Promise<void> {
  const nested = files.filter((file) => file.includes('/')).map((file) => `./${file}`);
  const line = ['--parents', '--attributes-only', '--no-dereference', '--preserve=mode,ownership', '-t', upperOf({ scratch }), '--'];
  const options = { cwd: workspaceRoot, env: launcherEnvironment, timeoutMs: 60_000, keepBytes: 1_024 };
  for (let start = 0; start < nested.length; start += mostArguments) {
    const args = [...line, ...nested.slice(start, start + mostArguments)];
    await programs.run({ program: '/bin/cp', args, ...options }, new AbortController().signal);
  }
}

interface Laying {
  readonly file: string;
  readonly index: number;
  readonly at: string;
}

/** @returns its inode number, which a second name keeps from being given away; the kernel leaves that one alone in its `work` */
function layHolder({ scratch, workspaceRoot }: ViewPlace, { file, index, at }: Laying): string {
  rmSync(at, { force: true });
  writeFileSync(at, holderText, { flag: 'wx' });
  chmodSync(at, holderMode);
  const secret = look(`${workspaceRoot}/${file}`);
  if (secret !== undefined) lutimesSync(at, Number(secret.atimeMs) / 1_000, Number(secret.mtimeNs) / 1e9);
  linkSync(at, `${scratch}/work/hidden-${index}`);
  return String(look(at)?.ino);
}

/** An upper directory gives the one that is seen its owner, mode and times. */
function giveLooks(lower: string, upper: string): void {
  const { mode, uid, gid, atimeMs, mtimeMs } = statSync(lower);
  if (isPrivileged()) lchownSync(upper, uid, gid);
  realDisk.chmod(upper, mode & 0o7777);
  lutimesSync(upper, atimeMs / 1_000, mtimeMs / 1_000);
}

/** Small ones go after the answer: to remove them takes longer than most commands. `work` last: where that is, some of them may be (`hasView`). */
const viewParts = ['upper', 'look', 'caches', 'copied', 'mounts', 'look-mounts', 'ask', 'seen', 'work'] as const;

interface Closing extends Pick<ViewPlace, 'directory' | 'scratch'> {
  /** The run's own directory stays: it was applied. */
  readonly isKept: boolean;
}

/**
 * Of a run that is sorted, or came to nothing: when this returns, nothing of the view lies where a run's own would. INVARIANT: nothing is ever read
 * where it lies then, and anybody may remove it (`leftIn`), so that a process that ends before does no harm.
 * @returns what is left to be removed
 */
export async function closeView({ directory, scratch, isKept }: Closing, hands: Hands): Promise<readonly string[]> {
  for (const place of new Set([directory, scratch]))
    for (const part of viewParts) if (!isSmallTree(`${place}/${part}`)) await removeApart(`${place}/${part}`, hands);
  const left: string[] = [];
  if (scratch !== directory) left.push(...setAside(scratch, hands));
  if (!isKept) return [...left, ...setAside(directory, hands)];
  const parts = viewParts.filter((part) => look(`${directory}/${part}`) !== undefined);
  if (parts.length === 0) return left;
  const gone = asideOf(directory);
  try {
    hands.disk.mkdir(gone);
  } catch {
    // Of a process that was killed here, or the disk is full: then each part is removed at once.
  }
  for (const part of parts) moveOrRemove(`${directory}/${part}`, `${gone}/${part}`, hands.disk);
  return [...left, gone];
}

function setAside(directory: string, { disk }: Hands): readonly string[] {
  const gone = asideOf(directory);
  return moveOrRemove(directory, gone, disk) ? [gone] : [];
}

/** rename(2): without root a directory that is closed to its owner cannot be moved into another one. */
function moveOrRemove(from: string, to: string, disk: Hands['disk']): boolean {
  try {
    disk.rename(from, to);
    return true;
  } catch {
    disk.remove(from);
    return false;
  }
}

/** A name that no run has. */
function asideOf(directory: string): string {
  const slash = directory.lastIndexOf('/');
  return `${directory.slice(0, slash)}/gone-${directory.slice(slash + 1)}`;
}

/** What `closeView` left to be removed, of processes that ended meanwhile too. */
export function leftIn(place: string): readonly string[] {
  return readdirSync(place)
    .filter((name) => name.startsWith('gone-'))
    .map((name) => `${place}/${name}`);
}

/** Whether a process that was killed after it had applied a run left the view. */
export function hasView(directory: string): boolean {
  return look(`${directory}/work`) !== undefined;
}

/** Another process may be at the same. */
async function removeLeft(left: readonly string[], { disk }: Hands): Promise<void> {
  for (const place of left) {
    try {
      await rm(place, { recursive: true, force: true });
    } catch {
      // What a command closed, or made too deep for a path.
      disk.remove(place);
    }
  }
}

export interface Leavings {
  /** The answer does not wait for it. A process that ends before leaves it to the next one (`leftIn`). */
  remove(left: readonly string[]): Promise<unknown>;
  /** All that was to go is gone. */
  gone(): Promise<unknown>;
}

export function createLeavings(hands: Hands, log: Log): Leavings {
  let leaving: Promise<unknown> = Promise.resolve();
  return {
    remove: (left) => {
      const removed = removeLeft(left, hands).catch((thrown: unknown) => {
        // Another process may have been faster.
        if (left.some((place) => look(place) !== undefined)) log.warn(`what a run left is not gone: ${reasonOf(thrown)}`);
      });
      leaving = Promise.all([leaving, removed]);
      return leaving;
    },
    gone: () => leaving,
  };
}

const [fewEntries, fewBlocks] = [500, 131_072];

/** A hundred thousand files take their time, and others wait for this process; for a few a process of their own would take longer. */
async function removeApart(directory: string, { programs, disk }: Hands): Promise<void> {
  const options = { cwd: '/', env: launcherEnvironment, timeoutMs: 600_000, keepBytes: 1_024 };
  await programs.run({ program: '/bin/rm', args: ['-rf', '--', directory], ...options }, new AbortController().signal);
  // What had closed itself is left.
  disk.remove(directory);
}

/** Entries and room. What is not there is small; what a command closed is not known to be. */
function isSmallTree(top: string): boolean {
  const open = look(top)?.isDirectory() ? [top] : [];
  let [count, blocks] = [0, 0];
  try {
    for (let at = open.pop(); at !== undefined && count <= fewEntries; at = open.pop()) {
      const entries = readdirSync(at, { withFileTypes: true });
      count += entries.length;
      if (count > fewEntries) return false;
      const directories = entries.filter((entry) => entry.isDirectory());
      open.push(...directories.map(({ name }) => `${at}/${name}`));
      for (const entry of entries) blocks += directories.includes(entry) ? 0 : lstatSync(`${at}/${entry.name}`).blocks;
    }
    return count <= fewEntries && blocks <= fewBlocks;
  } catch {
    return false;
  }
}
