/**
 * File patterns as `.gitignore` has them (gitignore(5)), and `{a,b}` beside them. Matching takes time in proportion to pattern × path,
 * whatever the pattern: there is no backtracking into an earlier star.
 */

import { Fault } from '#kernel/errors';
import type { Segments } from '#kernel/ports/path-facts';
import { say } from '#kernel/text/message';

type Token =
  | { readonly kind: 'character'; readonly character: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'star' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [from: string, to: string])[] };

/** A name's pattern; `deep` is `**`, any number of directories. */
type Part = 'deep' | readonly Token[];

export type Glob = (segments: Segments) => boolean;

const mostCharacters = 1_000;

/** A caller's pattern. Without `/` it matches a name at any depth, else the whole path. @throws {Fault} `BAD_PATTERN` */
export function parseGlob(pattern: string): Glob {
  if (pattern.length > mostCharacters) throw badGlob(`it has more than ${mostCharacters} characters`);
  if (pattern === '' || pattern.startsWith('!')) throw badGlob('it is empty or starts with `!`; name what to keep');
  const globs = expandBraces(pattern).map((alternative) => globOf(alternative));
  return (segments) => globs.some((glob) => glob(segments));
}

/** One pattern of a `.gitignore` file, without `!` and trailing `/`. No braces. */
export function globOf(pattern: string): Glob {
  const names = pattern.split('/').filter((name, index) => name !== '' || index > 0);
  const anchored = pattern.includes('/');
  const parts = (anchored ? names : ['**', ...names]).filter((name) => name !== '' && name !== '.').map(partOf);
  // `a/**` is what is in `a`, not `a` itself.
  if (anchored && parts.at(-1) === 'deep' && parts.length > 1) parts.splice(-1, 0, [{ kind: 'star' }]);
  return (segments) => matchParts(parts, segments);
}

function partOf(name: string): Part {
  return name === '**' ? 'deep' : tokensOf(name);
}

/** The two-pointer method for stars, one level up: `deep` stands for any number of names. */
function matchParts(parts: readonly Part[], names: Segments): boolean {
  return matchStars(parts, names, {
    isStar: (part) => part === 'deep',
    matches: (part, name) => part !== 'deep' && matchStars(part, Array.from(name), { isStar: isStarToken, matches: matchesToken }),
  });
}

interface StarMatching<Pattern, Item> {
  isStar(pattern: Pattern): boolean;
  matches(pattern: Pattern, item: Item): boolean;
}

/** Whether `pattern` matches all of `items`. Only the last star is ever tried again, which is enough. */
function matchStars<Pattern, Item>(pattern: readonly Pattern[], items: readonly Item[], by: StarMatching<Pattern, Item>): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < items.length; ) {
    const part = pattern[at];
    if (part !== undefined && by.isStar(part)) {
      star = at;
      resume = index;
      at += 1;
    } else if (part !== undefined && by.matches(part, items[index] as Item)) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      index = resume;
    } else return false;
  }
  return pattern.slice(at).every((part) => by.isStar(part));
}

function isStarToken(token: Token): boolean {
  return token.kind === 'star';
}

function matchesToken(token: Token, character: string): boolean {
  switch (token.kind) {
    case 'character':
      return token.character === character;
    case 'any':
      return true;
    case 'class':
      return token.ranges.some(([from, to]) => character >= from && character <= to) !== token.negated;
    case 'star':
      return false;
  }
}

function tokensOf(name: string): readonly Token[] {
  const characters = Array.from(name);
  const tokens: Token[] = [];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? '';
    if (character === '*') tokens.push({ kind: 'star' });
    else if (character === '?') tokens.push({ kind: 'any' });
    else if (character === '[') {
      const { token, end } = classAt(characters, index);
      tokens.push(token);
      index = end;
    } else if (character === '\\' && index + 1 < characters.length) {
      index += 1;
      tokens.push({ kind: 'character', character: characters[index] ?? '' });
    } else tokens.push({ kind: 'character', character });
  }
  return tokens;
}

/** `[a-z]`, `[!a]`, `[]a]`; one without its end is a plain bracket. */
function classAt(characters: readonly string[], start: number): { readonly token: Token; readonly end: number } {
  const negated = characters[start + 1] === '!' || characters[start + 1] === '^';
  const first = start + (negated ? 2 : 1);
  const end = characters.indexOf(']', first + 1);
  if (end === -1) return { token: { kind: 'character', character: '[' }, end: start };
  const ranges: (readonly [string, string])[] = [];
  for (let index = first; index < end; index += 1) {
    const from = characters[index] ?? '';
    if (characters[index + 1] === '-' && index + 2 < end) {
      ranges.push([from, characters[index + 2] ?? '']);
      index += 2;
    } else ranges.push([from, from]);
  }
  return { token: { kind: 'class', negated, ranges }, end };
}

const mostAlternatives = 64;

/**
 * `a{b,c}d` → `abd`, `acd`. What a backslash or a class `[…]` holds is no brace.
 * @throws {Fault} `BAD_PATTERN` for what is not closed, not opened, nested, reversed or too much; a program's pattern would match nothing
 */
function expandBraces(pattern: string): readonly string[] {
  return piecesOf(pattern).reduce<readonly string[]>(
    (begun, choices) => {
      const all = begun.flatMap((start) => choices.map((choice) => `${start}${choice}`));
      if (all.length > mostAlternatives) throw badGlob(`it stands for more than ${mostAlternatives} patterns`);
      return all;
    },
    [''],
  );
}

function badGlob(why: string): Fault {
  return new Fault('BAD_PATTERN', say`the file pattern is not understood: ${why}`, {
    audience: 'user',
    next: 'use for example `*.ts` or `src/**/*.{ts,js}`; a backslash before a special character makes it an ordinary one',
  });
}

interface Braces {
  readonly at: number;
  readonly choices: string[];
}

/** Each piece as its choices; plain text has one. */
function piecesOf(pattern: string): readonly (readonly string[])[] {
  const pieces: (readonly string[])[] = [];
  let plain = '';
  let open: Braces | undefined;
  for (let at = 0; at < pattern.length; ) {
    const token = tokenAt(pattern, at);
    if (token === '{') {
      if (open !== undefined) throw badGlob(`\`{\` at character ${at + 1} is within other braces`);
      pieces.push([plain]);
      plain = '';
      open = { at, choices: [] };
    } else if (token === '}') {
      if (open === undefined) throw badGlob(`\`}\` at character ${at + 1} closes nothing`);
      pieces.push([...open.choices, plain]);
      plain = '';
      open = undefined;
    } else if (token === ',' && open !== undefined) {
      open.choices.push(plain);
      plain = '';
    } else plain += token;
    at += token.length;
  }
  if (open !== undefined) throw badGlob(`\`{\` at character ${open.at + 1} is not closed`);
  return [...pieces, [plain]];
}

/** One character, an escaped one with its backslash, or a whole class. */
function tokenAt(pattern: string, at: number): string {
  const first = pattern.charAt(at);
  if (first === '\\') {
    if (at + 1 === pattern.length) throw badGlob('it ends with a backslash');
    return pattern.slice(at, at + 2);
  }
  return first === '[' ? classTextAt(pattern, at) : first;
}

/** A `]` right behind the start is one of the characters. */
function classTextAt(pattern: string, at: number): string {
  const found = /^\[(?:[!^].[^\]]*|[^!^][^\]]*)\]/s.exec(pattern.slice(at))?.[0];
  if (found === undefined) throw badGlob(`\`[\` at character ${at + 1} is not closed`);
  if (found.includes('/')) throw badGlob(`\`${found}\` holds a \`/\`, which no name does`);
  const reversed = Array.from(
    found
      .slice(1, -1)
      .replace(/^[!^]/, '')
      .matchAll(/(.)-(.)/gsu),
  ).find(([, from = '', to = '']) => from > to);
  if (reversed !== undefined) throw badGlob(`\`${reversed[0]}\` in \`${found}\` runs backwards`);
  return found;
}
