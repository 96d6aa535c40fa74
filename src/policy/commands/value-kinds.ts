/** The kinds of values that the rules share. */
import type { ValueKind } from './program-rule.ts';

export function kind(name: string, pattern: RegExp): ValueKind {
  return { name, accepts: (value) => pattern.test(value) };
}

export function oneOf(name: string, ...values: readonly string[]): ValueKind {
  return { name, accepts: (value) => values.includes(value) };
}

/** Several of `item`, joined by commas. */
export function listOf(item: ValueKind, name = `${item.name}, or several with commas`): ValueKind {
  return { name, accepts: (value) => value.split(',').every((part) => item.accepts(part)) };
}

/** A regular expression or fixed string for `grep`; long ones only burn time. */
export const searchPattern: ValueKind = { name: 'a pattern to look for', accepts: (value) => value.length <= 1_000 };
export const wholeNumber = kind('a whole number', /^\d{1,9}$/);
/** `head -c 10k`, `tail -n +5` (GNU coreutils, block and byte suffixes). */
export const amount = kind('a number of lines or bytes', /^[+-]?\d{1,9}(?:b|[kKMG]B?|[KMG]iB)?$/);
export const colourChoice = oneOf('`auto`, `always` or `never`', 'auto', 'always', 'never');
export const sizeUnit = kind('a unit such as `M` or `GB`', /^\d{0,9}(?:[KMGTPEZYkm](?:i?B)?|B)?$/);
