/** Options that the file readers have in common on both read-only surfaces (GNU coreutils 9, GNU grep 3). */
import type { ProgramRule, Takes } from '../program-rule.ts';
import { amount, colourChoice, kind, oneOf, searchPattern, sizeUnit, wholeNumber } from '../value-kinds.ts';

type Options = Pick<ProgramRule, 'flags' | 'values' | 'longs' | 'optional' | 'count'>;

/** Not `-L`, `-H` and `--dereference…`: they follow links. `-R` is the surface's choice. */
export const lsOptions: Options = {
  flags: 'aAbBcCdfFgGhiklmnNopqQrsStuUvxX1Z',
  values: { I: searchPattern, w: wholeNumber },
  longs: {
    ...flags(
      '--all',
      '--almost-all',
      '--directory',
      '--full-time',
      '--human-readable',
      '--si',
      '--inode',
      '--numeric-uid-gid',
      '--no-group',
    ),
    ...flags('--reverse', '--size', '--group-directories-first', '--file-type'),
    '--time-style': kind('a time style', /^(?:(?:posix-)?(?:full-iso|long-iso|iso|locale)|\+[%A-Za-z0-9 :.,/_-]{1,40})$/),
    '--sort': oneOf('a sort order', 'none', 'name', 'size', 'time', 'version', 'extension', 'width'),
    '--block-size': sizeUnit,
    '--ignore': searchPattern,
    '--hide': searchPattern,
    '--time': oneOf('a time', 'atime', 'access', 'use', 'ctime', 'status', 'birth', 'mtime'),
  },
  optional: { '--color': { kind: colourChoice } },
};

export const catOptions: Options = {
  flags: 'AbeEnstTuv',
  longs: flags('--show-all', '--number-nonblank', '--show-ends', '--number', '--squeeze-blank', '--show-tabs', '--show-nonprinting'),
};

/** Not `-f`, `-F`, `--follow`, `--retry`, `--pid`: they wait. */
export const headOptions: Options = {
  flags: 'qvz',
  values: { n: amount, c: amount },
  longs: { ...flags('--quiet', '--silent', '--verbose', '--zero-terminated'), '--lines': amount, '--bytes': amount },
  count: true,
};

/** Not `--files0-from`: it reads a list of files. */
export const wcOptions: Options = {
  flags: 'clmLw',
  longs: {
    ...flags('--bytes', '--chars', '--lines', '--max-line-length', '--words'),
    '--total': oneOf('when to print a total', 'auto', 'always', 'only', 'never'),
  },
};

/** Not `-f`, `--file`, `--exclude-from`: they read files. Not `-R`: it follows links. `-r` is the surface's choice. */
export const grepOptions = {
  flags: 'abcEFGhHiIlLnoPqsTUvwxyzZ',
  values: { e: searchPattern, m: wholeNumber, A: wholeNumber, B: wholeNumber, C: wholeNumber },
  longs: {
    ...flags(
      '--extended-regexp',
      '--fixed-strings',
      '--basic-regexp',
      '--perl-regexp',
      '--ignore-case',
      '--no-ignore-case',
      '--invert-match',
      '--word-regexp',
      '--line-regexp',
      '--count',
    ),
    ...flags(
      '--files-with-matches',
      '--files-without-match',
      '--only-matching',
      '--quiet',
      '--silent',
      '--no-messages',
      '--byte-offset',
      '--with-filename',
      '--no-filename',
      '--line-number',
    ),
    ...flags('--initial-tab', '--null', '--text', '--null-data', '--line-buffered'),
    '--regexp': searchPattern,
    '--max-count': wholeNumber,
    '--after-context': wholeNumber,
    '--before-context': wholeNumber,
    '--context': wholeNumber,
  },
  optional: { '--color': { kind: colourChoice }, '--colour': { kind: colourChoice } },
  count: true,
} satisfies Options;

/** `-e` gives the pattern, so the first operand is a file then. */
export const patternGiven = ['-e', '--regexp'] as const;

function flags(...names: readonly string[]): Readonly<Record<string, Takes>> {
  return Object.fromEntries(names.map((name) => [name, null]));
}
