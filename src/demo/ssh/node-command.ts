/** What a command of a demo node is given and gives back. */
import type { Cluster } from '../pve/cluster.ts';
import type { NodeState } from '../pve/state.ts';
import type { FileTree } from './file-tree.ts';

export interface CommandInput {
  readonly cluster: Cluster;
  readonly node: NodeState;
  readonly files: FileTree;
  /** Without the command's own name. */
  readonly args: readonly string[];
  readonly stdin: string;
  /** Aborts when `timeout` or the closed channel ends the command. */
  readonly signal: AbortSignal;
}

export interface CommandOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export type NodeCommand = (input: CommandInput) => CommandOutput | Promise<CommandOutput>;

/** Output of a command that succeeded; a newline is added where the text has none. */
export function printed(text: string): CommandOutput {
  return { stdout: text === '' || text.endsWith('\n') ? text : `${text}\n`, stderr: '', exitCode: 0 };
}

export function complained(text: string, exitCode = 1): CommandOutput {
  return { stdout: '', stderr: `${text}\n`, exitCode };
}

/** Positional arguments, and options with their values. `valued` names the options that take the next word. */
export function readOptions(args: readonly string[], valued: readonly string[]): { readonly options: ReadonlyMap<string, string>; readonly operands: readonly string[] } {
  const options = new Map<string, string>();
  const operands: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (arg === '--') {
      operands.push(...args.slice(index + 1));
      break;
    }
    const [name = '', value] = arg.startsWith('--') ? arg.split(/=(.*)/s, 2) : [arg, undefined];
    if (!arg.startsWith('-') || arg === '-') operands.push(arg);
    else if (value === undefined && valued.includes(name)) options.set(name, args[++index] ?? '');
    else options.set(name, value ?? '');
  }
  return { options, operands };
}

/** Whether any of the short letters or long names was given, also inside a cluster such as `-lht`. */
export function hasOption(options: ReadonlyMap<string, string>, letter: string, long?: string): boolean {
  if (long !== undefined && options.has(long)) return true;
  return [...options.keys()].some((name) => /^-[a-zA-Z0-9]+$/.test(name) && name.includes(letter));
}
