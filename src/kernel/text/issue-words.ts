/** What a schema did not take, in plain words: what is allowed, to be put behind the name of the argument, setting or field. */
import * as z from 'zod';
import { showPlainly } from './text.ts';

type Issue = z.core.$ZodRawIssue;
type Bound = Extract<Issue, { code: 'too_big' | 'too_small' }>;

/**
 * For `safeParse(value, { error: issueWords })`: words for every issue code of zod 4. A schema that has words of its own keeps them.
 * What was found is not said here: whether it may be shown is the caller's to know.
 */
export function issueWords(issue: Issue): string {
  return issue.input === undefined && issue.code !== 'custom' ? `missing, ${wanted(issue)}` : wanted(issue);
}

function wanted(issue: Issue): string {
  // Each entry is for the issues of its own code, which the compiler cannot see here.
  return (words[issue.code] as (issue: Issue) => string)(issue);
}

type Of<Code extends Issue['code']> = Extract<Issue, { code: Code }>;

const words: { readonly [Code in Issue['code']]: (issue: Of<Code>) => string } = {
  invalid_type: ({ expected }) => `must be ${kinds[expected] ?? expected}`,
  invalid_value: ({ values }) => oneOf(values),
  too_small: (issue) => tooSmall(issue),
  too_big: (issue) => limit(issue, issue.maximum, issue.inclusive === false ? 'less than' : 'at most'),
  invalid_format: (issue) => format(issue),
  not_multiple_of: ({ divisor }) => `must be a multiple of ${divisor}`,
  unrecognized_keys: ({ keys }) => `unknown key${keys.length === 1 ? '' : 's'} ${keys.map((key) => `\`${key.slice(0, 60)}\``).join(', ')}`,
  invalid_union: (issue) => union(issue),
  invalid_key: ({ issues }) => `no such name is allowed${inner(issues)}`,
  invalid_element: ({ issues }) => `holds a value that is not allowed${inner(issues)}`,
  custom: () => 'is not allowed',
};

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  set: 'a list',
  object: 'an object',
  record: 'an object',
  map: 'an object',
  null: 'null',
  nan: 'NaN',
  date: 'a date',
  never: 'left out',
  undefined: 'left out',
  void: 'left out',
  nonoptional: 'given',
};

const units: Readonly<Record<string, string>> = {
  string: 'character',
  array: 'item',
  tuple: 'item',
  set: 'item',
  map: 'entry',
  file: 'byte',
};

/** What a number may be, where both ends are known: whoever is told one end only might overshoot the other. */
function range({ schema }: Bound): string | undefined {
  if (!(schema instanceof z.ZodNumber)) return undefined;
  const { minValue: least, maxValue: most } = schema;
  return isShort(least) && isShort(most) ? `must be from ${least} to ${most}` : undefined;
}

/** zod gives whole numbers the ends of what is exact, which nobody asked for. */
function isShort(bound: number | null): bound is number {
  return bound !== null && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
}

function tooSmall(issue: Of<'too_small'>): string {
  if (issue.minimum === 1 && issue.origin in units && issue.exact !== true) return 'must not be empty';
  return limit(issue, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
}

function limit(issue: Bound, bound: number | bigint, relation: string): string {
  const known = range(issue);
  if (known !== undefined) return known;
  const { origin, exact } = issue;
  const unit = units[origin];
  const amount = `${exact === true ? 'exactly' : relation} ${bound}`;
  if (unit === undefined) return `must be ${amount}`;
  return `must have ${amount} ${bound === 1 ? unit : unit === 'entry' ? 'entries' : `${unit}s`}`;
}

/** Those whose own names are no plain words. */
const formats: Readonly<Record<string, string>> = {
  url: 'a URL',
  email: 'an email address',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  datetime: 'a date and time as in `2026-01-31T12:00:00Z`',
  date: 'a date as in `2026-01-31`',
  uuid: 'a UUID',
  base64: 'base64 text',
};

/** What the text must have, and where the issue says it. */
const affixes: Readonly<Record<string, readonly [demand: string, key: string]>> = {
  regex: ['match', 'pattern'],
  starts_with: ['start with', 'prefix'],
  ends_with: ['end with', 'suffix'],
  includes: ['hold', 'includes'],
};

function format(issue: Of<'invalid_format'>): string {
  const affix = affixes[issue.format];
  if (affix !== undefined) return `must ${affix[0]} \`${String((issue as Readonly<Record<string, unknown>>)[affix[1]])}\``;
  return `must be ${formats[issue.format] ?? `in the format \`${issue.format}\``}`;
}

function union(issue: Of<'invalid_union'>): string {
  if (issue.inclusive === false) return 'fits several of the allowed forms at once';
  if (issue.options !== undefined && issue.options.length > 0) return oneOf(issue.options);
  return 'has none of the allowed forms';
}

function oneOf(values: readonly z.core.util.Primitive[]): string {
  const names = values.map((value) => `\`${String(value)}\``);
  return names.length === 1 ? `must be ${names[0]}` : `must be one of ${names.join(', ')}`;
}

function inner(issues: readonly { readonly message: string }[]): string {
  const [first] = issues;
  return first === undefined || first.message === '' ? '' : `: it ${first.message}`;
}

const longestShown = 60;

/** The value at `path` of what was given; undefined where there is nothing. */
export function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    given,
  );
}

/** `, found `"5"``; nothing where nothing was given. Long and nested values are described. */
export function foundWords(given: unknown, path: readonly PropertyKey[]): string {
  const value = valueAt(given, path);
  return value === undefined ? '' : `, found ${described(value)}`;
}

function described(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string')
    return value.length <= longestShown ? `\`${showPlainly(JSON.stringify(value))}\`` : `text of ${value.length} characters`;
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `\`${value}\``;
  // Hosts in this process can hand over more than JSON has.
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
