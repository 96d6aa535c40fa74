import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { lineMatcher, requiredLiteral } from '#connectors/ripgrep/line-matcher';

const pieces = [
  ...['a', 'b', 'ab', 'é', ' ', '-', '.', '^', '$', '*', '+', '?', '*?', '{2}', '{0,1}', '{', '}', '(', ')', '(ab)', '(a|b)', '(?:ab)'],
  ...['[ab]', '[^a]', '[]a]', '|', '\\.', '\\b', '\\w', '\\d', '\\\\', '\\(', '\\[', '\\x61', '\\x{61}', '\\pL', '\\p{L}', '\\Qa.b\\E'],
  ...['\\141', '\\A', '\\z', '(?i)', '(?i:a)', '\\_', ']', ','],
];
const patterns = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
const lines = fc.array(fc.constantFrom('a', 'b', 'A', 'é', ' ', '.', '-', '(', '[', '_', '{', '}', '2', ',', '\\', ']'), { maxLength: 8 });

function compiled(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}

describe('the text that every match must hold', () => {
  it('never hides a line that matches, nor shows one that does not', () => {
    fc.assert(
      fc.property(patterns, lines, (pattern, characters) => {
        const expression = compiled(pattern);
        fc.pre(expression !== undefined);
        const line = characters.join('');
        const expected = expression.matcher(line).find();
        const matcher = lineMatcher(pattern);
        expect(matcher.matches(line)).toBe(expected);
        for (const encoding of ['utf8', 'latin1'] as const) {
          expect(matcher.mayMatch(Buffer.from(line, encoding)) || !expected).toBe(true);
        }
        expect(matcher.mayMatch(Buffer.from(`\ufeff${line}`, 'utf16le')) || !expected).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['needle', 'needle', true],
    ['a\\.b', 'a.b', true],
    ['foo\\s*\\(', 'foo', false],
    ['^import .* from$', 'import ', false],
    ['colou?r', 'colo', false],
    ['ab+cd', 'ab', false],
    ['x{2}', undefined, undefined],
    ['(?i)needle', undefined, undefined],
    ['one|two', undefined, undefined],
    ['\\d+', undefined, undefined],
    ['\\x41bc', undefined, undefined],
    ['é', undefined, undefined],
    ['é-needle', '-needle', false],
  ])('of `%s` is `%s`', (pattern, text, whole) => {
    expect(requiredLiteral(pattern)).toEqual(text === undefined ? undefined : { text, whole });
  });
});
