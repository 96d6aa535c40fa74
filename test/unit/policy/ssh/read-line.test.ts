import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../../../src/policy/ssh/line.ts';
import { canonicalLine } from '../../../../src/policy/ssh/line.ts';
import { readStrictLine } from '../../../../src/policy/ssh/read-line.ts';

const dialect: Dialect = { separators: ['&&', '||', ';'], nonAscii: true, limits: { length: 200, words: 8, commands: 3 } };

function words(line: string): readonly (readonly string[])[] {
  const lexed = readStrictLine(line, dialect);
  if (!lexed.ok) throw new Error(`${lexed.refusal.offset}: ${lexed.refusal.message}`);
  return lexed.pipelines.flatMap((pipeline) => pipeline.commands.map((command) => command.words.map((word) => word.text)));
}

describe('words', () => {
  it.each([
    ['a b  c', [['a', 'b', 'c']]],
    [`a 'b c' "d e"`, [['a', 'b c', 'd e']]],
    [`a b'c'"d"e`, [['a', 'bcde']]],
    [`a ''`, [['a', '']]],
    [`a "b\\"c\\\\d\\$e\\x"`, [['a', 'b"c\\d$e\\x']]],
    [`a "x$" "y$|z" main$`, [['a', 'x$', 'y$|z', 'main$']]],
    [`a b\\ c \\( \\; \\*`, [['a', 'b c', '(', ';', '*']]],
    ['a b~ c#d e!f', [['a', 'b~', 'c#d', 'e!f']]],
    ['a ünï 日本', [['a', 'ünï', '日本']]],
    [`a "→ €"`, [['a', '→ €']]],
    ['a|b && c', [['a'], ['b'], ['c']]],
    ['a 2>/dev/null | b 2>&1', [['a'], ['b']]],
  ])('%s', (line, expected) => {
    expect(words(line)).toEqual(expected);
  });

  it('keeps apart what is a pattern and what is text', () => {
    const lexed = readStrictLine(`a x/'*'/*.[a-z]?"y z"`, dialect);
    expect(lexed.ok && lexed.pipelines[0]?.commands[0]?.words[1]).toMatchObject({
      glob: [{ literal: 'x/*/' }, { wild: '*' }, { literal: '.' }, { wild: '[a-z]' }, { wild: '?' }, { literal: 'y z' }],
    });
    expect(lexed.ok && canonicalLine(lexed.pipelines)).toBe(`a 'x/*/'*.[a-z]?'y z'`);
  });
});

describe('refusals name the place', () => {
  it.each([
    ['a $x', 2, '$'],
    ['a "b$x"', 4, '$'],
    ['a `b`', 2, 'backquote'],
    ['a "`b`"', 3, 'backquote'],
    ['a > b', 2, '>'],
    ['a2>/dev/null', 2, '>'],
    ['a <b', 2, '<'],
    ['(a)', 0, '('],
    ['{ a; }', 0, '{'],
    ['a {b,c}', 2, '{'],
    ['a ~', 2, '~'],
    ['a x=~', 4, '~'],
    ['a #b', 2, 'comment'],
    ['a & b', 2, '&'],
    ['a |& b', 2, '|&'],
    ['a ;; b', 2, ';;'],
    ['a |', 3, 'no command'],
    ['a | | b', 4, 'no command'],
    ['; a', 0, 'no command'],
    ['', 0, 'no command'],
    ["a 'b", 2, 'closed'],
    ['a "b', 2, 'closed'],
    ['a \\b', 2, 'backslash'],
    ['a\\', 1, 'backslash'],
    ['a\nb', 1, 'U+000A'],
    ['a\tb', 1, 'U+0009'],
    ['a\u00a0b', 1, 'U+00A0'],
    ['a b\u202e', 3, 'U+202E'],
    ['a –b', 2, '–'],
    ['a [', 2, '['],
    ['a [!]', 2, '['],
    ['a 2>/dev/null 2>&1', 18, 'second'],
    ['a b c d e f g h i', 17, 'more than 8 words'],
    ['a|b|c|d', 7, 'more than 3 commands'],
    ['a;b;c;d', 7, 'more than 3 commands'],
    [`a ${'b'.repeat(300)}`, 200, 'longer than 200'],
  ])('%j', (line, offset, construct) => {
    const lexed = readStrictLine(line, dialect);
    expect(lexed.ok ? undefined : lexed.refusal).toMatchObject({ offset, message: expect.stringContaining(construct) });
  });

  it('takes only the separators of its dialect', () => {
    expect(readStrictLine('a; b', { ...dialect, separators: ['&&'] }).ok).toBe(false);
    expect(readStrictLine('a && b', { ...dialect, separators: ['&&'] }).ok).toBe(true);
    expect(readStrictLine('a ünï', { ...dialect, nonAscii: false })).toMatchObject({ ok: false, refusal: { offset: 2 } });
  });
});

describe('where files are taken', () => {
  const files: Dialect = { ...dialect, files: true };

  it.each([
    ['wc -l < a.txt', 'wc -l < a.txt'],
    ['wc <a.txt -l | b', 'wc -l < a.txt | b'],
    [`wc < "a b" 2>/dev/null`, `wc < 'a b' 2>/dev/null`],
    [`wc < ./'x'y`, 'wc < ./xy'],
  ])('%s is %s', (line, canonical) => {
    const lexed = readStrictLine(line, files);
    expect(lexed.ok ? canonicalLine(lexed.pipelines) : lexed.refusal).toBe(canonical);
    expect(readStrictLine(line, dialect).ok).toBe(false);
  });

  it.each([
    '< a b',
    'a <',
    'a < | b',
    'a << b',
    'a <<< b',
    'a <& b',
    'a <&0',
    'a <> b',
    'a <(b)',
    'a < <(b)',
    'a 3<b',
    'a b<c',
    'a < b < c',
    'a < *',
    'a < b?',
    "a < ''",
    'a < $b',
    'a < ~b',
    'a < {b,c}',
    'a < `b`',
    'a < b > c',
    'a {b,c}',
    'a --x={b,c}',
    '{a,b}',
    '--include={a,b} > c',
    'a --include={b',
    'a --include={b}',
    'a --include={b..c}',
    'a --include={b,{c,d}}',
    'a --include={b,$c}',
    'a --include={b,`c`}',
    'a --include={~,b}',
  ])('refuses %s', (line) => expect(readStrictLine(line, files).ok).toBe(false));

  it.each([
    '--include=*.{ts,tsx}',
    '--exclude-dir={a,b}',
    '--exclude=x{1,2}y{3,4}z',
    '--include={,a}.{b,}',
    '--include="*."{c,h}',
    '--exclude={a-b,c.d}*',
  ])('makes of %s the words that bash makes', (word) => {
    const lexed = readStrictLine(`grep ${word} x`, files);
    const run = ['--norc', '--noprofile', '-c', `set -f; printf '%s\\0' ${word}`];
    const made = execFileSync('bash', run, { encoding: 'utf8', cwd: '/' }).split('\0').slice(0, -1);
    expect(lexed.ok ? lexed.pipelines[0]?.commands[0]?.words.slice(1, -1).map(({ text }) => text) : lexed.refusal.message).toEqual(made);
  });
});
