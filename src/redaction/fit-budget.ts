/** A result cut to what its reader can take. It stays the value it was: long strings lose their middle, long lists their end; never the serialized text. */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';

/** A list that lost its end, by its key; an empty key for the value itself. */
export interface CutList {
  readonly key: string;
  readonly kept: number;
  readonly all: number;
}

export interface Fitted {
  readonly value: JsonValue;
  /** Strings that lost their middle. */
  readonly texts: number;
  readonly lists: readonly CutList[];
}

interface Caps {
  readonly text: number;
  readonly list: number;
}

/** Tried in this order: only long strings; then lists; then both, to the bone. A string shorter than the first is seldom worth its cut. */
const floors: readonly { readonly text: number; readonly lists: boolean }[] = [
  { text: 2_000, lists: false },
  { text: 2_000, lists: true },
  { text: 200, lists: true },
  { text: 40, lists: true },
];

/**
 * @param characters most of the value as JSON, in UTF-16 code units
 * @param size the value's own, where it is known
 */
export function fitBudget(value: JsonValue, characters: number, size: number = sizeOf(value)): Fitted {
  if (size <= characters) return { value, texts: 0, lists: [] };
  for (const { text, lists } of floors) {
    const fitted = lists ? withShorterLists(value, text, characters) : withShorterTexts(value, text, characters);
    if (fitted !== undefined) return fitted;
  }
  return { value: nothingOf(value), texts: 0, lists: [] };
}

function withShorterTexts(value: JsonValue, floor: number, characters: number): Fitted | undefined {
  return largest(floor, Math.max(floor, characters), (text) => fits(value, { text, list: Number.POSITIVE_INFINITY }, characters));
}

function withShorterLists(value: JsonValue, text: number, characters: number): Fitted | undefined {
  return largest(0, longestList(value), (list) => fits(value, { text, list }, characters));
}

/** INVARIANT: only what has been measured is returned, so nothing depends on sizes growing evenly. */
function fits(value: JsonValue, caps: Caps, characters: number): Fitted | undefined {
  const lists: CutList[] = [];
  const counts = { texts: 0 };
  const cut = capped(value, caps, { key: '', lists, counts });
  return sizeOf(cut) <= characters ? { value: cut, texts: counts.texts, lists } : undefined;
}

function largest(from: number, to: number, attempt: (cap: number) => Fitted | undefined): Fitted | undefined {
  let best = attempt(from);
  if (best === undefined) return undefined;
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const fitted = attempt(middle);
    if (fitted === undefined) high = middle - 1;
    else [best, low] = [fitted, middle];
  }
  return best;
}

interface Notes {
  readonly key: string;
  readonly lists: CutList[];
  readonly counts: { texts: number };
}

function capped(value: JsonValue, caps: Caps, notes: Notes): JsonValue {
  if (typeof value === 'string') {
    if (value.length > caps.text) notes.counts.texts += 1;
    return cutText(value, caps.text);
  }
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[];
    if (items.length > caps.list) notes.lists.push({ key: notes.key, kept: caps.list, all: items.length });
    return items.slice(0, caps.list).map((item) => capped(item, caps, notes));
  }
  return isJsonObject(value) ? cappedObject(value, caps, notes) : value;
}

function cappedObject(value: JsonObject, caps: Caps, notes: Notes): JsonObject {
  const entries = Object.entries(value).flatMap(([key, item]): (readonly [string, JsonValue | undefined])[] => {
    const cut = item === undefined ? undefined : capped(item, caps, { ...notes, key });
    const left = Array.isArray(item) ? item.length - Math.min(item.length, caps.list) : 0;
    return left === 0
      ? [[key, cut]]
      : [
          [key, cut],
          [`${key}_left_out`, left],
        ];
  });
  const shorter = entries.length > Object.keys(value).length;
  // It would lead on behind the rows that were left out.
  return Object.fromEntries(shorter ? entries.filter(([key]) => key !== 'cursor') : entries);
}

/** Head and tail, with what is missing between them; at line ends where some are near. At most `length` long. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const note = (missing: number) => `\n[… ${missing} of ${text.length} characters left out …]\n`;
  const room = length - note(text.length).length;
  if (room < 20) return `${text.slice(0, Math.max(0, length - 1))}…`.slice(0, length).toWellFormed();
  const head = atLineEnd(text.slice(0, Math.ceil(room / 2)));
  const tail = atLineStart(text.slice(-Math.floor(room / 2)));
  return `${head}${note(text.length - head.length - tail.length)}${tail}`.toWellFormed();
}

function atLineEnd(text: string): string {
  const end = text.lastIndexOf('\n');
  return end > text.length * 0.75 ? text.slice(0, end) : text;
}

function atLineStart(text: string): string {
  const start = text.indexOf('\n');
  return start >= 0 && start < text.length * 0.25 ? text.slice(start + 1) : text;
}

function longestList(value: JsonValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? value.length : 0;
  return Object.values(value).reduce<number>((most, item) => Math.max(most, longestList(item)), own);
}

function nothingOf(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return [];
  if (typeof value === 'string') return '';
  return isJsonObject(value) ? {} : value;
}

function sizeOf(value: JsonValue): number {
  return JSON.stringify(value).length;
}
