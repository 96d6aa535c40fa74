/** Where runs of a workspace can keep their view and their journal, and whether this machine can have a view at all. */
import { createHash } from 'node:crypto';
import { accessSync, constants, lstatSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { reasonOf } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { isInside } from '../sandbox/is-inside.ts';
import { readDifference } from './difference.ts';
import { disk } from './disk.ts';
import { createLooker, isPrivileged, openView, overView, type View } from './view.ts';

/** How commands of this workspace run. */
export type EffectsWay =
  | {
      readonly kind: 'overlay';
      readonly journal: string;
      /** What is different from a plain run, for `doctor`; undefined: nothing. */
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

/** Tried, not looked up. @throws only the signal's reason */
export async function findWay(request: PlaceRequest, signal: AbortSignal): Promise<EffectsWay> {
  if (process.platform !== 'linux') {
    return none(`there is no copy-on-write view for ${process.platform} yet`, 'run on Linux, or in a Linux container');
  }
  const mounts = readMounts();
  const within = mounts.find(({ at }) => at !== request.workspaceRoot && isInside(at, request.workspaceRoot));
  if (within !== undefined) {
    return none(`another file system is mounted in the workspace, at \`${within.at}\``, 'open a folder without mounts in it');
  }
  const base = placesFor(request, mounts).find((place) => isUsable(place, request.workspaceRoot, mounts));
  if (base === undefined) {
    const better = `put Banksman's state directory on the workspace's file system, or make its parent folder writable`;
    return none('there is no place of our own on the file system of the workspace', better);
  }
  try {
    await tryView(base, request.programs, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const why = reasonOf(thrown);
    const better = remedyFor(why);
    return none(`overlayfs cannot be mounted: ${why}`, better);
  }
  const key = createHash('sha256').update(request.workspaceRoot).digest('hex').slice(0, 16);
  const note = 'without root a directory that was there cannot be given another name by rename(2) (EXDEV); `mv` copies it';
  return { kind: 'overlay', journal: path.join(base, key), ...(isPrivileged() ? {} : { note }) };
}

function none(reason: string, better: string): EffectsWay {
  return { kind: 'none', reason, better };
}

function remedyFor(why: string): string {
  if (/operation not permitted|unshare/i.test(why)) return 'let this user make user namespaces (AppArmor, seccomp or a sysctl forbids it)';
  return 'use a file system for the workspace that overlayfs can write to (ext4, xfs, btrfs), and Linux 5.11 or later';
}

/** The state directory first: nothing shows up elsewhere then. Never inside the workspace, which would be a view of itself. */
function placesFor({ workspaceRoot, stateDir }: PlaceRequest, mounts: readonly MountPoint[]): readonly string[] {
  const own = `.banksman-runs-${process.getuid?.() ?? 0}`;
  const mount = mountOf(workspaceRoot, mounts);
  return [
    path.join(stateDir, 'runs'),
    ...(mount === undefined || mount.at === '/' ? [] : [path.join(mount.at, own)]),
    path.join(path.dirname(workspaceRoot), own),
  ].filter((place) => !isInside(place, workspaceRoot));
}

/** Renaming works within one mount only, even of one file system. */
function isUsable(place: string, workspaceRoot: string, mounts: readonly MountPoint[]): boolean {
  try {
    const parent = existing(place);
    const sameMount = mountOf(realpathSync(parent), mounts)?.id === mountOf(workspaceRoot, mounts)?.id;
    if (!sameMount || lstatSync(parent).dev !== lstatSync(workspaceRoot).dev) return false;
    accessSync(parent, constants.W_OK);
    mkdirSync(place, { recursive: true, mode: 0o700 });
    return lstatSync(place).uid === process.getuid?.();
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

/** A real run in a small workspace: each kind of mark must be read as what it is. */
async function tryView(base: string, programs: ProgramRunner, signal: AbortSignal): Promise<void> {
  const directory = mkdtempSync(path.join(base, 'probe-'));
  try {
    const workspaceRoot = path.join(directory, 'workspace');
    for (const name of ['', 'kept', 'emptied']) mkdirSync(path.join(workspaceRoot, name));
    for (const name of ['changed', 'deleted', 'kept/same', 'emptied/old']) writeFileSync(path.join(workspaceRoot, name), 'before');
    const view: View = { workspaceRoot, directory: path.join(directory, 'run') };
    mkdirSync(view.directory);
    openView(view, []);
    const script = 'cd "$1" && echo more >> changed && rm deleted && echo new > kept/new && rm -r emptied && mkdir emptied';
    const line = overView(view, { program: '/bin/bash', args: ['--noprofile', '--norc', '-c', script, 'bash', workspaceRoot] });
    const limits = { cwd: '/', env: launcherEnvironment, timeoutMs: 20_000, keepBytes: 4_096 };
    const { exitCode, stderr } = await programs.run({ ...line, ...limits }, signal);
    if (exitCode !== 0) throw new Error(stderr.trim().split('\n', 1)[0] ?? `exit code ${exitCode}`);
    const request = { view, looker: createLooker(programs), limits: { entries: 100, bytes: 2 ** 20 } };
    const { units } = await readDifference(request, signal);
    const seen = units.map(({ kind, path: at }) => `${kind} ${at}`).sort();
    const expected = ['create kept/new', 'delete deleted', 'modify changed', 'replace emptied'];
    if (seen.join() !== expected.join()) throw new Error(`the difference reads wrong here: ${seen.join(', ')}`);
  } finally {
    disk.remove(directory);
  }
}
