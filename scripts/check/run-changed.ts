/** Runs of a step what can have another result than when it was green, and remembers what is green then. */
import path from 'node:path';
import { type Green, type GreenStep, type Keys, keepGreen, keysOf, readGreen, settingsOf, toLookAt } from './green.ts';
import { runStep, type StepResult } from './run-step.ts';
import type { CheckStep } from './steps.ts';
import { readTree } from './tree.ts';

export interface Noted extends StepResult {
  /** What was not looked at; empty where all was. */
  readonly note: string;
}

export interface Place {
  readonly root: string;
  /** The file that remembers. */
  readonly memory: string;
  /** What it remembered at the start. */
  readonly green: Green;
}

/** A command line has an end: of more files than this all are looked at. */
const most = process.platform === 'win32' ? 100 : 1_000;

export interface ChangedRunner {
  run(step: CheckStep): Promise<Noted>;
  /** Keeps what was green, where no file changed meanwhile: a tool may have read what the key does not say. */
  remember(): void;
}

export function createChangedRunner({ root, memory, green }: Place): ChangedRunner {
  const found: Record<string, GreenStep> = {};
  const tree = readTree(root);
  const env = {
    ...process.env,
    PATH: `${path.join(root, 'node_modules', '.bin')}${path.delimiter}${process.env.PATH ?? ''}`,
    NO_COLOR: '1',
  };
  const run = ({ name, command: [program, ...args] }: CheckStep, words: readonly string[]) =>
    runStep({ name, command: [program, ...args, ...words] }, root, env);
  if (tree === undefined) return { run: async (step) => ({ ...(await run(step, step.all)), note: '' }), remember: () => undefined };
  const settings = settingsOf(tree, root);

  const whole = async (step: CheckStep, keys: Keys): Promise<Noted> => {
    const result = await run(step, step.all);
    if (result.ok) found[step.name] = greenOf(keys, result.milliseconds);
    return { ...result, note: '' };
  };
  const some = async (step: CheckStep, keys: Keys, files: readonly string[]): Promise<Noted> => {
    const result = await run(step, files);
    if (result.ok) found[step.name] = greenOf(keys, green[step.name]?.milliseconds ?? 0);
    return { ...result, note: `${files.length} of ${keys.files.size} files; the others are as when they were green` };
  };
  const runChanged = async (step: CheckStep): Promise<Noted> => {
    const keys = keysOf(tree, step, settings);
    const files = toLookAt(keys, green[step.name]);
    if (files === undefined || files.length > most) return whole(step, keys);
    if (files.length > 0) return some(step, keys, files);
    return { name: step.name, ok: true, output: '', milliseconds: 0, note: 'as when it was green' };
  };
  const remember = () => {
    const after = readTree(root);
    if (after !== undefined && isSame(tree.hashes, after.hashes) && settingsOf(after, root) === settings)
      keepGreen(memory, { ...readGreen(memory), ...found });
  };
  return { run: runChanged, remember };
}

function greenOf({ key, files }: Keys, milliseconds: number): GreenStep {
  return { key, files: Object.fromEntries(files), milliseconds };
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([file, hash]) => b.get(file) === hash);
}
