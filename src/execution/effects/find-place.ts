/** Where runs of a workspace can keep their view and their journal, and whether this machine can have a view at all. */

import { createHash } from 'node:crypto';
import { accessSync, constants, lstatSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { makeFolder } from '#files/make-folder';
import { reasonOf } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { isInside, runsFolder } from '../sandbox/entries.ts';
import { readDifference } from './difference.ts';
import { disk } from './disk.ts';
import { isSmall, openView } from './lay-view.ts';
import { createLooker, isPrivileged, overView, upperOf } from './view.ts';

/** How commands of this workspace run, the best one that works here. */
export type EffectsWay =
  | {
      /** Over an overlay, or each on a copy of the workspace. */
      readonly kind: 'overlay' | 'copy';
      readonly journal: string;
      /** Where the overlay writes, when that is not beside the journal. */
      readonly scratch?: string;
      /** What is different from a plain run, and what would give a better way, for `doctor`; undefined: nothing. */
      readonly note?: string;
    }
  | { readonly kind: 'none'; readonly reason: string; readonly better: string };

export interface PlaceRequest {
  /** Links resolved. */
  readonly workspaceRoot: string;
  readonly stateDir: string;
  readonly programs: ProgramRunner;
}

interface MountPoint {
  readonly id: string;
  readonly at: string;
}

type NoWay = Extract<EffectsWay, { readonly kind: 'none' }>;

/** Where the journal of a workspace's changes lies: quick, and needs no view. */
export function findJournal(request: PlaceRequest): { readonly kind: 'place'; readonly base: string; readonly journal: string } | NoWay {
  if (process.platform !== 'linux') {
    return none(`changes are neither seen nor kept on ${process.platform} yet`, 'run on Linux, or in a Linux container');
  }
  const mounts = readMounts();
  const within = mounts.find(({ at }) => at !== request.workspaceRoot && isInside(at, request.workspaceRoot));
  if (within !== undefined) {
    return none(`another file system is mounted in the workspace, at \`${within.at}\``, 'open a folder without mounts in it');
  }
  const base = placesFor(request, mounts).find((place) => isUsable(place, request.workspaceRoot, mounts));
  if (base === undefined) {
    if (isReadOnly(request.workspaceRoot))
      return none('the workspace is on a file system that is read-only', 'mount it so that it can be written');
    return none('there is no place of our own on the file system of the workspace', 'make the workspace or its parent folder writable');
  }
  // Git, of people, leaves it alone.
  if (isInside(base, request.workspaceRoot)) writeFileSync(path.join(base, '.gitignore'), '*\n');
  const key = createHash('sha256').update(request.workspaceRoot).digest('hex').slice(0, 16);
  return { kind: 'place', base, journal: path.join(base, key) };
}

/** Tried, not looked up. @throws only the signal's reason */
export async function findWay(request: PlaceRequest, signal: AbortSignal): Promise<EffectsWay> {
  const found = findJournal(request);
  if (found.kind === 'none') return found;
  const { base, journal } = found;
  const failed = await whyNot({ base, kind: 'overlay' }, request.programs, signal);
  const within = isInside(base, request.workspaceRoot) ? [keptWithin(base, request.workspaceRoot)] : [];
  if (failed === undefined) return { kind: 'overlay', journal, ...notes(within) };
  const better = remedyFor(failed);
  for (const scratch of scratchPlaces(request, base)) {
    if ((await whyNot({ base, scratch, kind: 'overlay' }, request.programs, signal)) !== undefined) continue;
    const said = `what commands write is kept in \`${scratch}\` until it is copied, for beside the workspace overlayfs cannot be mounted (${failed}); better: ${better}`;
    return { kind: 'overlay', journal, scratch: path.join(scratch, path.basename(journal)), ...notes([...within, said]) };
  }
  if ((await isSmall(request.workspaceRoot)) && (await whyNot({ base, kind: 'copy' }, request.programs, signal)) === undefined) {
    const note = `each command works on a copy of the workspace (at most 20,000 entries, 1 GB), for overlayfs cannot be mounted (${failed}); better: ${better}`;
    return { kind: 'copy', journal, note: [...within, note].join('; ') };
  }
  return none(`overlayfs cannot be mounted: ${failed}, and the workspace cannot be copied for each command`, better);
}

/** Renaming ends at a mount, so there is no other place. */
function keptWithin(base: string, workspaceRoot: string): string {
  const isMount = mountOf(workspaceRoot, readMounts())?.at === workspaceRoot;
  const [why, better] = isMount
    ? ['is a mount of its own', 'open a folder below it, or mount the folder that holds it (in a container: bind that one)']
    : ['is on another file system than the state directory', 'make its parent folder writable'];
  return `the journal lies in the workspace, in \`${path.basename(base)}\`, which no command or tool sees, for the workspace ${why}; better: ${better}`;
}

function isReadOnly(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return false;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EROFS';
  }
}

function notes(said: readonly string[]): { readonly note?: string } {
  const renames =
    'without root a directory that was there cannot be given another name by rename(2) (EXDEV), nor a file of another user be changed (EOVERFLOW): a command that fails for that runs again on a copy of a workspace of at most 20,000 entries and 1 GB that this user can read';
  const all = isPrivileged() ? said : [...said, renames];
  return all.length === 0 ? {} : { note: all.join('; ') };
}

/** On other file systems than the journal's, memory last. */
function scratchPlaces({ workspaceRoot, stateDir }: PlaceRequest, base: string): readonly string[] {
  const own = runsFolder.slice(1);
  const devices = new Set([lstatSync(base).dev]);
  const places = [path.join(stateDir, 'scratch'), ...['/var/tmp', os.tmpdir(), '/dev/shm'].map((place) => path.join(place, own))];
  return places.filter((place) => {
    if (isInside(place, workspaceRoot) || !makeOwn(place)) return false;
    const { dev } = lstatSync(place);
    const isNew = !devices.has(dev);
    devices.add(dev);
    return isNew;
  });
}

function none(reason: string, better: string): NoWay {
  return { kind: 'none', reason, better };
}

function remedyFor(why: string): string {
  if (/operation not permitted|unshare/i.test(why)) return 'let this user make user namespaces (AppArmor, seccomp or a sysctl forbids it)';
  return 'use a file system for the workspace that overlayfs can write to (ext4, xfs, btrfs), and Linux 5.11 or later';
}

/** The state directory first: nothing shows up elsewhere then. In the workspace last, for people see it there. */
function placesFor({ workspaceRoot, stateDir }: PlaceRequest, mounts: readonly MountPoint[]): readonly string[] {
  const mount = mountOf(workspaceRoot, mounts);
  const outside = [
    path.join(stateDir, 'runs'),
    ...(mount === undefined || mount.at === '/' ? [] : [path.join(mount.at, runsFolder)]),
    path.join(path.dirname(workspaceRoot), runsFolder),
  ].filter((place) => !isInside(place, workspaceRoot));
  return [...outside, path.join(workspaceRoot, runsFolder)];
}

/** Renaming works within one mount only, even of one file system. */
function isUsable(place: string, workspaceRoot: string, mounts: readonly MountPoint[]): boolean {
  try {
    const parent = existing(place);
    const sameMount = mountOf(realpathSync(parent), mounts)?.id === mountOf(workspaceRoot, mounts)?.id;
    if (!sameMount || lstatSync(parent).dev !== lstatSync(workspaceRoot).dev) return false;
    return makeOwn(place);
  } catch {
    return false;
  }
}

/** SECURITY: in a place for everybody a directory of that name may be somebody else's, or a link. */
function makeOwn(place: string): boolean {
  try {
    makeFolder(place);
    accessSync(place, constants.W_OK);
    const { uid, mode } = lstatSync(place);
    return lstatSync(place).isDirectory() && uid === process.getuid?.() && (mode & 0o077) === 0;
  } catch {
    return false;
  }
}

function existing(place: string): string {
  try {
    lstatSync(place);
    return place;
  } catch {
    return existing(path.dirname(place));
  }
}

/** `proc(5)`, mountinfo: the first field is the mount's id, the fifth its place; blanks in it are octal. A later mount lies on top. */
function readMounts(): readonly MountPoint[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', , , , at = ''] = line.split(' ');
      return { id, at: at.replace(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))) };
    });
}

function mountOf(place: string, mounts: readonly MountPoint[]): MountPoint | undefined {
  const above = mounts.filter(({ at }) => isInside(place, at));
  return above.reduce<MountPoint | undefined>(
    (best, mount) => (best === undefined || mount.at.length >= best.at.length ? mount : best),
    undefined,
  );
}

interface Trial {
  readonly base: string;
  readonly scratch?: string;
  readonly kind: 'overlay' | 'copy';
}

async function whyNot(trial: Trial, programs: ProgramRunner, signal: AbortSignal): Promise<string | undefined> {
  try {
    await tryView(trial, programs, signal);
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    return reasonOf(thrown);
  }
}

/** A real run in a small workspace: each kind of mark must be read as what it is. */
async function tryView({ base, scratch, kind }: Trial, programs: ProgramRunner, signal: AbortSignal): Promise<void> {
  const own = mkdtempSync(path.join(base, 'probe-'));
  const far = scratch === undefined ? own : mkdtempSync(path.join(scratch, 'probe-'));
  try {
    const workspaceRoot = path.join(own, 'workspace');
    for (const name of ['', 'kept', 'emptied']) mkdirSync(path.join(workspaceRoot, name));
    for (const name of ['changed', 'deleted', 'kept/same', 'emptied/old']) writeFileSync(path.join(workspaceRoot, name), 'before');
    const [directory, written] = [path.join(own, 'run'), path.join(far, 'run')];
    for (const place of new Set([directory, written])) mkdirSync(place);
    const view = await openView({ kind, workspaceRoot, directory, scratch: written }, [], programs);
    const script = 'cd "$1" && echo more >> changed && rm deleted && echo new > kept/new && rm -r emptied && mkdir emptied';
    const at = kind === 'copy' ? upperOf(view) : workspaceRoot;
    const line = overView(view, { program: '/bin/bash', args: ['--noprofile', '--norc', '-c', script, 'bash', at] });
    const limits = { cwd: '/', env: launcherEnvironment, timeoutMs: 20_000, keepBytes: 4_096 };
    const { exitCode, stderr } = await programs.run({ ...line, ...limits }, signal);
    if (exitCode !== 0) throw new Error(stderr.trim().split('\n', 1)[0] ?? `exit code ${exitCode}`);
    const request = { view, programs, looker: createLooker(programs), limits: { entries: 100, bytes: 2 ** 20 } };
    const { units } = await readDifference(request, signal);
    // A directory in which something came may get its time told, too.
    const marks = units.filter((unit) => unit.kind !== 'attributes');
    const seen = marks.map((unit) => `${unit.kind} ${unit.path}`).sort();
    const expected = ['create kept/new', 'delete deleted', 'modify changed', 'replace emptied'];
    if (seen.join() !== expected.join()) throw new Error(`the difference reads wrong here: ${seen.join(', ')}`);
  } finally {
    for (const place of new Set([own, far])) disk.remove(place);
  }
}
