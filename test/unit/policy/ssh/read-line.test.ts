import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../../../src/policy/ssh/line.ts';
import { canonicalLine } from '../../../../src/policy/ssh/line.ts';
import { readStrictLine } from '../../../../src/policy/ssh/read-line.ts';

const dialect: Dialect = { nonAscii: true, limits: { length: 200, words: 8, commands: 3 } };

function words(line: string): readonly (readonly string[])[] {
  const lexed = readStrictLine(line, dialect);
  if (!lexed.ok) throw new Error(`${lexed.offset}: ${lexed.message}`);
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
    ['a [ b ] [|[', [['a', '[', 'b', ']', '['], ['[']]],
    ['a {b,c}d', [['a', 'bd', 'cd']]],
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
    ['a {b}', 2, '{'],
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
    ['a [b', 2, '['],
    ['a [!]', 2, '['],
    ['a 2>/dev/null 2>&1', 18, 'second'],
    ['a < b', 2, '`<`'],
    ['a {b', 2, '`{`'],
    ['a b c d e f g h i', 17, 'more than 8 words'],
    ['a|b|c|d', 7, 'more than 3 commands'],
    ['a;b;c;d', 7, 'more than 3 commands'],
    [`a ${'b'.repeat(300)}`, 200, 'longer than 200'],
  ])('%j', (line, offset, construct) => {
    const lexed = readStrictLine(line, dialect);
    expect(lexed.ok ? undefined : lexed).toMatchObject({ offset, message: expect.stringContaining(construct) });
  });
});

describe('braces', () => {
  it.each(['a {b', 'a {b}', 'a {b..c}', 'a {b,{c,d}}', 'a {b,$c}', 'a {b,`c`}', 'a {~,b}', 'a {b,c} > d'])('refuses %s', (line) => {
    expect(readStrictLine(line, dialect).ok).toBe(false);
  });

  it.each(['*.{ts,tsx}', '--exclude-dir={a,b}', 'x{1,2}y{3,4}z', '{,a}.{b,}', '"*."{c,h}', '{a-b,c.d}*'])(
    'makes of %s the words that bash makes',
    (word) => {
      const lexed = readStrictLine(`grep ${word} x`, dialect);
      const run = ['--norc', '--noprofile', '-c', `set -f; printf '%s\\0' ${word}`];
      const made = execFileSync('bash', run, { encoding: 'utf8', cwd: '/' }).split('\0').slice(0, -1);
      expect(lexed.ok ? lexed.pipelines[0]?.commands[0]?.words.slice(1, -1).map(({ text }) => text) : lexed.message).toEqual(made);
    },
  );
});
