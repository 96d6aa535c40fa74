/** `cd` and its kin: where what follows runs. */
import type { Decision } from '#kernel/decision';
import { locatePath } from '../../paths/locate-path.ts';
import { askFor } from './findings.ts';
import { globPaths, judgePath, type PathScope } from './judge-path.ts';
import { mayVanish, type ShellWord } from './shell-word.ts';
import { type After, staying, type Walk } from './walk-state.ts';

export function isDirectoryChange(program: string): boolean {
  return program === 'cd' || program === 'pushd' || program === 'popd' || program === 'chdir';
}

interface Change {
  readonly program: string;
  readonly args: readonly ShellWord[];
  readonly offset: number;
  readonly inFunction: boolean;
}

/** Where it leads. A directory that is not there yet may fail to be entered: then the old ones stay possible. */
export function changeDirectory(
  { program, args, offset, inFunction }: Change,
  scope: PathScope,
  walk: Pick<Walk, 'found' | 'visited' | 'nullglob'>,
): After {
  const { found, visited } = walk;
  if (program === 'popd' || isBack(args, visited)) return back(scope, visited);
  const [target, ...more] = args.filter((word) => !/^(?:--|-[LPe@]+)$/.test(word.values?.[0] ?? ''));
  if (target === undefined || more.length > 0 || !isPlace(target)) {
    found.push(askFor('unclear', offset, `\`${program}\` to a directory that is not known before it runs`));
    return staying(scope);
  }
  const against = judgeTarget(target, { program, inFunction }, scope);
  found.push(...against);
  if (against.length > 0) return staying(scope);
  // Without a word it goes home.
  const places = mayVanish(target, walk) ? undefined : matchedPlaces(target, scope);
  if (places === undefined) {
    found.push(askFor('unclear', offset, `\`${program}\` to one of many directories, or to none`));
    return staying(scope);
  }
  const after = enter(places, scope);
  for (const directory of [...after.ended, ...scope.directories]) visited.add(directory);
  return after;
}

/** SECURITY: before the first change of a directory `-` is whatever the shell was given. */
function isBack(args: readonly ShellWord[], visited: ReadonlySet<string>): boolean {
  return args.length === 1 && args[0]?.values?.[0] === '-' && visited.size > 1;
}

const mostPlaces = 16;

/** SECURITY: a name in what a pattern matches may be a link that leads out. Undefined where there are many. */
function matchedPlaces({ values = [], glob, offset }: ShellWord, scope: PathScope): readonly string[] | undefined {
  if (!glob) return values;
  const found = values.flatMap((text) => globPaths({ text, glob, offset }, scope) ?? []);
  return found.length > mostPlaces ? undefined : found;
}

function isPlace({ values }: ShellWord): boolean {
  return values?.every((value) => value !== '' && !value.startsWith('-')) ?? false;
}

function judgeTarget(
  { values = [], glob, offset }: ShellWord,
  { program, inFunction }: Pick<Change, 'program' | 'inFunction'>,
  scope: PathScope,
): readonly Decision[] {
  // SECURITY: a function runs wherever it is called, as often as it is.
  if (inFunction && values.some((value) => /(?:^|\/)\.\.(?:\/|$)/.test(value)))
    return [askFor('unclear', offset, `\`${program}\` upwards in a function`)];
  // SECURITY: what a pattern matches may be a link that leads out, so the stricter question is asked.
  return values.flatMap((text) => judgePath({ text, glob, offset }, glob ? 'read' : 'list', scope));
}

/** SECURITY: to any directory that was entered or left before. */
function back({ directories }: PathScope, visited: ReadonlySet<string>): After {
  const all = [...new Set([...directories, ...visited])];
  return { succeeded: all, ended: all };
}

/** The shell goes by the text of the path: `a/..` is where it started, whatever `a` links to. */
function straight(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/').slice(1))
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  return path.startsWith('/') ? `/${parts.join('/')}` : path;
}

function enter(values: readonly string[], { view, directories }: PathScope): After {
  const entered = directories.flatMap((directory) =>
    values.map((value) => straight(value.startsWith('/') ? value : `${directory}/${value}`)),
  );
  const isThere = entered.every((directory) => {
    const located = locatePath(directory, view.ground);
    return located.ok && view.facts.look(located.raw).kind === 'directory';
  });
  const succeeded = [...new Set(entered)];
  return { succeeded, ended: isThere ? succeeded : [...new Set([...succeeded, ...directories])] };
}
