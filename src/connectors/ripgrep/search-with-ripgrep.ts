/** Searching with ripgrep. It only finds places: what is told of a place is read again through pinned directories. */

import { delimiter, isAbsolute, join } from 'node:path';
import * as z from 'zod';
import { Fault } from '#kernel/errors';
import type { ProgramResult, ProgramRunner } from '#kernel/ports/program-runner';
import { say } from '#kernel/text/message';
import { badPattern } from './pattern-faults.ts';

interface RipgrepSearch {
  readonly pattern: string;
  readonly filePattern?: string;
  /** Shell patterns of names that are not searched, whatever their case; without `,` and braces. */
  readonly excluded: readonly string[];
  /** Where it runs; paths in its answer are relative to it. */
  readonly directory: string;
  /** `.` or the name of one file. */
  readonly operand: string;
  readonly maxResults: number;
  readonly timeoutMs: number;
}

/** A place that ripgrep claims. */
export interface FoundPlace {
  /** Below the searched directory. */
  readonly path: string;
  readonly line: number;
  /** Without its end. */
  readonly text: string;
}

export interface FoundPlaces {
  readonly places: readonly FoundPlace[];
  readonly more: boolean;
  readonly timedOut: boolean;
}

const match = z.object({
  type: z.literal('match'),
  data: z.object({
    path: z.object({ text: z.string() }),
    // Lines that are not UTF-8 come as base64.
    lines: z.union([z.object({ text: z.string() }), z.object({ bytes: z.base64() })]),
    line_number: z.number().int().min(1),
  }),
});

/** @throws {Fault} `BAD_PATTERN`, `SEARCH_FAILED`; the signal's reason */
export async function searchWithRipgrep(
  ripgrep: { readonly program: string; readonly programs: ProgramRunner },
  search: RipgrepSearch,
  signal: AbortSignal,
): Promise<FoundPlaces> {
  const enough = new AbortController();
  const places: FoundPlace[] = [];
  const onLine = (line: string): void => {
    const place = placeOf(line);
    if (place !== undefined) places.push(place);
    if (places.length > search.maxResults) enough.abort();
  };
  let ended: ProgramResult | undefined;
  try {
    ended = await ripgrep.programs.run(
      {
        program: ripgrep.program,
        args: argumentsOf(search),
        cwd: search.directory,
        env: { LC_ALL: 'C' },
        timeoutMs: search.timeoutMs,
        keepBytes: 8_192,
      },
      AbortSignal.any([signal, enough.signal]),
      lineSplitter(onLine),
    );
  } catch (thrown) {
    signal.throwIfAborted();
    if (!enough.signal.aborted) throw thrown;
  }
  requireSearched(ended);
  return { places: places.slice(0, search.maxResults), more: places.length > search.maxResults, timedOut: ended?.timedOut === true };
}

/** SECURITY: no configuration file (it can name a program to run), no following of links, nothing that starts a decompressor. */
function argumentsOf({ pattern, filePattern, excluded, operand, maxResults }: RipgrepSearch): readonly string[] {
  return [
    ...['--no-config', '--json', '--no-messages', '--case-sensitive', '--crlf', '--no-follow', '--hidden'],
    // Ignore rules are those of `.gitignore` files, as for list_directory.
    ...['--no-require-git', '--no-ignore-dot', '--no-ignore-exclude', '--no-ignore-global'],
    ...['--max-filesize=5M', `--max-count=${maxResults + 1}`, '--regex-size-limit=1M', '--dfa-size-limit=10M'],
    ...(filePattern === undefined ? [] : [`--glob=${filePattern}`]),
    // One glob of them all: with one for each, ripgrep took a fifth longer on 100,000 files.
    `--iglob=!{${['.git', ...excluded].join(',')}}`,
    ...[`--regexp=${pattern}`, '--', operand],
  ];
}

function placeOf(line: string): FoundPlace | undefined {
  if (!line.startsWith('{"type":"match"')) return undefined;
  const parsed = match.safeParse(JSON.parse(line));
  // A path that is not UTF-8 comes as bytes: no tool could name it.
  if (!parsed.success) return undefined;
  const { path, lines, line_number: number } = parsed.data.data;
  const text = 'text' in lines ? lines.text : Buffer.from(lines.bytes, 'base64').toString('latin1');
  return {
    path: path.text.replaceAll('\\', process.platform === 'win32' ? '/' : '\\').replace(/^\.\//, ''),
    line: number,
    text: text.replace(/\r?\n$/, ''),
  };
}

function lineSplitter(onLine: (line: string) => void): (chunk: string, stream: 'stdout' | 'stderr') => void {
  let begun: string[] = [];
  return (chunk, stream) => {
    if (stream !== 'stdout') return;
    const [first = '', ...others] = chunk.split('\n');
    begun.push(first);
    for (const next of others) {
      onLine(begun.join(''));
      begun = [next];
    }
  };
}

function requireSearched(ended: ProgramResult | undefined): void {
  // Stopped by us: there are results enough.
  if (ended === undefined || ended.timedOut) return;
  const { exitCode, signal, stderr } = ended;
  const [first = ''] = stderr.split('\n');
  // 0: found, 1: not found; 2 without a word is what single files that could not be read end with, and the rest was searched.
  if (exitCode === 0 || exitCode === 1 || (exitCode === 2 && first === '')) return;
  throw patternFault(stderr) ?? new Fault('SEARCH_FAILED', say`ripgrep ended with ${endText(exitCode, signal)}: ${first.slice(0, 200)}`);
}

function endText(exitCode: number | undefined, signal: string | undefined): string {
  return exitCode === undefined ? `signal ${signal ?? 'unknown'}` : `exit code ${exitCode}`;
}

// What ripgrep says of a pattern it does not take, in our words.

/** The fault of a refused pattern; undefined where stderr is about something else. */
export function patternFault(stderr: string): Fault | undefined {
  const parse = /regex parse error:\n([\s\S]*?)^error: (.+)$/m.exec(stderr);
  if (parse !== null) return badPattern(`${parse[2]}${markedPlace(parse[1] ?? '')}`);
  // Up to ripgrep 13, which Debian 12 has, without a name in front and with a full stop.
  const other = /^(?:rg: )?(.*(?:not allowed in a regex|exceeds size limit|error parsing glob|regex could not be compiled).*?)\.?$/im.exec(
    stderr,
  )?.[1];
  return other === undefined ? undefined : badPattern(other);
}

/** ` (at character 3)`, from the line of carets under the pattern. */
function markedPlace(shown: string): string {
  const [pattern = '', carets = ''] = shown.split('\n');
  const column = carets.indexOf('^');
  if (column < 0) return '';
  const indent = /^ */.exec(pattern)?.[0].length ?? 0;
  // ripgrep puts the pattern into `(?:…)` before it is parsed.
  const wrapper = pattern.slice(indent).startsWith('(?:') ? 3 : 0;
  return ` (at character ${Math.max(1, column - indent - wrapper + 1)})`;
}

export interface RipgrepPlaces {
  /** From machine-scoped configuration. */
  readonly configured?: string;
  /** `vscode.env.appRoot`: VS Code and its forks ship ripgrep for their own search. */
  readonly editorRoot?: string;
  /** The value of `PATH`. */
  readonly searchPath?: string;
}

/**
 * Where ripgrep may be: what a person set, the editor's own, then the PATH.
 * Absolute paths in the order in which they are tried; most of them do not exist.
 */
export function ripgrepCandidates({ configured, editorRoot, searchPath = '' }: RipgrepPlaces): readonly string[] {
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  // A relative entry of PATH would mean the directory of whatever runs.
  const onPath = searchPath.split(delimiter).filter((directory) => isAbsolute(directory));
  return [
    ...(configured === undefined ? [] : [configured]),
    ...(editorRoot === undefined ? [] : editorPlaces(editorRoot, name)),
    ...onPath.map((directory) => join(directory, name)),
  ];
}

/** The layouts of VS Code since 1.60: one package with every platform (1.139), or one for this platform, inside or beside the archive. */
function editorPlaces(root: string, name: string): readonly string[] {
  const platform = `${process.platform}-${process.arch}`;
  return ['node_modules', 'node_modules.asar.unpacked'].flatMap((modules) => [
    join(root, modules, '@vscode/ripgrep-universal/bin', platform, name),
    join(root, modules, '@vscode/ripgrep/bin', name),
    join(root, modules, 'vscode-ripgrep/bin', name),
  ]);
}
