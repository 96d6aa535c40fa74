/** Paths among the options of a program that runs another: the directory in which that one runs (`env -C`), a file that is written. */
import type { Decision } from '#kernel/decision';
import { locatePath } from '../../paths/locate-path.ts';
import { askFor } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { judgePath, type PathScope } from './judge-path.ts';
import { type ShellWord, single } from './shell-word.ts';

export interface PlaceOptions {
  /** Options with the directory in which the command runs: attached in the first group, or the next word. */
  readonly enters?: RegExp;
  /** The same with a file that is written. */
  readonly writes?: RegExp;
}

export interface GivenPlace {
  readonly use: 'enter' | 'write';
  readonly isAttached: boolean;
  /** Empty where it is missing or is not known before it runs. */
  readonly text: string;
}

/** The place that the option gives, if it gives one; `next` is the word behind it. */
export function placeOption({ enters, writes }: PlaceOptions, option: string, next: ShellWord | undefined): readonly GivenPlace[] {
  const entered = enters?.exec(option);
  const match = entered ?? writes?.exec(option);
  if (match === undefined || match === null) return [];
  return [{ use: entered ? 'enter' : 'write', isAttached: match[1] !== undefined, text: match[1] ?? knownText(next) }];
}

function knownText(word: ShellWord | undefined): string {
  return word?.glob ? '' : (single(word) ?? '');
}

/** Where the command runs: of several directories the last counts. What speaks against a place is added to `found`. */
export function enterPlaces(places: readonly GivenPlace[], { scope, offset }: Invocation, found: Decision[]): PathScope {
  let last = scope;
  for (const place of places) {
    found.push(...judgePlace(place, offset, scope));
    if (place.use === 'enter') last = { ...scope, directories: directoriesAt(place.text, scope) ?? scope.directories };
  }
  return last;
}

function judgePlace({ use, text }: GivenPlace, offset: number, scope: PathScope): readonly Decision[] {
  // SECURITY: an attached pattern is one of the shell's too.
  if (text === '' || /[*?[]/.test(text)) return [askFor('unclear', offset, 'a place that is not known before it runs')];
  if (use === 'enter' && directoriesAt(text, scope) === undefined)
    return [askFor('unclear', offset, `\`${text.slice(0, 60)}\` as the place to run in: no directory is there yet, or a link leads to it`)];
  return judgePath({ text, glob: false, offset }, use === 'enter' ? 'list' : 'write', scope);
}

/**
 * SECURITY: the system follows links where a text does not, and from there `..` would lead on. Undefined where a directory is not there yet, is
 * reached by a link, or where the line makes links, of which one may be put in its place.
 */
function directoriesAt(text: string, { view, directories, made }: PathScope): readonly string[] | undefined {
  if (text.split('/').includes('..') || made.links.size > 0) return undefined;
  const entered = directories.map((directory) => (text.startsWith('/') ? text : `${directory}/${text}`));
  const isPlain = entered.every((directory) => {
    const located = locatePath(directory, view.ground);
    const fact = located.ok ? view.facts.look(located.raw) : undefined;
    return located.ok && fact?.kind === 'directory' && fact.path.join('/') === located.raw.filter((name) => name !== '.').join('/');
  });
  return isPlain ? entered : undefined;
}
