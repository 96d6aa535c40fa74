/** What git's index names and a person decides about is held with all of the run: half a checkout would read as files that somebody deleted. */
import type { Verdict } from '#kernel/effects';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import type { Unit } from './difference.ts';
import { listIndex } from './git-parts.ts';
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
    const entriesIn = (index: string) => listIndex(programs, { index, asked, cwd: `${view.workspaceRoot}/${top}` });
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
