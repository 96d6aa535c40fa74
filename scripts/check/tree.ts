/** What the repository's files say now, as hashes, and which file reads which: from these follows what a change can have changed. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

export interface Tree {
  /** Each file that git would commit: its path with forward slashes, and its content's hash. */
  readonly hashes: ReadonlyMap<string, string>;
  /** The sources among them, as text. */
  readonly sources: ReadonlyMap<string, string>;
  /** The file itself and what its sources name, directly or through others, sorted. */
  readonly closureOf: (file: string) => readonly string[];
}

const source = /\.[cm]?[jt]s$/;

/**
 * A path in a text, in whichever quotes: of an import, of `new URL`, of a child that is started. More than is imported, never less.
 * INVARIANT: a source names another with `./`, `../` or `#`, as the import table makes it.
 */
const named = /['"`]((?:\.{1,2}\/|#)[\w./@#-]+)['"`]/g;
const endings = ['', '.ts', '.mts', '.mjs', '.cjs', '.js', '.json'];

/** @returns undefined where there is no git, or no repository: nobody can say then what there is */
export function readTree(root: string): Tree | undefined {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (listed.status !== 0) return undefined;
  const contents = [...new Set(listed.stdout.split('\0'))].toSorted().flatMap((file) => contentOf(root, file));
  return treeOf(contents);
}

/** Of files as they are given: path and content. */
export function treeOf(contents: readonly (readonly [file: string, content: Buffer])[]): Tree {
  const hashes = new Map(contents.map(([file, content]) => [file, hashOf(content)]));
  const texts = contents.filter(([file]) => source.test(file));
  const sources = new Map(texts.map(([file, content]) => [file, content.toString('utf8')]));
  const edges = new Map([...sources].map(([file, text]) => [file, namedIn(file, text, hashes)]));
  return { hashes, sources, closureOf: (file) => closure(file, edges) };
}

export function hashOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('base64url');
}

/** Nothing of what is deleted and not committed yet, or a folder of its own. */
function contentOf(root: string, file: string): readonly (readonly [string, Buffer])[] {
  try {
    return [[file, readFileSync(path.join(root, file))]];
  } catch {
    return [];
  }
}

function namedIn(file: string, text: string, hashes: ReadonlyMap<string, string>): readonly string[] {
  const names = new Set(Array.from(text.matchAll(named), ([, name = '']) => name));
  return [...names].flatMap((name) => {
    // `#kernel/json` is `src/kernel/json.ts` (package.json).
    const place = name.startsWith('#') ? `src/${name.slice(1)}` : path.posix.join(path.posix.dirname(file), name);
    return endings.map((ending) => place + ending).filter((one) => hashes.has(one));
  });
}

function closure(file: string, edges: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const seen = new Set([file]);
  // What is added meanwhile is visited, too.
  for (const one of seen) for (const next of edges.get(one) ?? []) seen.add(next);
  return [...seen].toSorted();
}
