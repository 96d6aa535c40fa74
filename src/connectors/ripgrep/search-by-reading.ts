/** Searching without ripgrep: every file of the tree, read through the pinned directory that it is in. */
import { closeSync, fstatSync, readSync } from 'node:fs';
import type { DirectoryPin } from '#files/directory-pin';
import { Fault } from '#kernel/errors';
import type { Segments } from '#kernel/ports/path-facts';
import type { FileScope, SearchQuery } from '#kernel/ports/workspace';
import { parseGlob } from '../workspace-files/glob.ts';
import { ignoreFilesAbove } from '../workspace-files/ignore-rules.ts';
import { type OpenedPath, type PathRules, requireAllowed, showPath } from '../workspace-files/open-path.ts';
import { tryDecode } from '../workspace-files/read-text.ts';
import { type Visit, walkEntries } from '../workspace-files/walk-entries.ts';
import type { LineMatcher } from './line-matcher.ts';
import type { FoundPlace, FoundPlaces } from './search-with-ripgrep.ts';

export interface ReadingSearch {
  readonly opened: OpenedPath;
  readonly rules: PathRules;
  readonly scope: FileScope;
  readonly query: SearchQuery;
  readonly matcher: LineMatcher;
  readonly mostFileBytes: number;
  readonly timeoutMs: number;
}

interface State {
  readonly search: ReadingSearch;
  readonly places: FoundPlace[];
  /** Most files fit: one buffer for all of them. */
  readonly buffer: Buffer;
  more: boolean;
}

const bufferBytes = 256 * 1024;
const limits = { visits: 400_000, depth: 64 };

/**
 * Reads one file at a time and without waiting, which for many small files takes a tenth of the time; the walk gives everybody else a turn
 * in between. @throws {Fault} `PATH_CHANGED`; the signal's reason
 */
export async function searchByReading(search: ReadingSearch, signal: AbortSignal): Promise<FoundPlaces> {
  const { opened, query, timeoutMs } = search;
  const state: State = { search, places: [], buffer: Buffer.allocUnsafe(bufferBytes), more: false };
  const base = 'path' in opened.fact ? opened.fact.path : [];
  const [only] = opened.names;
  if (only !== undefined) {
    searchFile(state, { directory: opened.directory, name: only, path: base, shown: only });
    return { places: state.places, more: state.more, timedOut: false };
  }
  const glob = query.filePattern === undefined ? () => true : parseGlob(query.filePattern);
  const end = performance.now() + timeoutMs;
  let timedOut = false;
  const visit = ({ directory, entry, path }: Visit): boolean => {
    if (!entry.isFile()) return true;
    const below = path.slice(base.length);
    if (glob(below)) searchFile(state, { directory, name: entry.name, path, shown: below.join('/') });
    timedOut = performance.now() > end;
    return !state.more && !timedOut;
  };
  await walkEntries(
    opened.directory,
    { recursive: true, segments: base, ignoreFiles: ignoreFilesAbove(opened.pins), limits },
    visit,
    signal,
  );
  return { places: state.places, more: state.more || timedOut, timedOut };
}

interface PinnedFile {
  readonly directory: DirectoryPin;
  readonly name: string;
  /** Below the root. */
  readonly path: Segments;
  /** Below the searched directory. */
  readonly shown: string;
}

function searchFile(state: State, file: PinnedFile): void {
  const { matcher, query } = state.search;
  const bytes = bytesOf(state, file);
  if (bytes === undefined) return;
  const found = (tryDecode(bytes)?.text ?? '').split('\n').flatMap((line, index) => {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    return matcher.matches(text) ? [{ path: file.shown, line: index + 1, text }] : [];
  });
  if (found.length === 0) return;
  file.directory.confirm();
  const room = query.maxResults - state.places.length;
  state.places.push(...found.slice(0, room));
  state.more = found.length > room;
}

/** undefined where no line can match, or the file may not be read, is too large or is gone. Valid until the next call. */
function bytesOf(state: State, { directory, name, path }: PinnedFile): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = directory.openListed(name);
    const bytes = readAll(descriptor, state);
    // SECURITY: decided for all that is looked into further, and only for that: most files hold no match, and the decision takes longest.
    return bytes !== undefined && state.search.matcher.mayMatch(bytes) && mayRead(state.search, path, descriptor) ? bytes : undefined;
  } catch (thrown) {
    // Gone, forbidden, or something else by now.
    if (thrown instanceof Fault || (thrown instanceof Error && 'syscall' in thrown)) return undefined;
    throw thrown;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** One call for most files: a plain file that gives less than asked for is at its end. */
function readAll(descriptor: number, { search, buffer }: State): Buffer | undefined {
  const count = readSync(descriptor, buffer, 0, buffer.length, 0);
  if (count < buffer.length) return buffer.subarray(0, count);
  const stats = fstatSync(descriptor);
  if (!stats.isFile() || stats.size > search.mostFileBytes) return undefined;
  const whole = Buffer.allocUnsafe(stats.size);
  let total = 0;
  while (total < whole.length) {
    const more = readSync(descriptor, whole, total, whole.length - total, total);
    if (more === 0) break;
    total += more;
  }
  return whole.subarray(0, total);
}

function mayRead({ rules, scope, opened }: ReadingSearch, path: Segments, descriptor: number): boolean {
  const stats = fstatSync(descriptor);
  if (!stats.isFile()) return false;
  const fact = { kind: 'file', path, size: stats.size } as const;
  try {
    requireAllowed(rules, { path: showPath(opened.root, path), use: 'read', scope }, opened.root, fact);
    return true;
  } catch (thrown) {
    if (thrown instanceof Fault) return false;
    throw thrown;
  }
}
