import { describe, expect, it } from 'vitest';
import { globOf, parseGlob } from '#connectors/workspace-files/glob';
import { isIgnored, parseIgnoreFile } from '#connectors/workspace-files/ignore-rules';

const matches = (pattern: string, path: string) => parseGlob(pattern)(path.split('/'));

describe('a file pattern', () => {
  it.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/deep/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/x/a.ts', false],
    ['src/*.ts', 'x/src/a.ts', false],
    ['/a.ts', 'a.ts', true],
    ['/a.ts', 'x/a.ts', false],
    ['src/**/a.ts', 'src/a.ts', true],
    ['src/**/a.ts', 'src/x/y/a.ts', true],
    ['src/**', 'src/x/y', true],
    ['src/**', 'src', false],
    ['**/test/*', 'a/b/test/c', true],
    ['**/test/*', 'test/c', true],
    ['a/**/b/**/c', 'a/x/b/b/y/c', true],
    ['a/**/b/**/c', 'a/x/c', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[!a-c]x', 'dx', true],
    ['[]x]', ']', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['\\[a', '[a', true],
    ['[[]a', '[a', true],
    ['*.{ts,js}', 'a.js', true],
    ['a\\{b,c\\}', 'a{b,c}', true],
    ['a\\{b,c\\}', 'ab', false],
    ['[{]a', '{a', true],
    ['{[,],b}', ',', true],
    ['{,a}b', 'ab', true],
    ['a{}b', 'ab', true],
    ['[a-]x', '-x', true],
    ['[]-a]x', '^x', true],
    ['[^-A]x', 'Bx', true],
    ['[^-A]x', '-x', false],
    ['{src,test}/**/*.{ts,js}', 'test/x/a.ts', true],
    ['{src,test}/*', 'lib/a', false],
    ['*a*b*c*', 'xxaxxbxxcxx', true],
    ['*a*b*c*', 'xxaxxcxxbxx', false],
    ['?', '\u{1f600}', true],
    ['*', '.hidden', true],
  ])('%s on %s: %s', (pattern, path, expected) => expect(matches(pattern, path)).toBe(expected));

  it.each([
    ['', 'it is empty'],
    ['!a', 'starts with `!`'],
    ['src/[', '`[` at character 5 is not closed'],
    ['*.[ch', '`[` at character 3 is not closed'],
    ['[]', '`[` at character 1 is not closed'],
    ['[!]', '`[` at character 1 is not closed'],
    ['[a/b]', 'holds a `/`'],
    ['[z-a]', '`z-a` in `[z-a]` runs backwards'],
    ['{a,{b,c}}', '`{` at character 4 is within other braces'],
    ['{a', '`{` at character 1 is not closed'],
    ['a{[}]', '`{` at character 2 is not closed'],
    ['a}', '`}` at character 2 closes nothing'],
    ['a\\', 'it ends with a backslash'],
    ['{a,b}'.repeat(7), 'more than 64 patterns'],
    ['{a,b}'.repeat(190), 'more than 64 patterns'],
    ['x'.repeat(1_001), 'more than 1000 characters'],
  ])('%j is refused and says why', (pattern, why) => {
    expect(() => parseGlob(pattern)).toThrow(/^the file pattern is not understood: /);
    expect(() => parseGlob(pattern)).toThrow(why);
  });

  it('takes no exponential time', () => {
    // With backtracking into earlier stars these would need longer than the universe has.
    expect(matches(`${'*a'.repeat(100)}b`, 'a'.repeat(250))).toBe(false);
    expect(globOf(`${'**/a/'.repeat(100)}b`)(Array.from({ length: 2_000 }, () => 'a'))).toBe(false);
  });
});

describe('a .gitignore file', () => {
  const ignored = (text: string, path: string, isDirectory = false) => isIgnored([parseIgnoreFile(text, 0)], path.split('/'), isDirectory);

  it.each([
    ['# comment\n\n*.log', 'a.log', true],
    ['\\#a', '#a', true],
    ['\\!a', '!a', true],
    ['a  ', 'a', true],
    ['a\\ ', 'a ', true],
    ['*.log\n!keep.log', 'keep.log', false],
    ['!keep.log\n*.log', 'keep.log', true],
    ['a\r\nb\r\n', 'b', true],
    ['doc/*.txt', 'doc/x/a.txt', false],
    // git leaves such a line without effect; a list of many must not fail for one.
    ['[a\n*.log', 'a.log', true],
  ])('%j on %s: %s', (text, path, expected) => expect(ignored(text, path)).toBe(expected));

  it('tells files from directories', () => {
    expect(ignored('build/', 'build', true)).toBe(true);
    expect(ignored('build/', 'build', false)).toBe(false);
  });

  it('counts below its own directory, after those above', () => {
    const files = [parseIgnoreFile('*.log\n/only-here', 0), parseIgnoreFile('!keep.log\n/x', 1)];
    expect(isIgnored(files, ['src', 'keep.log'], false)).toBe(false);
    expect(isIgnored(files, ['src', 'x'], false)).toBe(true);
    expect(isIgnored(files, ['src', 'only-here'], false)).toBe(false);
  });
});
