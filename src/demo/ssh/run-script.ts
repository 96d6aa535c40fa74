/** Runs a parsed line against the command table. There is no shell: what is not in the table is not found. */
import type { Cluster } from '../pve/cluster.ts';
import type { NodeState } from '../pve/state.ts';
import { nodeCommands } from './commands/index.ts';
import { durationSeconds } from './duration.ts';
import { type FileTree, fileTree } from './file-tree.ts';
import { type CommandOutput, complained } from './node-command.ts';
import { parseScript, ShellSyntaxError, type SimpleCommand, type Step } from './shell-words.ts';

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
