/** `cd` and its kin: where what follows runs. */
import { locatePath } from '../../paths/locate-path.ts';
import { askFor } from './findings.ts';
import { judgePath, type PathScope } from './judge-path.ts';
import type { ShellWord } from './shell-word.ts';
import { type After, staying, type Walk } from './walk-state.ts';

export function isDirectoryChange(program: string): boolean {
  return program === 'cd' || program === 'pushd' || program === 'popd' || program === 'chdir';
}

interface Change {
  readonly program: string;
  readonly args: readonly ShellWord[];
  readonly offset: number;
}

/** Where it leads. A directory that is not there yet may fail to be entered: then the old ones stay possible. */
export function changeDirectory({ program, args, offset }: Change, scope: PathScope, { found, visited }: Pick<Walk, 'found' | 'visited'>): After {
  if (program === 'popd' || (args.length === 1 && args[0]?.values?.[0] === '-')) return back(scope, visited);
  const operands = args.filter((word) => !/^(?:--|-[LPe@]+)$/.test(word.values?.[0] ?? ''));
  const [target, ...more] = operands;
  if (target?.values === undefined || more.length > 0 || target.values.some((value) => value.startsWith('-') || value === '')) {
    found.push(askFor('unclear', target?.offset ?? offset, `\`${program}\` to a directory that is not known before it runs`));
    return staying(scope);
  }
  const paths = target.values.map((text) => ({ text, glob: target.glob, offset: target.offset }));
  // SECURITY: what a pattern matches may be a link that leads out, so the stricter question is asked.
  const against = paths.flatMap((path) => judgePath(path, target.glob ? 'read' : 'list', scope));
  found.push(...against);
  if (against.length > 0) return staying(scope);
  const after = enter(target.values, scope);
  for (const directory of [...after.ended, ...scope.directories]) visited.add(directory);
  return after;
}

/** SECURITY: to any directory that was entered or left before. */
function back({ directories }: PathScope, visited: ReadonlySet<string>): After {
  const all = [...new Set([...directories, ...visited])];
  return { succeeded: all, ended: all };
}

function enter(values: readonly string[], { view, directories }: PathScope): After {
  const entered = directories.flatMap((directory) => values.map((value) => (value.startsWith('/') ? value : `${directory}/${value}`)));
  const isThere = entered.every((directory) => {
    const located = locatePath(directory, view.ground);
    return located.ok && view.facts.look(located.raw).kind === 'directory';
  });
  const succeeded = [...new Set(entered)];
  return { succeeded, ended: isThere ? succeeded : [...new Set([...succeeded, ...directories])] };
}
