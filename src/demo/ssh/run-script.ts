/** Runs a parsed line against the command table. There is no shell: what is not in the table is not found. */
import type { Cluster } from '../pve/cluster.ts';
import type { NodeState } from '../pve/state.ts';
import { fileCommands } from './commands/files.ts';
import { identityCommands, storageCommands } from './commands/identity.ts';
import { proxmoxCommands, serviceCommands } from './commands/services.ts';
import { type FileTree, fileTree } from './file-tree.ts';
import { type CommandInput, type CommandOutput, complained, durationSeconds, type NodeCommand, printed } from './node-command.ts';

export interface ScriptPlace {
  readonly cluster: Cluster;
  readonly node: NodeState;
  readonly signal: AbortSignal;
}

const timedOut = 124;
const longestTimerMs = 2_147_483_647;

/** Runs a command line and returns what it printed. Never rejects: every failure is an exit code. */
export async function runScript(place: ScriptPlace, script: string): Promise<CommandOutput> {
  place.cluster.tasks.advance();
  let steps: readonly Step[];
  try {
    steps = parseScript(script);
  } catch (thrown) {
    if (!(thrown instanceof ShellSyntaxError)) throw thrown;
    return complained(`bash: -c: line 1: ${thrown.message}`, 2);
  }
  const files = fileTree(place.cluster, place.node);
  let total: CommandOutput = { stdout: '', stderr: '', exitCode: 0 };
  for (const step of steps) {
    if (place.signal.aborted) break;
    if ((step.when === '&&' && total.exitCode !== 0) || (step.when === '||' && total.exitCode === 0)) continue;
    const output = await runPipeline(place, files, step.pipeline);
    total = { stdout: total.stdout + output.stdout, stderr: total.stderr + output.stderr, exitCode: output.exitCode };
  }
  return total;
}

async function runPipeline(place: ScriptPlace, files: FileTree, pipeline: readonly SimpleCommand[]): Promise<CommandOutput> {
  let stdin = '';
  let stderr = '';
  let exitCode = 0;
  for (const command of pipeline) {
    const output = redirect(command, await runCommand(place, files, command, stdin));
    stdin = output.stdout;
    stderr += output.stderr;
    exitCode = output.exitCode;
  }
  return { stdout: stdin, stderr, exitCode };
}

function redirect(command: SimpleCommand, output: CommandOutput): CommandOutput {
  const stderr = command.dropStderr ? '' : output.stderr;
  // In the order bash applies `>/dev/null 2>&1`, the only one in which both are used: errors vanish too.
  if (command.mergeStderr) return { ...output, stdout: command.dropStdout ? '' : output.stdout + stderr, stderr: '' };
  return { ...output, stdout: command.dropStdout ? '' : output.stdout, stderr };
}

function runCommand(place: ScriptPlace, files: FileTree, command: SimpleCommand, stdin: string): Promise<CommandOutput> {
  const words = command.words.flatMap((word) => (word.globs ? files.expand(word.text) : [word.text]));
  while (/^[A-Za-z_]\w*=/.test(words[0] ?? '')) words.shift();
  return runWords(place, files, words, stdin);
}

async function runWords(place: ScriptPlace, files: FileTree, words: readonly string[], stdin: string): Promise<CommandOutput> {
  const [path = '', ...args] = words;
  if (path === '') return { stdout: '', stderr: '', exitCode: 0 };
  const name = path.replace(/^(?:\/usr)?\/s?bin\//, '');
  // What would come after it on the same line does not come here: a client replaces its login shell with one program.
  if (name === 'exec') return runWords(place, files, args, stdin);
  if (name === 'timeout') return runTimeout(place, files, args, stdin);
  if (name === 'env')
    return runWords(
      place,
      files,
      args.filter((word, index) => index > 0 || !word.includes('=')),
      stdin,
    );
  if (name === 'sh' || name === 'bash') return runShell(place, args);
  const run = nodeCommands.get(name);
  if (run === undefined)
    return complained(`bash: line 1: ${path}: ${path.includes('/') ? 'No such file or directory' : 'command not found'}`, 127);
  return run({ ...place, files, args, stdin });
}

function runShell(place: ScriptPlace, args: readonly string[]): Promise<CommandOutput> | CommandOutput {
  const script = args[0] === '-c' ? args[1] : undefined;
  return script === undefined ? complained('sh: 0: the demo nodes have no shell but `sh -c`', 2) : runScript(place, script);
}

/** `timeout [-k DURATION] DURATION COMMAND…`: what runs longer is ended and the exit code is 124. */
async function runTimeout(place: ScriptPlace, files: FileTree, args: readonly string[], stdin: string): Promise<CommandOutput> {
  const rest = [...args];
  while (rest[0]?.startsWith('-') === true) rest.splice(0, /^(?:-k|-s|--kill-after|--signal)$/.test(rest[0]) ? 2 : 1);
  const seconds = durationSeconds(rest.shift() ?? '');
  if (seconds === undefined) return complained('timeout: invalid time interval', 125);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), Math.min(seconds * 1000, longestTimerMs));
  try {
    const output = await runWords({ ...place, signal: AbortSignal.any([place.signal, limit.signal]) }, files, rest, stdin);
    return limit.signal.aborted ? { ...output, exitCode: timedOut } : output;
  } finally {
    clearTimeout(timer);
  }
}

/** A word after quotes were taken off; `globs` tells that it had an unquoted `*`, `?` or `[`. */
export interface Word {
  readonly text: string;
  readonly globs: boolean;
}

export interface SimpleCommand {
  readonly words: readonly Word[];
  /** Standard error goes to standard output. */
  readonly mergeStderr: boolean;
  readonly dropStdout: boolean;
  readonly dropStderr: boolean;
}

export interface Step {
  /** When it runs, seen from the step before: always, only after success, only after failure. */
  readonly when: ';' | '&&' | '||';
  readonly pipeline: readonly SimpleCommand[];
}

/** A line outside that language. */
export class ShellSyntaxError extends Error {}

type Token = { readonly kind: 'word'; readonly word: Word } | { readonly kind: 'operator'; readonly text: string };

const operatorPattern = /^(?:\|\||&&|2>&1|[012]?>>?\s*\/dev\/null|<\s*\/dev\/null|;|\||\n)/;

/** @throws {ShellSyntaxError} */
export function parseScript(script: string): readonly Step[] {
  const steps: Step[] = [];
  let when: Step['when'] = ';';
  let pipeline: SimpleCommand[] = [];
  let current: Token[] = [];
  const endCommand = () => {
    if (current.length > 0) pipeline.push(buildCommand(current));
    current = [];
  };
  const endStep = (next: Step['when']) => {
    endCommand();
    if (pipeline.length > 0) steps.push({ when, pipeline });
    pipeline = [];
    when = next;
  };
  for (const token of tokenize(script)) {
    if (token.kind === 'operator' && token.text === '|') endCommand();
    else if (token.kind === 'operator' && /^(?:;|\n|&&|\|\|)$/.test(token.text))
      endStep(token.text === '\n' ? ';' : (token.text as Step['when']));
    else current.push(token);
  }
  endStep(';');
  return steps;
}

function buildCommand(tokens: readonly Token[]): SimpleCommand {
  const words = tokens.flatMap((token) => (token.kind === 'word' ? [token.word] : []));
  const operators = tokens.flatMap((token) => (token.kind === 'operator' ? [token.text.replace(/\s+/g, '')] : []));
  return {
    words,
    mergeStderr: operators.includes('2>&1'),
    dropStdout: operators.some((text) => /^1?>>?\/dev\/null$/.test(text)),
    dropStderr: operators.some((text) => /^2>>?\/dev\/null$/.test(text)),
  };
}

function tokenize(script: string): Token[] {
  const tokens: Token[] = [];
  let rest = script;
  while (rest !== '') {
    const blank = /^(?:[ \t]+|\\\n)/.exec(rest)?.[0];
    const operator = operatorPattern.exec(rest)?.[0];
    if (blank !== undefined) rest = rest.slice(blank.length);
    else if (operator !== undefined) {
      tokens.push({ kind: 'operator', text: operator });
      rest = rest.slice(operator.length);
    } else {
      const { word, length } = readWord(rest);
      tokens.push({ kind: 'word', word });
      rest = rest.slice(length);
    }
  }
  return tokens;
}

function readWord(source: string): { readonly word: Word; readonly length: number } {
  let text = '';
  let globs = false;
  let at = 0;
  while (at < source.length) {
    const piece = readPiece(source.slice(at));
    if (piece === undefined) break;
    text += piece.text;
    globs ||= piece.globs;
    at += piece.length;
  }
  if (at === 0) throw new ShellSyntaxError(`syntax error near unexpected token \`${source[0]}'`);
  return { word: { text, globs }, length: at };
}

interface Piece {
  readonly text: string;
  readonly globs: boolean;
  readonly length: number;
}

/** The next part of a word, or undefined at its end. */
function readPiece(source: string): Piece | undefined {
  const first = source[0] ?? '';
  if (/[\s;|]/.test(first)) return undefined;
  if (first === "'") return quoted(source, /^'([^']*)'/, (body) => body);
  if (first === '"') return quoted(source, /^"((?:[^"\\$`]|\\[\s\S])*)"/, (body) => body.replace(/\\([\\"$`])/g, '$1'));
  if (first === '\\') return { text: source[1] ?? '', globs: false, length: 2 };
  if (/[$`()&<>]/.test(first)) throw new ShellSyntaxError(`syntax error near unexpected token \`${first}'`);
  const plain = /^[^\s;|'"\\$`()&<>]+/.exec(source)?.[0] ?? first;
  return { text: plain, globs: /[*?[]/.test(plain), length: plain.length };
}

function quoted(source: string, pattern: RegExp, read: (body: string) => string): Piece {
  const match = pattern.exec(source);
  if (match === null) throw new ShellSyntaxError('unexpected EOF while looking for matching quote');
  return { text: read(match[1] ?? ''), globs: false, length: match[0].length };
}

const silent: CommandOutput = { stdout: '', stderr: '', exitCode: 0 };
const longestSequence = 5_000_000;

function sequence({ args }: CommandInput): CommandOutput {
  const last = Number(args[0]);
  if (args.length !== 1 || !Number.isInteger(last) || last > longestSequence)
    return complained(`seq: invalid argument: ‘${args.join(' ')}’`);
  return printed(Array.from({ length: Math.max(0, last) }, (_, index) => index + 1).join('\n'));
}

/** Waits for the time or for whatever ends the command, and leaves no timer behind. */
async function sleep({ args, signal }: CommandInput): Promise<CommandOutput> {
  const seconds = durationSeconds(args[0] ?? '');
  if (seconds === undefined) return complained(`sleep: invalid time interval ‘${args[0] ?? ''}’`);
  if (signal.aborted) return { ...silent, exitCode: 143 };
  return new Promise((resolve) => {
    const end = (exitCode: number) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', terminated);
      resolve({ ...silent, exitCode });
    };
    const terminated = () => end(143);
    const timer = setTimeout(() => end(0), seconds * 1000);
    signal.addEventListener('abort', terminated);
  });
}

const basicCommands: Readonly<Record<string, NodeCommand>> = {
  true: () => silent,
  ':': () => silent,
  false: () => ({ ...silent, exitCode: 1 }),
  echo: ({ args }) => (args[0] === '-n' ? { ...silent, stdout: args.slice(1).join(' ') } : printed(`${args.join(' ')}\n`)),
  seq: sequence,
  sleep,
};

const nodeCommands: ReadonlyMap<string, NodeCommand> = new Map(
  Object.entries({ ...identityCommands, ...storageCommands, ...fileCommands, ...serviceCommands, ...proxmoxCommands, ...basicCommands }),
);
