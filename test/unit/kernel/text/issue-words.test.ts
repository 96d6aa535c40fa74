import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { foundWords, issueWords } from '#kernel/text/issue-words';

/** Every way of zod 4 to refuse something, and what is said of it. */
const cases: readonly (readonly [z.ZodType, unknown, string, string])[] = [
  [z.string(), 5, 'invalid_type', 'must be text'],
  [z.string(), undefined, 'invalid_type', 'missing, must be text'],
  [z.number(), '5', 'invalid_type', 'must be a number'],
  [z.number(), Number.NaN, 'invalid_type', 'must be a number'],
  [z.number().int(), 1.5, 'invalid_type', 'must be a whole number'],
  [z.boolean(), 'yes', 'invalid_type', 'must be true or false'],
  [z.array(z.string()), 'a', 'invalid_type', 'must be a list'],
  [z.record(z.string(), z.string()), 'a', 'invalid_type', 'must be an object'],
  [z.never(), 1, 'invalid_type', 'must be left out'],
  [z.enum(['a', 'b']), 'c', 'invalid_value', 'must be one of `a`, `b`'],
  [z.enum(['a', 'b']), undefined, 'invalid_value', 'missing, must be one of `a`, `b`'],
  [z.literal('a'), 'b', 'invalid_value', 'must be `a`'],
  [z.string().min(1), '', 'too_small', 'must not be empty'],
  [z.string().min(2), 'a', 'too_small', 'must have at least 2 characters'],
  [z.string().max(1), 'aa', 'too_big', 'must have at most 1 character'],
  [z.string().length(3), 'aa', 'too_small', 'must have exactly 3 characters'],
  [z.array(z.string()).min(1), [], 'too_small', 'must not be empty'],
  [z.array(z.string()).max(1), ['a', 'b'], 'too_big', 'must have at most 1 item'],
  [z.map(z.string(), z.string()).min(2), new Map(), 'too_small', 'must have at least 2 entries'],
  [z.number().min(1), 0, 'too_small', 'must be at least 1'],
  [z.number().int().min(1), 0, 'too_small', 'must be at least 1'],
  [z.number().int().min(1).max(500), 501, 'too_big', 'must be from 1 to 500'],
  [z.number().int().min(1).max(500), 0, 'too_small', 'must be from 1 to 500'],
  [z.number().gt(1), 1, 'too_small', 'must be more than 1'],
  [z.number().lt(1), 1, 'too_big', 'must be less than 1'],
  [z.bigint().min(3n), 2n, 'too_small', 'must be at least 3'],
  [z.string().regex(/^x$/), 'a', 'invalid_format', 'must match `/^x$/`'],
  [z.string().startsWith('x'), 'a', 'invalid_format', 'must start with `x`'],
  [z.string().endsWith('x'), 'a', 'invalid_format', 'must end with `x`'],
  [z.string().includes('x'), 'a', 'invalid_format', 'must hold `x`'],
  [z.url(), 'a', 'invalid_format', 'must be a URL'],
  [z.ipv4(), 'a', 'invalid_format', 'must be an IPv4 address'],
  [z.jwt(), 'a', 'invalid_format', 'must be in the format `jwt`'],
  [z.number().multipleOf(3), 4, 'not_multiple_of', 'must be a multiple of 3'],
  [z.strictObject({}), { a: 1, b: 2 }, 'unrecognized_keys', 'unknown keys `a`, `b`'],
  [z.union([z.string(), z.number()]), true, 'invalid_union', 'has none of the allowed forms'],
  [z.xor([z.string(), z.string().min(1)]), 'a', 'invalid_union', 'fits several of the allowed forms at once'],
  [
    z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
    { k: 'c' },
    'invalid_union',
    'must be one of `a`, `b`',
  ],
  [z.record(z.string().regex(/^a$/, 'must be `a`'), z.string()), { b: 'x' }, 'invalid_key', 'no such name is allowed: it must be `a`'],
  [z.map(z.unknown(), z.number()), new Map([[{}, 'b']]), 'invalid_element', 'holds a value that is not allowed: it must be a number'],
  [z.string().refine(() => false), 'a', 'custom', 'is not allowed'],
];

describe('what a schema did not take', () => {
  it.each(cases)('%# is said in plain words', (schema, value, code, words) => {
    const [issue] = schema.safeParse(value, { error: issueWords }).error?.issues ?? [];
    expect(issue).toMatchObject({ code, message: words });
  });

  it('has words for every code that there is', () => {
    const codes: readonly z.core.$ZodIssueCode[] = [
      'invalid_type',
      'too_big',
      'too_small',
      'invalid_format',
      'not_multiple_of',
      'unrecognized_keys',
      'invalid_union',
      'invalid_key',
      'invalid_element',
      'invalid_value',
      'custom',
    ];
    expect(new Set(cases.map(([, , code]) => code))).toEqual(new Set(codes));
  });

  it('leaves a schema the words it brings', () => {
    const schema = z.strictObject({ a: z.string().regex(/x/, 'must hold an x') });
    expect(schema.safeParse({ a: 'y' }, { error: issueWords }).error?.issues[0]?.message).toBe('must hold an x');
  });
});

describe('what was found', () => {
  it.each<[unknown, string]>([
    ['x', ', found `"x"`'],
    ['', ', found `""`'],
    ['a\u202eb\n', ', found `"a\\u{202e}b\\n"`'],
    ['x'.repeat(61), ', found text of 61 characters'],
    [5, ', found `5`'],
    [Number.NaN, ', found `NaN`'],
    [false, ', found `false`'],
    [null, ', found `null`'],
    [[1, 2], ', found a list of 2'],
    [{ secret: 1 }, ', found an object'],
    [1n, ', found a bigint'],
    [Symbol('x'), ', found a symbol'],
    [undefined, ''],
  ])('%# is told shortly', (value, words) => {
    expect(foundWords({ a: { b: value } }, ['a', 'b'])).toBe(words);
  });

  it('looks at own keys only', () => {
    expect(foundWords({}, ['constructor'])).toBe('');
    expect(foundWords(null, ['a'])).toBe('');
  });
});
