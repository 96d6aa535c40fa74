/** A caller's file pattern before it is matched: braces written out, and what cannot be read refused with its place. */
import { Fault } from '#kernel/errors';

const mostAlternatives = 64;

/**
 * `a{b,c}d` → `abd`, `acd`. What a backslash or a class `[…]` holds is no brace.
 * @throws {Fault} `BAD_PATTERN` for what is not closed, not opened, nested, reversed or too much; a program's pattern would match nothing
 */
export function expandBraces(pattern: string): readonly string[] {
  return piecesOf(pattern).reduce<readonly string[]>(
    (begun, choices) => {
      const all = begun.flatMap((start) => choices.map((choice) => `${start}${choice}`));
      if (all.length > mostAlternatives) throw badGlob(`it stands for more than ${mostAlternatives} patterns`);
      return all;
    },
    [''],
  );
}

export function badGlob(why: string): Fault {
  return new Fault('BAD_PATTERN', `the file pattern is not understood: ${why}`, {
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
  return first === '[' ? classAt(pattern, at) : first;
}

/** A `]` right behind the start is one of the characters. */
function classAt(pattern: string, at: number): string {
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
