/**
 * What is special about a repository's own files: an index counts by what it names (`git status` writes one anew for the times in it alone), and an object
 * may be part of what somebody else made since.
 */

import { createHash } from 'node:crypto';
import { constants, copyFileSync, mkdirSync } from 'node:fs';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import { look, namesIn, type Stamp, stampOf, type TreeEntry, walk } from './stamp.ts';
import type { NewEntry, Unit } from './unit.ts';

/** Of a repository, a worktree or a submodule. `gitrepository-layout(5)` */
function isIndex(path: string): boolean {
  return /(?:^|\/)\.git\/(?:(?:worktrees|modules)\/(?:.+\/)?)?index$/.test(path);
}

interface Listed {
  readonly index: string;
  readonly cwd: string;
  readonly asked?: readonly string[];
  /** Of git, from there; left out: found by git. */
  readonly gitDirectory?: string;
  /** `assume-unchanged`, `skip-worktree` and the like, too. */
  readonly marks?: boolean;
}

const mostListed = 32 * 2 ** 20;

/** SECURITY: git reads the index alone, and obeys nothing of a person's or the machine's. @returns undefined where it cannot be read */
export async function listIndex(
  programs: ProgramRunner,
  { index, cwd, asked = [], gitDirectory, marks = false }: Listed,
): Promise<string | undefined> {
  const safe = ['-c', 'core.fsmonitor=false', '-c', 'safe.directory=*', '--literal-pathspecs', '--no-optional-locks'];
  const quiet = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0', GIT_INDEX_FILE: index };
  const where = gitDirectory === undefined ? [] : [`--git-dir=${gitDirectory}`];
  const line = {
    program: 'git',
    args: [...safe, ...where, 'ls-files', '-s', ...(marks ? ['-v'] : []), '-z', '--', ...asked],
    cwd,
    env: { ...launcherEnvironment, ...quiet },
  };
  const listed = await programs
    .run({ ...line, timeoutMs: 20_000, keepBytes: mostListed }, new AbortController().signal)
    .catch(() => undefined);
  return listed?.exitCode === 0 && !listed.truncated ? listed.stdout : undefined;
}

/** @param index a file with its entries; left out: the one at the path. @returns undefined: the path is none, or it cannot be read */
export async function indexDigest(
  programs: ProgramRunner,
  {
    workspaceRoot,
    path,
    index = `${workspaceRoot}/${path}`,
  }: { readonly workspaceRoot: string; readonly path: string; readonly index?: string },
): Promise<string | undefined> {
  if (!isIndex(path)) return undefined;
  const cwd = `${workspaceRoot}/${path.slice(0, -'/index'.length)}`;
  const named = await listIndex(programs, { index, cwd, gitDirectory: '.', marks: true });
  return named === undefined ? undefined : createHash('sha256').update(named).digest('hex');
}

/** An index that a run left: a copy of it lies in `index` of the run's directory. */
export interface LeftIndex {
  /** Below the workspace. */
  readonly path: string;
  readonly copy: string;
  readonly stamp: Stamp;
}

/** @param placeOf where an entry of the step is staged */
export function keepIndexes(
  entries: readonly NewEntry[],
  { directory, number, placeOf }: { readonly directory: string; readonly number: number; readonly placeOf: (path: string) => string },
): readonly LeftIndex[] {
  return entries
    .filter(({ path, stats }) => stats.isFile() && isIndex(path))
    .flatMap(({ path }, count) => {
      const copy = `${number}-${count}`;
      const stats = look(placeOf(path));
      if (stats === undefined) return [];
      try {
        mkdirSync(`${directory}/index`, { recursive: true, mode: 0o700 });
        copyFileSync(placeOf(path), `${directory}/index/${copy}`, constants.COPYFILE_FICLONE);
      } catch {
        // Closed, or no room: any change of it is one then.
        return [];
      }
      return [{ path, copy, stamp: stampOf(stats) }];
    });
}

/** `gitrepository-layout(5)`; bare ones, too. */
const objectPath = /^(?:(.+)\/)?objects\/(?:[0-9a-f]{2}|pack|info)(?:\/|$)/;

/** The directory of the repository whose object it is, or a directory of objects. */
export function repositoryOfObject(path: string): string | undefined {
  const found = objectPath.exec(path);
  return found === null ? undefined : (found[1] ?? '');
}

/**
 * INVARIANT: what names something comes after it, so that a repository is whole at each step, whoever looks: objects, then all else, and what goes
 * last. Attributes follow, inner ones first: a directory may be closed by its new mode.
 */
export function rankOf({ path, kind }: Pick<Unit, 'path' | 'kind'>): number {
  if (kind === 'attributes') return 4 + 1 / path.length;
  const isGone = kind === 'delete';
  if (repositoryOfObject(path) !== undefined) return isGone ? 3 : 0;
  // `packed-refs` takes over what `refs` had.
  return /(?:^|\/)packed-refs$/.test(path) ? 1 : 2;
}

/** Of other clones, and of what is fetched: they name nothing that was made here. */
const elsewhere = /^(?:FETCH_HEAD$|(?:logs\/)?refs\/remotes\/)/;
const naming = /^(?:worktrees\/[^/]+\/)?(?:(?:logs\/)?refs\/|logs\/HEAD$|packed-refs$|(?:[A-Z]+_)?HEAD$|index$)/;

/** Whether somebody gave something of a repository a name since, so that it may be made of what was there then. @param since ns since the epoch */
export async function isNamedSince(repository: string, since: bigint, { index }: { readonly index: boolean }): Promise<boolean> {
  for await (const { path, stats } of walkNames(repository)) {
    const isName = naming.test(path) && !elsewhere.test(path) && (index || !path.endsWith('index'));
    if (isName && !stats.isDirectory() && stats.mtimeNs > since) return true;
  }
  return false;
}

async function* walkNames(repository: string): AsyncGenerator<TreeEntry> {
  yield* entriesIn(repository);
  for (const part of ['refs', 'logs', 'worktrees'])
    for await (const { path, stats } of walk(`${repository}/${part}`)) yield { path: `${part}/${path}`, stats };
}

function entriesIn(repository: string): readonly TreeEntry[] {
  return namesIn(repository).flatMap((path) => {
    const stats = look(`${repository}/${path}`);
    return stats === undefined ? [] : [{ path, stats }];
  });
}
