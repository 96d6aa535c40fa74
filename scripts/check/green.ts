/**
 * What was green, so that a second run of the check does not prove it again. A key stands for everything that a result depends on: contents,
 * settings, tools. INVARIANT: what a key does not cover is never skipped (`machine`); a key is kept only after its step was green.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { hashOf, type Tree } from './tree.ts';

/** By step. */
export type Green = Readonly<Record<string, GreenStep>>;

export interface GreenStep {
  /** Of the whole step. */
  readonly key: string;
  /** Of each file that it looks at by itself. */
  readonly files: Readonly<Record<string, string>>;
  /** How long the whole of it took. */
  readonly milliseconds: number;
}

/** How a step's result follows from the tree. */
export interface Scope {
  /** Whether the result can depend on that file. */
  readonly reads: (file: string) => boolean;
  /** Where it looks at files one by one: at which, and whether what they read counts, too. */
  readonly each?: { readonly files: (file: string) => boolean; readonly by: 'content' | 'closure' };
  /** A file whose result depends on more than the repository: programs that are there or not. It is looked at each time. */
  readonly machine?: (text: string) => boolean;
  /** A file that reads the repository as it lies there, and not by imports: it is looked at whenever the step's key is another. */
  readonly whole?: (text: string) => boolean;
}

export interface Keys {
  readonly key: string;
  readonly files: ReadonlyMap<string, string>;
  /** Looked at in any case. */
  readonly always: readonly string[];
}

/** @param settings what every result depends on ({@link settingsOf}) */
export function keysOf(tree: Tree, scope: Scope, settings: string): Keys {
  const key = hashOf(`${settings}\n${contentsOf(tree, [...tree.hashes.keys()].filter(scope.reads))}`);
  const { each } = scope;
  if (each === undefined) return { key, files: new Map(), always: [] };
  const machine = marked(tree, scope.machine);
  const whole = marked(tree, scope.whole);
  const looked = [...tree.hashes.keys()].filter(each.files).map((file) => {
    const closure = each.by === 'content' ? [file] : tree.closureOf(file);
    const isWhole = closure.some((one) => whole.has(one));
    return {
      file,
      always: closure.some((one) => machine.has(one)),
      key: isWhole ? key : hashOf(`${settings}\n${contentsOf(tree, closure)}`),
    };
  });
  return {
    key,
    files: new Map(looked.map((one) => [one.file, one.key])),
    always: looked.filter((one) => one.always).map(({ file }) => file),
  };
}

/** Of tests and scripts: what the sources do, they do to whatever a test gives them. */
function marked(tree: Tree, test: ((text: string) => boolean) | undefined): ReadonlySet<string> {
  if (test === undefined) return new Set();
  const found = [...tree.sources].filter(([file, text]) => !file.startsWith('src/') && test(text));
  return new Set(found.map(([file]) => file));
}

function contentsOf(tree: Tree, files: readonly string[]): string {
  return files.map((file) => `${file} ${tree.hashes.get(file) ?? ''}`).join('\n');
}

/** The files that a step has to look at again: undefined for all, [] for none. */
export function toLookAt(keys: Keys, green: GreenStep | undefined): readonly string[] | undefined {
  if (green === undefined) return undefined;
  if (green.key === keys.key) return keys.always;
  if (keys.files.size === 0) return undefined;
  const changed = [...keys.files].filter(([file, key]) => green.files[file] !== key).map(([file]) => file);
  return [...new Set([...changed, ...keys.always])].toSorted();
}

/** Node, the packages that are installed, the environment, and the files at the top that set tools up: all but what the editor reads of the manifest. */
export function settingsOf(tree: Tree, root: string): string {
  const top = [...tree.hashes].filter(
    ([file]) =>
      (!file.includes('/') && !file.endsWith('.md') && !['package.json', 'package.nls.json', 'package.nls.de.json'].includes(file)) ||
      /^scripts\/(?:check\.ts$|check\/|lint\/)/.test(file) ||
      file.endsWith('.d.ts'),
  );
  const told = Object.keys(process.env).filter((name) => /^(?:BANKSMAN_|CI$|TZ$|LANG$|LC_|NODE_OPTIONS$)/.test(name));
  const environment = told.toSorted().map((name) => `${name}=${process.env[name] ?? ''}`);
  const { contributes: _, version: __, ...manifest } = JSON.parse(read(path.join(root, 'package.json')) || '{}') as Record<string, unknown>;
  const installed = hashOf(read(path.join(root, 'node_modules/.package-lock.json')));
  const parts = [process.version, process.platform, process.arch, root, installed, manifest, environment, top];
  return hashOf(JSON.stringify(parts));
}

export function readGreen(file: string): Green {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Green;
  } catch {
    return {};
  }
}

/** Whole or not at all: two checks may run at once. */
export function keepGreen(file: string, green: Green): void {
  mkdirSync(path.dirname(file), { recursive: true });
  const half = `${file}.${process.pid}`;
  writeFileSync(half, JSON.stringify(green));
  renameSync(half, file);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
