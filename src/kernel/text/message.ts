/**
 * Texts for people as data: English with places, and what stands in them. Whoever shows one picks the language
 * (docs/adr/0043-german.md); models, programs, the trail, and what is stored or signed, have the English.
 */
import { clockTime, showPlainly } from './text.ts';

export interface Message {
  /** English, with `{0}`, `{1}`, … for the values: the key of its translations. */
  readonly text: string;
  readonly values?: readonly Value[];
  /** Shown plainly (`showPlainly`), and cut to so many characters, once the values are in. */
  readonly most?: number;
}

/** Names, numbers and outside text are the same in every language. */
export type Value = string | number | Message | Moment | List;

/** A time of day as each reader writes it; both in ms since the epoch. */
interface Moment {
  readonly at: number;
  readonly now: number;
}

interface List {
  readonly all: readonly Value[];
  readonly by: string;
}

export interface Language {
  /** BCP 47. */
  readonly tag: string;
  /** English → this language; what is missing stays English. */
  readonly texts: Readonly<Record<string, string>>;
}

export const inEnglish: Language = { tag: 'en', texts: {} };

const keys = new WeakMap<TemplateStringsArray, string>();

/** A text for people: a template with this tag. The check wants each of them in every translation. */
export function say(strings: TemplateStringsArray, ...values: readonly Value[]): Message {
  const text = keys.get(strings) ?? strings.reduce((all, part, index) => `${all}{${index - 1}}${part}`);
  keys.set(strings, text);
  return values.length === 0 ? { text } : { text, values };
}

/** What is the same in every language: a name, a program's own words, a line of a file. */
export function asIs(text: string | number): Message {
  return { text: '{0}', values: [text] };
}

/** A text that is stored or signed as it is and that translations have whole. The check wants it there, too. */
export function listed(text: string): string {
  return text;
}

/** What `listed` has marked; other words stay as they are. */
export function asListed(text: string): Message {
  return /\{\d+\}/.test(text) ? asIs(text) : { text };
}

/** What came of something, as results hold it: the English, and the same for each reader's language. */
export function told(words: Message): { readonly message: string; readonly words: Message } {
  return { message: english(words), words };
}

export function plural(count: number, one: Message, other: Message): Message {
  return count === 1 ? one : other;
}

export function joined(all: readonly Value[], by = ', '): Message {
  let parts = all;
  // A list may hold lists: none of them is longer than what counts as a value.
  while (parts.length > mostValues) parts = inParts(parts).map((some): List => ({ all: some, by }));
  return { text: '{0}', values: [{ all: parts, by }] };
}

function inParts(all: readonly Value[]): readonly (readonly Value[])[] {
  return Array.from({ length: Math.ceil(all.length / mostValues) }, (_, part) => all.slice(part * mostValues, (part + 1) * mostValues));
}

export function timeOfDay(at: number, now: number): Message {
  return { text: '{0}', values: [{ at, now }] };
}

/** For dialogs, trees and log lines, whatever stands in it. */
export function plainly(message: Message, most = 300): Message {
  return { ...message, most };
}

/** The languages of this project all have one form for one and one for more. */
export function durationWords(milliseconds: number): Message {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return plural(seconds, say`1 second`, say`${seconds} seconds`);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return plural(minutes, say`1 minute`, say`${minutes} minutes`);
  const hours = Math.round(minutes / 60);
  return plural(hours, say`1 hour`, say`${hours} hours`);
}

export function inWords({ text, values = [], most }: Message, language: Language): string {
  const known = Object.hasOwn(language.texts, text) ? language.texts[text] : undefined;
  // One pass: a value that looks like a place is none.
  const whole = (known ?? text).replace(/\{(\d+)\}/g, (place, number: string) => {
    const value = values[Number(number)];
    return value === undefined ? place : valueInWords(value, language);
  });
  return most === undefined ? whole : showPlainly(whole, most);
}

export function english(message: Message): string {
  return inWords(message, inEnglish);
}

function valueInWords(value: Value, language: Language): string {
  // Somebody's store may hold anything in the place of a text.
  if (!isValue(value, 0)) return JSON.stringify(value) ?? '';
  if (typeof value !== 'object') return String(value);
  if (isMessage(value)) return inWords(value, language);
  if (isMoment(value)) return clockTime(value.at, value.now, language.tag);
  return value.all.map((one) => valueInWords(one, language)).join(value.by);
}

/** The message that says just these words in English; else the words. SECURITY: so whoever writes messages to a store cannot show a reader of another language another thing. */
export function wordsOf(stored: string, message: Message | undefined): Message {
  return isMessage(message) && english(message) === stored ? message : asIs(stored);
}

const mostDeep = 10;
const mostValues = 100;

/** Of what a store or a socket hands back. */
export function isMessage(value: unknown, depth = 0): value is Message {
  if (!isObject(value) || depth > mostDeep || typeof value['text'] !== 'string') return false;
  const { values, most } = value;
  return (most === undefined || typeof most === 'number') && (values === undefined || areValues(values, depth + 1));
}

function areValues(values: unknown, depth: number): boolean {
  return Array.isArray(values) && depth <= mostDeep && values.length <= mostValues && values.every((value) => isValue(value, depth));
}

function isValue(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'number') return true;
  return (
    isMessage(value, depth) || isMoment(value) || (isObject(value) && typeof value['by'] === 'string' && areValues(value['all'], depth + 1))
  );
}

function isMoment(value: unknown): value is Moment {
  return isObject(value) && Number.isFinite(value['at']) && Number.isFinite(value['now']);
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null;
}
