/** Searching the workspace: with ripgrep where there is one, otherwise with the built-in engine, with the same answer. */

import { realpathSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '#kernel/errors';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import type { FileScope, SearchHit, SearchQuery, SearchResult, WorkspaceSearch } from '#kernel/ports/workspace';
import { say } from '#kernel/text/message';
import { notFound } from '../workspace-files/file-faults.ts';
import { parseGlob } from '../workspace-files/glob.ts';
import { type FilePlaces, type OpenedPath, showPath, withPath } from '../workspace-files/open-path.ts';
import { readBytes, tryDecode } from '../workspace-files/read-text.ts';
import { requirePattern } from './pattern-faults.ts';
import { searchByReading } from './search-by-reading.ts';
import { type FoundPlace, type FoundPlaces, searchWithRipgrep } from './search-with-ripgrep.ts';

interface WorkspaceSearchOptions extends FilePlaces {
  readonly programs: ProgramRunner;
  /** See `ripgrepCandidates`. */
  readonly ripgrep: readonly string[];
  /** Shell patterns of names that stand for secrets. */
  readonly secretNames: readonly string[];
  /** In ms. */
  readonly timeoutMs?: number;
}

const mostFileBytes = 5 * 1024 * 1024;
const mostLineCharacters = 400;
const usualTimeoutMs = 10_000;

export function createWorkspaceSearch(options: WorkspaceSearchOptions): WorkspaceSearch {
  let ripgrep: Promise<string | undefined> | undefined;
  const program = (): Promise<string | undefined> => {
    // Whoever cancels the first search must not decide for all: looking for it has no signal but its own limits.
    ripgrep ??= findRipgrep(
      { programs: options.programs, candidates: options.ripgrep, workspaceRoot: options.workspaceRoot },
      new AbortController().signal,
    );
    return ripgrep;
  };
  return {
    search: async (query, scope, signal) => {
      requirePattern(query.pattern);
      if (query.filePattern !== undefined) parseGlob(query.filePattern);
      const found = await program();
      return withPath(options, { path: query.path, use: 'search', scope }, async (opened) => {
        if (opened.fact.kind === 'missing') throw notFound(query.path);
        // Left out of a tree it is one of many; left out when it is all that was asked about, `no match` would be untrue.
        if (opened.fact.kind === 'file' && opened.fact.size > mostFileBytes) throw tooLargeToSearch(opened.fact.size);
        const search: Search = { query, scope, options, opened, reader: lineReader(options, { scope, opened }, signal) };
        return found === undefined ? searchBuiltIn(search, signal) : searchRipgrep(search, found, signal);
      });
    },
  };
}

interface Search {
  readonly query: SearchQuery;
  readonly scope: FileScope;
  readonly options: WorkspaceSearchOptions;
  readonly opened: OpenedPath;
  readonly reader: LineReader;
}

/** Lines of a file below the searched directory; undefined where it may not be read or holds no text. */
type LineReader = (file: string) => Promise<readonly string[] | undefined>;

async function searchRipgrep(search: Search, program: string, signal: AbortSignal): Promise<SearchResult> {
  const { query, options, opened } = search;
  const found = await searchWithRipgrep(
    { program, programs: options.programs },
    {
      pattern: query.pattern,
      ...(query.filePattern === undefined ? {} : { filePattern: query.filePattern }),
      excluded: options.secretNames,
      directory: opened.directory.at,
      operand: opened.names[0] === undefined ? '.' : `./${opened.names[0]}`,
      maxResults: query.maxResults,
      timeoutMs: options.timeoutMs ?? usualTimeoutMs,
    },
    signal,
  );
  const places = found.places.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
  return resultOf(search, { ...found, places: await confirmed(search, places) }, 'ripgrep');
}

async function searchBuiltIn(search: Search, signal: AbortSignal): Promise<SearchResult> {
  const { query, scope, opened, options } = search;
  const { lineMatcher } = await import('./line-matcher.ts');
  const matcher = lineMatcher(query.pattern);
  const timeoutMs = options.timeoutMs ?? usualTimeoutMs;
  const reading = { query, scope, opened, rules: options.rules, matcher, mostFileBytes, timeoutMs };
  return resultOf(search, await searchByReading(reading, signal), 'built-in');
}

/**
 * SECURITY: ripgrep only says where. The text comes from the file that is in the workspace now: between its look at a directory and its
 * opening of a file, a link could have been put there.
 */
async function confirmed({ opened, reader }: Search, places: readonly FoundPlace[]): Promise<readonly FoundPlace[]> {
  const kept: FoundPlace[] = [];
  let current: { readonly path: string; readonly lines: readonly string[] | undefined } | undefined;
  for (const place of places) {
    // Sorted by path: the lines of one file are needed at a time.
    if (current?.path !== place.path) current = { path: place.path, lines: await reader(place.path) };
    if (current.lines?.[place.line - 1] === place.text) kept.push(place);
  }
  opened.directory.confirm();
  return kept;
}

function resultOf({ opened }: Search, found: FoundPlaces, engine: SearchResult['engine']): SearchResult {
  if (found.timedOut && found.places.length === 0) {
    throw new Fault('SEARCH_TIMEOUT', 'the search took too long and found nothing in its time', {
      audience: 'user',
      next: 'search a smaller directory, or pass file_pattern',
    });
  }
  const hits: readonly SearchHit[] = found.places.map((place) => ({
    path: shownPath(opened, place.path),
    line: place.line,
    text: shorten(place.text),
  }));
  return { hits, truncated: found.more || found.timedOut, engine };
}

/** A file below the searched directory, as callers name it. */
function shownPath({ root, fact, names }: OpenedPath, file: string): string {
  const real = 'path' in fact ? fact.path : [];
  return showPath(root, names.length > 0 ? real : [...real, ...file.split('/')]);
}

function lineReader(options: WorkspaceSearchOptions, { scope, opened }: Pick<Search, 'scope' | 'opened'>, signal: AbortSignal): LineReader {
  return async (file) => {
    try {
      return await withPath(options, { path: shownPath(opened, file), use: 'read', scope }, async ({ directory, names: [name], fact }) => {
        if (fact.kind !== 'file' || name === undefined) return undefined;
        const text = tryDecode(await readBytes(directory.openFile(name), mostFileBytes, signal))?.text;
        return text?.split('\n').map((line) => line.replace(/\r$/, ''));
      });
    } catch (thrown) {
      signal.throwIfAborted();
      // A secret, too large, gone or forbidden: not searched.
      if (thrown instanceof Fault) return undefined;
      throw thrown;
    }
  };
}

function tooLargeToSearch(bytes: number): Fault {
  return new Fault('FILE_TOO_LARGE', say`the file has ${bytes} bytes, and a search looks into files of at most ${mostFileBytes}`, {
    audience: 'user',
    next: 'use run_command with `grep` for this file',
  });
}

function shorten(line: string): string {
  return line.length <= mostLineCharacters ? line : `${line.slice(0, mostLineCharacters).toWellFormed()}…`;
}

// The first ripgrep that runs here.

/** The options that are used are known to it since this version. */
const oldestMajor = 13;

interface FindOptions {
  readonly programs: ProgramRunner;
  readonly candidates: readonly string[];
  /** SECURITY: a program in here may have been put there by the very agent that searches. */
  readonly workspaceRoot: string;
}

/** Its absolute path, links resolved; undefined where there is none. */
export async function findRipgrep({ programs, candidates, workspaceRoot }: FindOptions, signal: AbortSignal): Promise<string | undefined> {
  for (const candidate of candidates) {
    const program = realPath(candidate);
    if (program !== undefined && !isInside(workspaceRoot, program) && (await answers(programs, program, signal))) return program;
  }
  return undefined;
}

function realPath(candidate: string): string | undefined {
  try {
    return realpathSync(candidate);
  } catch {
    return undefined;
  }
}

function isInside(root: string, file: string): boolean {
  const below = path.relative(root, file);
  return below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below);
}

async function answers(programs: ProgramRunner, program: string, signal: AbortSignal): Promise<boolean> {
  try {
    const request = {
      program,
      args: ['--no-config', '--version'],
      cwd: path.dirname(program),
      env: {},
      timeoutMs: 5_000,
      keepBytes: 2_000,
    };
    const { stdout, exitCode } = await programs.run(request, signal);
    return exitCode === 0 && Number(/^ripgrep (\d+)\./.exec(stdout)?.[1] ?? 0) >= oldestMajor;
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    // Not executable, or made for another machine.
    return false;
  }
}
