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

export interface ReadOptions {
  readonly options: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

/** Positional arguments, and options with their values. `valued` names the options that take the next word. */
export function readOptions(args: readonly string[], valued: readonly string[]): ReadOptions {
  const options = new Map<string, string>();
  const operands: string[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') operands.push(...rest.splice(0));
    else if (arg === '-' || !arg.startsWith('-')) operands.push(arg);
    else readOption(arg, rest, valued, options);
  }
  return { options, operands };
}

function readOption(arg: string, rest: string[], valued: readonly string[], options: Map<string, string>): void {
  const [name = arg, value] = arg.startsWith('--') ? arg.split(/=(.*)/s, 2) : [arg];
  options.set(name, value ?? (valued.includes(name) ? (rest.shift() ?? '') : ''));
}

/** Whether any of the short letters or long names was given, also inside a cluster such as `-lht`. */
export function hasOption(options: ReadonlyMap<string, string>, letter: string, long?: string): boolean {
  if (long !== undefined && options.has(long)) return true;
  return [...options.keys()].some((name) => /^-[a-zA-Z0-9]+$/.test(name) && name.includes(letter));
}

/** Durations as coreutils write them: `90`, `1.5`, `2m`. @returns seconds, or undefined for what is none */
export function durationSeconds(text: string): number | undefined {
  const [, digits, unit = 's'] = /^(\d+(?:\.\d+)?)([smhd])?$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit] ?? 1);
}
