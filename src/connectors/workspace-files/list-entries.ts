/** The entries of a directory, deep if asked for, links never followed. */
import { type Dirent, lstatSync } from 'node:fs';
import type { Segments } from '#kernel/ports/path-facts';
import type { DirectoryEntry, Listing } from '#kernel/ports/workspace';
import type { DirectoryPin } from './directory-pin.ts';
import type { Glob } from './glob.ts';
import { type WalkOptions, walkEntries } from './walk-entries.ts';

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
