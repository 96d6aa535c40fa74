/**
 * What git executes or obeys inside a repository's directory. Source: `gitrepository-layout(5)`, `githooks(5)`, `git-config(1)`. A command
 * may commit; it may not decide what the next git, outside, runs.
 */
import { type Dirent, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Change } from '#kernel/effects';
import type { Segments } from '#kernel/ports/path-facts';
import { entriesOf, statsOf } from './entries.ts';

/** `commondir` sends git to another directory for its configuration; `config.worktree` is configuration, too. */
const points = ['config', 'config.worktree', 'commondir', 'hooks', 'info/attributes'];
/** Directories that hold other repositories' directories. */
const nested = ['modules', 'worktrees'];
const deepestNesting = 6;

/** Whether a directory with these entries is one that git would take for a repository, whatever its name. */
export function isGitDirectory(content: readonly Dirent[]): boolean {
  const has = (name: string) => content.some((item) => item.name === name);
  return has('HEAD') && ((has('objects') && has('refs')) || has('commondir'));
}

/**
 * Around a path the directory that git would take for a repository though it is not named `.git`, once the entries `made` are there, too.
 * SECURITY: what goes meanwhile counts as being there: rather one repository too many. Source: git's `setup.c`, `is_git_directory`.
 */
export function repositoriesAround(root: string, made: ReadonlySet<string>): (file: string) => Pick<Change, 'repository'> {
  const was = (file: string) => statsOf(path.join(root, file)) !== undefined;
  const isOne = (directory: string, has: (file: string) => boolean) => {
    const holds = (name: string) => has(path.posix.join(directory, name));
    return holds('HEAD') && ((holds('objects') && holds('refs')) || holds('commondir'));
  };
  const hasParts = (directory: string) => obeyedParts.some((name) => was(path.posix.join(directory, name)));
  const known = new Map<string, Pick<Change, 'repository'>>();
  const of = (directory: string): Pick<Change, 'repository'> => {
    const before = known.get(directory);
    if (before !== undefined) return before;
    const isRepository = isOne(directory, (file) => made.has(file) || was(file));
    const grown = isRepository && !isOne(directory, was) && hasParts(directory) ? { grown: true } : {};
    const above = directory === '' ? {} : of(directoryOf(directory));
    const found = isRepository ? { repository: { path: directory, ...grown } } : above;
    known.set(directory, found);
    return found;
  };
  return (file) => (/(?:^|\/)\.git(?:\/|$)/i.test(file) ? {} : of(directoryOf(file)));
}

/** What git would obey in a directory that becomes a repository. */
const obeyedParts = ['config', 'config.worktree', 'hooks', 'info', 'commondir', 'remotes', 'branches', 'modules', 'worktrees'];

function directoryOf(file: string): string {
  return file.slice(0, Math.max(0, file.lastIndexOf('/')));
}

/** The points that exist, hooks one by one, those of submodules and worktrees included. */
export function gitDirectoryPoints(root: string, segments: Segments, depth = 0): readonly Segments[] {
  const directory = path.join(root, ...segments);
  const own = points.map((point) => [...segments, ...point.split('/')]).filter((point) => statsOf(path.join(root, ...point)) !== undefined);
  const hooks = names(path.join(directory, 'hooks'))
    .filter((name) => !name.endsWith('.sample'))
    .map((name) => [...segments, 'hooks', name]);
  if (depth >= deepestNesting) return [...own, ...hooks];
  return [...own, ...hooks, ...nested.flatMap((name) => inNested(root, [...segments, name], depth + 1))];
}

/** Submodules lie at the path of their name, which may have slashes. */
function inNested(root: string, segments: Segments, depth: number): readonly Segments[] {
  const directories = entriesOf(path.join(root, ...segments)).filter((item) => item.isDirectory());
  return directories.flatMap((item) => {
    const inner = [...segments, item.name];
    if (isGitDirectory(entriesOf(path.join(root, ...inner)))) return gitDirectoryPoints(root, inner, depth);
    return depth >= deepestNesting ? [] : inNested(root, inner, depth + 1);
  });
}

/**
 * Places that a repository's configuration names as hooks or as more configuration (`core.hooksPath`, `include.path`), where they are in
 * the workspace: changing them is as good as changing `.git/config`.
 */
export function configuredPlaces(root: string, gitDirectory: Segments): readonly Segments[] {
  const directory = path.join(root, ...gitDirectory);
  const text = readText(path.join(directory, 'config'));
  const worktree = path.dirname(directory);
  // INVARIANT: hooksPath counts from the worktree, include.path from the file that names it.
  const hooks = valuesOf(text, 'hookspath').map((value) => path.resolve(worktree, value));
  const includes = valuesOf(text, 'path').map((value) => path.resolve(directory, value));
  return [...hooks, ...includes]
    .map((place) => path.relative(root, place))
    .filter((relative) => relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative))
    .map((relative) => relative.split(path.sep));
}

function valuesOf(text: string, key: string): readonly string[] {
  const pattern = new RegExp(`^[ \\t]*(?:\\[[^\\]\\n]*\\][ \\t]*)?${key}[ \\t]*=[ \\t]*"?([^"\\n#;]+)`, 'gim');
  return [...text.matchAll(pattern)].map((match) => (match[1] ?? '').trim()).filter((value) => value !== '');
}

function names(directory: string): readonly string[] {
  return entriesOf(directory).map((item) => item.name);
}

function readText(file: string): string {
  try {
    return statsOf(file)?.isFile() ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}
