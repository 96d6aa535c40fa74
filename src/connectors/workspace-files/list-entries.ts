/** The entries of a directory, deep if asked for, links never followed. */
import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Segments } from '#kernel/ports/path-facts';
import type { DirectoryEntry, Listing } from '#kernel/ports/workspace';
import type { DirectoryPin } from './directory-pin.ts';
import { errnoOf } from './file-faults.ts';
import type { Glob } from './glob.ts';
import { type IgnoreFile, isIgnored } from './ignore-rules.ts';
import { readIgnoreFile } from './read-ignore-file.ts';

export interface ListingLimits {
  /** Entries in an answer. */
  readonly entries: number;
  /** Entries looked at, beyond which they are not counted any more. */
  readonly visits: number;
  readonly depth: number;
}

export const usualListingLimits: ListingLimits = { entries: 1_000, visits: 200_000, depth: 64 };

export interface ListingOptions {
  readonly recursive: boolean;
  /** Matched against the path below the listed directory. */
  readonly glob?: Glob;
  /** Of the directory that is listed, below its root. */
  readonly segments: Segments;
  /** The rules above and in the listed directory. */
  readonly ignoreFiles: readonly IgnoreFile[];
  /** A path as it is shown. */
  readonly show: (segments: Segments) => string;
  readonly limits: ListingLimits;
}

interface State {
  readonly options: ListingOptions;
  readonly signal: AbortSignal;
  readonly entries: DirectoryEntry[];
  omitted: number;
  ignored: number;
  visits: number;
}

/** Sorted by name, a directory's own entries right behind it. @throws the signal's reason; the file system's error for the directory itself */
export async function listEntries(directory: DirectoryPin, options: ListingOptions, signal: AbortSignal): Promise<Listing> {
  const state: State = { options, signal, entries: [], omitted: 0, ignored: 0, visits: 0 };
  await listInto(state, directory, options.segments, options.ignoreFiles);
  return { entries: state.entries, omitted: state.omitted, ignored: state.ignored };
}

async function listInto(state: State, directory: DirectoryPin, segments: Segments, above: readonly IgnoreFile[]): Promise<void> {
  const found = readdirSync(`${directory.at}/.`, { withFileTypes: true });
  directory.confirm();
  const ignoreFiles = found.some((entry) => entry.name === '.gitignore') ? withRulesOf(directory, segments, above) : above;
  for (const entry of found.sort(byName)) {
    state.visits += 1;
    if (state.visits > state.options.limits.visits) return;
    // The caller's cancel and everybody else's work get their turn.
    if (state.visits % 500 === 0) await setImmediate();
    state.signal.throwIfAborted();
    const path = [...segments, entry.name];
    if (isIgnored(ignoreFiles, path, entry.isDirectory())) state.ignored += 1;
    else {
      keep(state, directory, entry, path);
      if (entry.isDirectory()) await descend(state, { directory, name: entry.name, path }, ignoreFiles);
    }
  }
}

function keep(state: State, directory: DirectoryPin, entry: Dirent, path: Segments): void {
  const { glob, segments, limits, show } = state.options;
  if (glob !== undefined && !glob(path.slice(segments.length))) return;
  if (state.entries.length >= limits.entries) state.omitted += 1;
  else state.entries.push({ path: show(path), ...factsOf(directory, entry) });
}

function factsOf(directory: DirectoryPin, entry: Dirent): Omit<DirectoryEntry, 'path'> {
  if (entry.isDirectory()) return { type: 'directory' };
  if (entry.isSymbolicLink()) return { type: 'link' };
  if (!entry.isFile()) return { type: 'other' };
  const size = lstatSync(`${directory.at}/${entry.name}`, { throwIfNoEntry: false })?.size;
  return { type: 'file', ...(size === undefined ? {} : { bytes: size }) };
}

interface Below {
  readonly directory: DirectoryPin;
  readonly name: string;
  readonly path: Segments;
}

/** The insides of `.git` are nobody's reading; named themselves, they are listed. */
async function descend(state: State, { directory, name, path }: Below, ignoreFiles: readonly IgnoreFile[]): Promise<void> {
  const { recursive, limits, segments } = state.options;
  if (!recursive || name === '.git' || path.length - segments.length >= limits.depth) return;
  let below: DirectoryPin;
  try {
    below = directory.enter(name);
  } catch (thrown) {
    // Gone, forbidden, or a link by now: its name is listed, its inside is not.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'PATH_CHANGED'].includes(errnoOf(thrown))) return;
    throw thrown;
  }
  try {
    await listInto(state, below, path, ignoreFiles);
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
