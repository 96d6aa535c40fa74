/** Every entry of a directory, deep if asked for, with the directory it is in pinned; and the listing of it. Links are never followed. */
import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { DirectoryPin } from '#files/directory-pin';
import type { Segments } from '#kernel/ports/path-facts';
import type { DirectoryEntry, Listing } from '#kernel/ports/workspace';
import { errnoOf } from './file-faults.ts';
import type { Glob } from './glob.ts';
import { type IgnoreFile, isIgnored, readIgnoreFile } from './ignore-rules.ts';

export interface WalkOptions {
  readonly recursive: boolean;
  /** Of the directory that is walked, below its root. */
  readonly segments: Segments;
  /** The rules above and in the walked directory. */
  readonly ignoreFiles: readonly IgnoreFile[];
  readonly limits: {
    /** Entries looked at, beyond which the walk ends. */
    readonly visits: number;
    readonly depth: number;
  };
}

export interface Visit {
  readonly directory: DirectoryPin;
  readonly entry: Dirent;
  /** Below the root. */
  readonly path: Segments;
}

export interface WalkEnd {
  /** Entries that ignore rules hid. */
  readonly ignored: number;
}

interface State {
  readonly options: WalkOptions;
  readonly signal: AbortSignal;
  readonly visit: (visit: Visit) => boolean;
  ignored: number;
  visits: number;
  pauseAt: number;
  ended: boolean;
}

/** How long the walk keeps everybody else waiting, in ms. */
const turnMs = 8;

/**
 * Sorted by name, a directory's own entries right behind it.
 * @param visit false ends the walk
 * @throws the signal's reason; the file system's error for the directory itself; what `visit` throws
 */
export async function walkEntries(
  directory: DirectoryPin,
  options: WalkOptions,
  visit: (visit: Visit) => boolean,
  signal: AbortSignal,
): Promise<WalkEnd> {
  const state: State = { options, signal, visit, ignored: 0, visits: 0, pauseAt: performance.now() + turnMs, ended: false };
  await walkInto(state, directory, options.segments, options.ignoreFiles);
  return { ignored: state.ignored };
}

async function walkInto(state: State, directory: DirectoryPin, segments: Segments, above: readonly IgnoreFile[]): Promise<void> {
  const found = readdirSync(`${directory.at}/.`, { withFileTypes: true });
  directory.confirm();
  const ignoreFiles = found.some((entry) => entry.name === '.gitignore') ? withRulesOf(directory, segments, above) : above;
  for (const entry of found.sort(byName)) {
    const due = turn(state);
    if (due !== undefined) await due;
    if (state.ended) return;
    const isDirectory = entry.isDirectory();
    const path = [...segments, entry.name];
    if (isIgnored(ignoreFiles, path, isDirectory)) state.ignored += 1;
    else if (!state.visit({ directory, entry, path })) state.ended = true;
    else if (isDirectory) await descend(state, { directory, name: entry.name, path }, ignoreFiles);
  }
}

/** The caller's cancel and everybody else's work get their turn: something to wait for where that is now. */
function turn(state: State): Promise<void> | undefined {
  state.visits += 1;
  if (state.visits > state.options.limits.visits) state.ended = true;
  state.signal.throwIfAborted();
  return performance.now() > state.pauseAt ? pause(state) : undefined;
}

async function pause(state: State): Promise<void> {
  await setImmediate();
  state.signal.throwIfAborted();
  state.pauseAt = performance.now() + turnMs;
}

interface Below {
  readonly directory: DirectoryPin;
  readonly name: string;
  readonly path: Segments;
}

/** The insides of `.git` are nobody's reading; named themselves, they are walked. */
async function descend(state: State, { directory, name, path }: Below, ignoreFiles: readonly IgnoreFile[]): Promise<void> {
  const { recursive, limits, segments } = state.options;
  if (!recursive || name === '.git' || path.length - segments.length >= limits.depth) return;
  let below: DirectoryPin;
  try {
    below = directory.enter(name);
  } catch (thrown) {
    // Gone, forbidden, or a link by now: its name was visited, its inside is not.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'PATH_CHANGED'].includes(errnoOf(thrown))) return;
    throw thrown;
  }
  try {
    await walkInto(state, below, path, ignoreFiles);
  } catch (thrown) {
    if (!['EACCES', 'EPERM', 'ENOENT'].includes(errnoOf(thrown))) throw thrown;
  } finally {
    below.close();
  }
}

function withRulesOf(directory: DirectoryPin, segments: Segments, above: readonly IgnoreFile[]): readonly IgnoreFile[] {
  const own = readIgnoreFile(directory, segments.length);
  return own === undefined ? above : [...above, own];
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : Number(a.name > b.name);
}

export interface ListingLimits {
  /** Entries in an answer. */
  readonly entries: number;
  /** Entries looked at, beyond which they are not counted any more. */
  readonly visits: number;
  readonly depth: number;
}

export const usualListingLimits: ListingLimits = { entries: 1_000, visits: 200_000, depth: 64 };

export interface ListingOptions extends WalkOptions {
  /** Matched against the path below the listed directory. */
  readonly glob?: Glob;
  /** A path as it is shown. */
  readonly show: (segments: Segments) => string;
  readonly limits: ListingLimits;
}

/** Sorted by name, a directory's own entries right behind it. @throws the signal's reason; the file system's error for the directory itself */
export async function listEntries(directory: DirectoryPin, options: ListingOptions, signal: AbortSignal): Promise<Listing> {
  const { glob, segments, limits, show } = options;
  const entries: DirectoryEntry[] = [];
  let omitted = 0;
  const { ignored } = await walkEntries(
    directory,
    options,
    (visit) => {
      if (glob !== undefined && !glob(visit.path.slice(segments.length))) return true;
      if (entries.length >= limits.entries) omitted += 1;
      else entries.push({ path: show(visit.path), ...factsOf(visit.directory, visit.entry) });
      return true;
    },
    signal,
  );
  return { entries, omitted, ignored };
}

function factsOf(directory: DirectoryPin, entry: Dirent): Omit<DirectoryEntry, 'path'> {
  if (entry.isDirectory()) return { type: 'directory' };
  if (entry.isSymbolicLink()) return { type: 'link' };
  if (!entry.isFile()) return { type: 'other' };
  const size = lstatSync(`${directory.at}/${entry.name}`, { throwIfNoEntry: false })?.size;
  return { type: 'file', ...(size === undefined ? {} : { bytes: size }) };
}
