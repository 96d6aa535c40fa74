/** What git's index names and a person decides about is held with all of the run: half a checkout would read as files that somebody deleted. */
import { createHash } from 'node:crypto';
import type { Verdict } from '#kernel/effects';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import type { Unit } from './difference.ts';
import type { JudgeRequest, Sorted } from './judge-units.ts';
import { nameOf } from './make-plan.ts';
import { upperOf } from './view.ts';

const together: Pick<Verdict, 'rule' | 'why'> = {
  rule: 'git.together',
  why: 'it goes with what is held, for the index of git names that',
};

/** More names than these are not asked for one by one. */
const mostAsked = 200;

/**
 * Where the run gave an index other entries for what is held, all of the run is. Where something is refused nobody could approve the whole, so
 * that the rest is applied. An index that cannot be read counts as one with other entries.
 */
export async function holdTogether(sorted: Sorted, request: JudgeRequest, programs: ProgramRunner): Promise<Sorted> {
  const isPart = sorted.leftOut.some(({ reason }) => reason === 'refused');
  if (isPart || sorted.held.length === 0 || !(await namesHeld(sorted, request, programs))) return sorted;
  const reasonOf = ({ path }: Unit) => sorted.held.find((part) => part.path === path || part.path.startsWith(`${path}/`))?.held;
  const { units } = request.difference;
  const rest = units.filter((unit) => reasonOf(unit) === undefined).map((unit) => ({ ...unit, held: together }));
  const named = units.flatMap((unit) => {
    const held = reasonOf(unit);
    return held === undefined ? [] : [{ ...unit, held }];
  });
  const leftOut = rest.map((unit) => ({ path: nameOf(unit), kind: unit.kind, reason: 'held' as const, ...together }));
  // A person reads first what made it wait.
  return { apply: [], held: [...named, ...rest], leftOut: [...sorted.leftOut, ...leftOut] };
}

async function namesHeld({ apply, held }: Sorted, { view }: JudgeRequest, programs: ProgramRunner): Promise<boolean> {
  const inside = apply.flatMap((unit) => unit.inside.map(({ path }) => path));
  if ([...inside, ...apply.map(({ path }) => path)].some((path) => belongsToHeld(path, held, inside.includes(path)))) return true;
  for (const { path } of apply) {
    const top = topOf(path);
    const names = top === undefined ? [] : namesBelow(top, held);
    if (top === undefined || names.length === 0) continue;
    const asked = names.length > mostAsked ? ['.'] : names;
    const entriesIn = (index: string) => entries(programs, `${view.workspaceRoot}/${top}`, { index, asked });
    const [before, after] = [await entriesIn(`${view.workspaceRoot}/${path}`), await entriesIn(`${upperOf(view)}/${path}`)];
    if (after === undefined || before !== after) return true;
  }
  return false;
}

/** The index of a repository that is new, or of a worktree: what is held beside it came with it, and git is not asked. */
function belongsToHeld(path: string, held: readonly Unit[], isNew: boolean): boolean {
  if (/(?:^|\/)\.git\/worktrees\/[^/]+\/index$/.test(path)) return held.some((unit) => !unit.path.split('/').includes('.git'));
  const top = isNew ? topOf(path) : undefined;
  return top !== undefined && namesBelow(top, held).length > 0;
}

/** Of an index: the directory of its repository, with a `/` at its end. */
function topOf(path: string): string | undefined {
  return /(?:^|\/)\.git\/index$/.test(path) ? path.slice(0, -'.git/index'.length) : undefined;
}

function namesBelow(top: string, held: readonly Unit[]): readonly string[] {
  return held.filter(({ path }) => path.startsWith(top)).map(({ path }) => path.slice(top.length));
}

/** What an index names, with the marks of its entries; undefined: the path is none, or it cannot be read. What `git status` refreshes is not in it. */
export async function indexDigest(programs: ProgramRunner, workspaceRoot: string, path: string): Promise<string | undefined> {
  const top = topOf(path);
  if (top === undefined) return undefined;
  const named = await entries(programs, `${workspaceRoot}/${top}`, { index: `${workspaceRoot}/${path}`, asked: ['.'], marks: true });
  return named === undefined ? undefined : createHash('sha256').update(named).digest('hex');
}

interface Asked {
  readonly index: string;
  readonly asked: readonly string[];
  /** `assume-unchanged`, `skip-worktree` and the like, too. */
  readonly marks?: boolean;
}

const mostListed = 32 * 2 ** 20;

/** SECURITY: git reads the index alone, and obeys nothing of a person's or the machine's. */
async function entries(programs: ProgramRunner, cwd: string, { index, asked, marks = false }: Asked): Promise<string | undefined> {
  const safe = ['-c', 'core.fsmonitor=false', '-c', 'safe.directory=*', '--literal-pathspecs', '--no-optional-locks'];
  const quiet = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0', GIT_INDEX_FILE: index };
  const line = {
    program: 'git',
    args: [...safe, 'ls-files', '-s', ...(marks ? ['-v'] : []), '-z', '--', ...asked],
    cwd,
    env: { ...launcherEnvironment, ...quiet },
  };
  const listed = await programs
    .run({ ...line, timeoutMs: 20_000, keepBytes: mostListed }, new AbortController().signal)
    .catch(() => undefined);
  return listed?.exitCode === 0 && !listed.truncated ? listed.stdout : undefined;
}
