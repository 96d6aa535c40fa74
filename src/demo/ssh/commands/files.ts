/** Files and text filters: cat, ls, grep, head, tail, wc, sort. */
import { type CommandInput, type CommandOutput, complained, hasOption, type NodeCommand, printed, readOptions } from '../node-command.ts';

interface Source {
  /** Undefined: standard input. */
  readonly path: string | undefined;
  readonly text: string;
}

/** The files named, or standard input; what cannot be read becomes a message of the command's. */
function open(
  input: CommandInput,
  name: string,
  paths: readonly string[],
): { readonly sources: readonly Source[]; readonly errors: string } {
  if (paths.length === 0) return { sources: [{ path: undefined, text: input.stdin }], errors: '' };
  const sources: Source[] = [];
  let errors = '';
  for (const path of paths) {
    const text = path === '-' ? input.stdin : input.files.read(path);
    if (text !== undefined) sources.push({ path, text });
    else errors += `${name}: ${path}: ${input.files.list(path) === undefined ? 'No such file or directory' : 'Is a directory'}\n`;
  }
  return { sources, errors };
}

function finish(stdout: string, errors: string, exitCode = 0): CommandOutput {
  return { stdout, stderr: errors, exitCode: errors === '' ? exitCode : Math.max(1, exitCode) };
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function cat(input: CommandInput): CommandOutput {
  const { sources, errors } = open(input, 'cat', readOptions(input.args, []).operands);
  return finish(sources.map((source) => source.text).join(''), errors);
}

function list(input: CommandInput): CommandOutput {
  const { options, operands } = readOptions(input.args, []);
  const long = hasOption(options, 'l', '--full-time');
  const hidden = hasOption(options, 'a');
  const paths = operands.length === 0 ? ['/root'] : operands;
  let errors = '';
  const blocks: string[] = [];
  for (const path of paths) {
    const names = input.files.list(path) ?? (input.files.read(path) === undefined ? undefined : [path]);
    if (names === undefined) {
      errors += `ls: cannot access '${path}': No such file or directory\n`;
      continue;
    }
    const shown = hidden ? ['.', '..', ...names] : names;
    const body = long
      ? [`total ${shown.length * 4}`, ...shown.map((name) => `-rw-r----- 1 root www-data 412 Nov 18 09:12 ${name}`)]
      : shown;
    blocks.push(`${paths.length > 1 ? `${path}:\n` : ''}${joined(body)}`);
  }
  return finish(blocks.join('\n'), errors, errors === '' ? 0 : 2);
}

function grep(input: CommandInput): CommandOutput {
  const { options, operands } = readOptions(input.args, ['-e', '-m', '-A', '-B', '-C']);
  const given = options.get('-e');
  const pattern = given ?? operands[0];
  if (pattern === undefined) return complained('Usage: grep [OPTION]... PATTERNS [FILE]...', 2);
  const paths = given === undefined ? operands.slice(1) : operands;
  const { sources, errors } = open(input, 'grep', paths);
  const matcher = lineMatcher(pattern, options);
  if (matcher === undefined) return complained('grep: Invalid regular expression', 2);
  const named = hasOption(options, 'H') || (sources.length > 1 && !hasOption(options, 'h'));
  const counted = hasOption(options, 'c');
  const found = sources.map((source) => ({ source, lines: linesOf(source.text).filter(matcher) }));
  const prefix = (source: Source) => (named ? `${source.path ?? '(standard input)'}:` : '');
  const output = found.flatMap(({ source, lines }) =>
    counted ? [`${prefix(source)}${lines.length}`] : lines.map((line) => prefix(source) + line),
  );
  const any = found.some(({ lines }) => lines.length > 0);
  return { stdout: hasOption(options, 'q') ? '' : joined(output), stderr: errors, exitCode: errors === '' ? (any ? 0 : 1) : 2 };
}

const mostRepeats = 3;

/**
 * Simple patterns only: classes, anchors, `|` and few repeats.
 * SECURITY: a model writes them and they run in the process that hosts the demo, so groups and many repeats, which can take for ever, are refused.
 */
function lineMatcher(pattern: string, options: ReadonlyMap<string, string>): ((line: string) => boolean) | undefined {
  const escaped = pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const plain = pattern.replace(/\\\|/g, '|').replace(/[(){}]/g, '\\$&');
  if (!hasOption(options, 'F') && (plain.match(/[*+]/g)?.length ?? 0) > mostRepeats) return undefined;
  try {
    const expression = new RegExp(hasOption(options, 'F') ? escaped : plain, hasOption(options, 'i') ? 'i' : '');
    const wanted = !hasOption(options, 'v');
    return (line) => expression.test(line) === wanted;
  } catch {
    return undefined;
  }
}

/** `head` and `tail`: the count is `-n N` or `-N`, ten without. */
function part(name: string, take: (lines: readonly string[], count: number) => readonly string[]): NodeCommand {
  return (input) => {
    const { options, operands } = readOptions(input.args, ['-n', '-c', '--lines']);
    const short = [...options.keys()].map((option) => /^-(\d+)$/.exec(option)?.[1]).find((digits) => digits !== undefined);
    const count = Math.abs(Number(options.get('-n') ?? options.get('--lines') ?? short ?? 10));
    const { sources, errors } = open(input, name, operands);
    return finish(sources.map((source) => joined(take(linesOf(source.text), count))).join(''), errors);
  };
}

function wordCount(input: CommandInput): CommandOutput {
  const { options, operands } = readOptions(input.args, []);
  const { sources, errors } = open(input, 'wc', operands);
  const all = !['l', 'w', 'c'].some((letter) => hasOption(options, letter));
  const rows = sources.map(({ path, text }) => {
    const counts = [
      all || hasOption(options, 'l') ? linesOf(text).length : undefined,
      all || hasOption(options, 'w') ? text.split(/\s+/).filter((word) => word !== '').length : undefined,
      all || hasOption(options, 'c') ? Buffer.byteLength(text) : undefined,
    ].filter((count) => count !== undefined);
    return [...counts, ...(path === undefined ? [] : [path])].join(' ');
  });
  return finish(joined(rows), errors);
}

function sort(input: CommandInput): CommandOutput {
  const { options, operands } = readOptions(input.args, ['-k', '-t']);
  const { sources, errors } = open(input, 'sort', operands);
  const lines = sources.flatMap((source) => linesOf(source.text));
  const numeric = hasOption(options, 'n');
  lines.sort((one, other) => (numeric ? Number.parseFloat(one) - Number.parseFloat(other) : one < other ? -1 : 1));
  if (hasOption(options, 'r')) lines.reverse();
  return finish(joined(hasOption(options, 'u') ? [...new Set(lines)] : lines), errors);
}

export const fileCommands: Readonly<Record<string, NodeCommand>> = {
  cat,
  ls: list,
  grep,
  head: part('head', (lines, count) => lines.slice(0, count)),
  tail: part('tail', (lines, count) => (count === 0 ? [] : lines.slice(-count))),
  wc: wordCount,
  sort,
  pwd: () => printed('/root'),
};
