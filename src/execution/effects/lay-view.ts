/** What lies in a view before anything is started in it, and its end. */

import { chmodSync, chownSync, linkSync, lutimesSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Fault } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { say } from '#kernel/text/message';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { isInside, runsFolder } from '../sandbox/entries.ts';
import type { Hands } from './carry-out.ts';
import { look, walk } from './stamp.ts';
import { holderMode, holderText, isPrivileged, upperOf, type View, type ViewPlace } from './view.ts';

/**
 * SECURITY: a secret's content is not within reach, for a place holder lies over it in the upper directory. The command can still delete,
 * rename or replace that; over a mount `rm`, `git clean` and `mv` would fail.
 * @param hide files of the workspace, below it
 */
export async function openView(place: ViewPlace, hide: readonly string[], programs: ProgramRunner): Promise<View> {
  const { workspaceRoot, scratch, kind } = place;
  const upper = upperOf(place);
  for (const part of ['upper', 'work']) mkdirSync(`${scratch}/${part}`, { mode: 0o700 });
  if (kind === 'copy') await copyWorkspace(place, programs);
  const there = hide.filter((file) => look(`${workspaceRoot}/${file}`) !== undefined);
  const parents = [...new Set(there.flatMap(directoriesAbove))];
  if (kind === 'overlay') await layOverlay(place, there, programs);
  for (const parent of parents) {
    mkdirSync(`${upper}/${parent}`, { recursive: true });
    chmodSync(`${upper}/${parent}`, 0o700);
  }
  if (there.length > 0) writeFileSync(`${scratch}/work/parents`, parents.map((parent) => `${parent}\0`).join(''));
  const holders = new Map(there.map((file, index) => [layHolder(place, file, index), file]));
  for (const parent of ['', ...parents]) giveLooks(`${workspaceRoot}/${parent}`, `${upper}/${parent}`);
  return {
    ...place,
    ...(isWithin(place) ? { concealed: runsFolder } : {}),
    holders,
    hidden: new Set(there),
    laidRoot: look(upper),
    laid: kind === 'copy' ? await lookAtAll(upper) : new Map(parents.flatMap((parent) => laidDirectory(upper, parent))),
  };
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

/** Outer ones first. */
function directoriesAbove(file: string): readonly string[] {
  const names = file.split('/').slice(0, -1);
  return names.map((_name, index) => names.slice(0, index + 1).join('/'));
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

/** @returns its inode number, which a second name keeps from being given away; the kernel leaves that one alone in its `work` */
function layHolder({ scratch, workspaceRoot }: ViewPlace, file: string, index: number): string {
  const holder = `${upperOf({ scratch })}/${file}`;
  rmSync(holder, { force: true });
  writeFileSync(holder, holderText, { flag: 'wx' });
  chmodSync(holder, holderMode);
  const secret = look(`${workspaceRoot}/${file}`);
  if (secret !== undefined) lutimesSync(holder, Number(secret.atimeMs) / 1_000, Number(secret.mtimeNs) / 1e9);
  linkSync(holder, `${scratch}/work/hidden-${index}`);
  return String(look(holder)?.ino);
}

/** An upper directory gives the one that is seen its owner, mode and times. */
function giveLooks(lower: string, upper: string): void {
  const { mode, uid, gid, atimeMs, mtimeMs } = statSync(lower);
  if (isPrivileged()) chownSync(upper, uid, gid);
  chmodSync(upper, mode & 0o7777);
  lutimesSync(upper, atimeMs / 1_000, mtimeMs / 1_000);
}

/** Of a run that is sorted, or came to nothing. */
export async function closeView({ directory, scratch }: Pick<ViewPlace, 'directory' | 'scratch'>, hands: Hands): Promise<void> {
  for (const part of ['upper', 'work', 'look', 'caches']) await removeApart(`${scratch}/${part}`, hands);
  for (const table of ['mounts', 'look-mounts']) hands.disk.remove(`${scratch}/${table}`);
  for (const list of ['ask', 'seen']) hands.disk.remove(`${directory}/${list}`);
  await removeApart(`${directory}/copied`, hands);
  if (scratch !== directory) hands.disk.remove(scratch);
}

const fewEntries = 500;

/** A hundred thousand files take their time, and others wait for this process; for a few a process of their own would take longer. */
async function removeApart(directory: string, { programs, disk }: Hands): Promise<void> {
  const options = { cwd: '/', env: launcherEnvironment, timeoutMs: 600_000, keepBytes: 1_024 };
  if (look(directory) !== undefined && !hasFew(directory))
    await programs.run({ program: '/bin/rm', args: ['-rf', '--', directory], ...options }, new AbortController().signal);
  // What had closed itself is left.
  disk.remove(directory);
}

function hasFew(directory: string): boolean {
  const open = [directory];
  let count = 0;
  try {
    for (let at = open.pop(); at !== undefined && count <= fewEntries; at = open.pop()) {
      const entries = readdirSync(at, { withFileTypes: true });
      count += entries.length;
      open.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${at}/${name}`));
    }
    return count <= fewEntries;
  } catch {
    return false;
  }
}
