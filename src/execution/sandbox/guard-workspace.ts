/**
 * Which parts of the workspace a command gets read-only or not at all, as mounts over the workspace's own.
 * SECURITY: every source in the workspace is an open descriptor, reached without following a link. A path would be resolved a second time by bubblewrap,
 * and another command in the same workspace could have put a link to the outside there meanwhile.
 */

import { chmodSync, closeSync, constants, fstatSync, mkdirSync, openSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '#kernel/errors';
import type { Segments } from '#kernel/ports/path-facts';
import { say } from '#kernel/text/message';
import { isInside } from './entries.ts';
import { configuredPlaces } from './git-directory.ts';
import type { Scan, ScanFinding } from './scan-workspace.ts';

export interface GuardRequest {
  readonly root: string;
  readonly scan: Scan;
  /** Made where there is something to hide. */
  readonly masks: () => Masks;
  /** Absolute, real paths that must not be seen; those outside the workspace are absent anyway. */
  readonly hidden: readonly string[];
  /** The workspace as a whole is read-only: only what is hidden needs a mount. */
  readonly readonly: boolean;
}

/** Something of the host's. */
export interface BindMount {
  /** Of bubblewrap. */
  readonly how: '--bind-fd' | '--ro-bind-fd';
  readonly descriptor: number;
  readonly at: string;
}

/** Memory of the command's own: empty at first, and gone with it. */
export interface EmptyMount {
  readonly how: '--tmpfs';
  readonly at: string;
}

/** Something of our own, by its path, which no command can change: in another mount namespace an open descriptor cannot be mounted. */
export interface OwnMount {
  readonly how: '--ro-bind';
  readonly source: string;
  readonly at: string;
}

export type Mount = BindMount | EmptyMount | OwnMount;

export interface Guard {
  readonly mounts: readonly Mount[];
  /** Closes the descriptors and takes away the empty directories that were made; idempotent. */
  release(): void;
}

/**
 * Made for the time of a run where they are missing: an empty one means nothing, and the editor obeys what is put into it at once. Nothing is:
 * the command has memory in its place, for there is nothing to show, and bubblewrap mounts that five times as fast.
 */
const placeholders: readonly Segments[] = [['.vscode'], ['.idea'], ['.devcontainer'], ['.claude'], ['.cursor']];
const mostMounts = 800;

// `open(2)`, O_PATH of asm-generic: a descriptor that stands for the entry and neither reads it nor blocks.
const pathOnly = 0o10000000;

/** @throws {Fault} `sandbox_failed` when there is too much to guard */
export function guardWorkspace(request: GuardRequest): Guard {
  const made = request.readonly ? [] : makePlaceholders(request);
  const opened: number[] = [];
  const release = () => {
    for (const descriptor of opened.splice(0)) closeSync(descriptor);
    for (const directory of made.splice(0)) leave(directory);
  };
  try {
    const mounts = [...keepers(request, made, opened), ...covers(request)];
    if (mounts.length > mostMounts) throw tooMany(mounts.length);
    return { mounts, release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}

/** What stays visible and can no longer be changed. Outer directories first: a later mount lies on top. */
function keepers({ root, scan, hidden, readonly }: GuardRequest, made: readonly string[], opened: number[]): readonly Mount[] {
  if (readonly) return [];
  const repositories = scan.findings.filter(({ kind }) => kind === 'git_directory').map(({ path: at }) => at.split('/'));
  const fixed = [
    ...outermost(scan.findings.filter(({ kind, link }) => kind === 'control' && !link)),
    ...outermost(scan.findings.filter(({ kind, link }) => kind === 'git_point' && !link)),
    ...placeholders,
    ...repositories.map((repository) => [...repository, 'hooks']),
    ...repositories.flatMap((repository) => configuredPlaces(root, repository)),
  ];
  return [
    // Mounted on itself: the name of a mount point cannot be given to another directory. What is hidden would be found at its new place.
    ...unique([...placesIn(root, hidden).flatMap(directoriesAbove), ...repositories]).flatMap((directory) =>
      mountOf('--bind-fd', directory, { root, opened }),
    ),
    ...unique(fixed).flatMap((segments): readonly Mount[] => {
      const at = path.join(root, ...segments);
      return made.includes(at) ? [{ how: '--tmpfs', at }] : mountOf('--ro-bind-fd', segments, { root, opened });
    }),
  ];
}

/** What is there and says nothing: secrets, and sockets on which somebody outside listens. */
function covers({ root, scan, masks, hidden }: GuardRequest): readonly Mount[] {
  const found = scan.findings.filter(({ kind, link }) => (kind === 'secret' || kind === 'socket') && !link);
  return cover({ root, masks }, [...found.map(({ path: at }) => at.split('/')), ...placesIn(root, hidden)]);
}

/** What must not be seen, over a view that nobody else can change meanwhile. All else is either hidden in the view or judged afterwards. */
export function coverOwn({ root, hidden, masks }: Pick<GuardRequest, 'root' | 'hidden' | 'masks'>): readonly Mount[] {
  return cover({ root, masks }, placesIn(root, hidden));
}

function cover({ root, masks }: Pick<GuardRequest, 'root' | 'masks'>, places: readonly Segments[]): readonly Mount[] {
  return unique(places).flatMap((segments) => {
    const descriptor = openBelow(root, segments);
    if (descriptor === undefined) return [];
    const isDirectory = fstatSync(descriptor).isDirectory();
    closeSync(descriptor);
    return [{ how: '--ro-bind' as const, source: isDirectory ? masks().directory : masks().file, at: path.join(root, ...segments) }];
  });
}

/** Of absolute paths those below the root, as names. */
function placesIn(root: string, paths: readonly string[]): readonly Segments[] {
  return paths.filter((entry) => isInside(entry, root) && entry !== root).map((entry) => path.relative(root, entry).split(path.sep));
}

/** Below the root, the outermost first. */
function directoriesAbove(place: Segments): readonly Segments[] {
  return place.slice(1).map((_name, index) => place.slice(0, index + 1));
}

function mountOf(
  how: BindMount['how'],
  segments: Segments,
  place: { readonly root: string; readonly opened: number[] },
): readonly BindMount[] {
  const descriptor = openBelow(place.root, segments);
  if (descriptor === undefined) return [];
  place.opened.push(descriptor);
  const stats = fstatSync(descriptor);
  // A link is found by the search afterwards; nothing can be mounted on one.
  return stats.isDirectory() || stats.isFile() ? [{ how, descriptor, at: path.join(place.root, ...segments) }] : [];
}

/** The entry itself, a link included, every directory on the way a real one; undefined when there is none. */
function openBelow(root: string, segments: Segments): number | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(root, pathOnly | constants.O_DIRECTORY);
    for (const [index, segment] of segments.entries()) {
      const kind = index < segments.length - 1 ? constants.O_DIRECTORY : 0;
      const next = openSync(`/proc/self/fd/${descriptor}/${segment}`, pathOnly | constants.O_NOFOLLOW | kind);
      closeSync(descriptor);
      descriptor = next;
    }
    return descriptor;
  } catch {
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }
}

function outermost(findings: readonly ScanFinding[]): readonly Segments[] {
  const paths = findings.map(({ path: at }) => at).sort();
  const kept: string[] = [];
  for (const at of paths) if (!kept.some((outer) => isInside(at, outer))) kept.push(at);
  return kept.map((at) => at.split('/'));
}

function unique(all: readonly Segments[]): readonly Segments[] {
  return [...new Map(all.map((segments) => [segments.join('/'), segments])).values()];
}

/** How many runs of this process count on a placeholder. */
const users = new Map<string, number>();

function makePlaceholders({ root, scan }: GuardRequest): string[] {
  const hooks = scan.findings.filter(({ kind }) => kind === 'git_directory').map(({ path: at }) => [...at.split('/'), 'hooks']);
  return [...placeholders, ...hooks].flatMap((segments) => {
    const directory = path.join(root, ...segments);
    if ((users.get(directory) ?? 0) === 0 && !make(directory)) return [];
    users.set(directory, (users.get(directory) ?? 0) + 1);
    return [directory];
  });
}

/** Only what this call made is taken away later. */
function make(directory: string): boolean {
  try {
    mkdirSync(directory);
    return true;
  } catch {
    return false;
  }
}

function leave(directory: string): void {
  const left = (users.get(directory) ?? 1) - 1;
  if (left > 0) {
    users.set(directory, left);
    return;
  }
  users.delete(directory);
  try {
    // Fails when a person has put something into it meanwhile, which is right.
    rmdirSync(directory);
  } catch {
    // It stays.
  }
}

function tooMany(count: number): Fault {
  return new Fault('sandbox_failed', say`${count} secrets and hooks would have to be guarded in this workspace, more than ${mostMounts}`, {
    next: 'open a smaller folder, or take the secret files out of it',
  });
}

/** An empty file and an empty directory that nobody may open, by their paths, to be laid over what a command must not see. */
export interface Masks {
  readonly file: string;
  readonly directory: string;
}

/**
 * Mode 0 instead of `/dev/null`: a program that opens it gets "permission denied" rather than an empty file, and git refuses to commit
 * it as a change. @param stateDir where they are kept, outside every workspace
 */
export function makeMasks(stateDir: string): Masks {
  const folder = path.join(stateDir, 'sandbox');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const masks = { file: path.join(folder, 'masked-file'), directory: path.join(folder, 'masked-directory') };
  writeEmpty(masks.file);
  mkdirSync(masks.directory, { recursive: true, mode: 0 });
  chmodSync(masks.directory, 0);
  return masks;
}

function writeEmpty(file: string): void {
  try {
    writeFileSync(file, '', { mode: 0, flag: 'wx' });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    chmodSync(file, 0);
  }
}
