/** Free text from outside, marked as data (docs/design.md#the-path-of-a-call): only the text itself is wrapped, numbers, names and states stay as they are. */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import { type OutsideMarks, outsideMarks } from '#kernel/text/marks';

export interface Marked {
  readonly value: JsonValue;
  /** Texts that were wrapped. */
  readonly count: number;
  readonly marks: OutsideMarks;
  /** Most that the marks add to the value as JSON, in UTF-16 code units. */
  readonly mostAdded: number;
}

/**
 * Wraps every string (or string of a list) under one of the keys `fields`, at any depth. An empty one says nothing and stays.
 * @param nonces candidates, 8 random hex digits each; the first that stands nowhere in the value is used
 * @param text the value as JSON, where it is known
 */
export function markOutside(
  value: JsonValue,
  fields: readonly string[],
  nonces: Iterable<string>,
  text: string = JSON.stringify(value),
): Marked {
  const nonce = firstFree(nonces, text);
  const marks = outsideMarks(nonce);
  const state = { count: 0 };
  const inside = marked(value, false, { fields: new Set(fields), marks, state });
  return { value: inside, count: state.count, marks, mostAdded: state.count * (marks.open.length + marks.close.length + lineEnds) };
}

function firstFree(nonces: Iterable<string>, text: string): string {
  // SECURITY: the text exists before the nonce is drawn, so it can only hold it by chance; then another is drawn.
  for (const nonce of nonces) if (!text.includes(nonce)) return nonce;
  throw new RangeError('every nonce offered stands in the text');
}

/** One behind the opening mark, one before the closing one: each `\n` in JSON. */
const lineEnds = 4;

interface Job {
  readonly fields: ReadonlySet<string>;
  readonly marks: OutsideMarks;
  readonly state: { count: number };
}

function marked(value: JsonValue, outside: boolean, job: Job): JsonValue {
  if (typeof value === 'string') return outside && value !== '' ? wrapped(value, job) : value;
  if (Array.isArray(value)) return value.map((item) => marked(item as JsonValue, outside, job));
  return isJsonObject(value) ? markedObject(value, job) : value;
}

function markedObject(value: JsonObject, job: Job): JsonObject {
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    item === undefined ? undefined : marked(item, job.fields.has(key), job),
  ]);
  return Object.fromEntries(entries);
}

function wrapped(text: string, { marks, state }: Job): string {
  state.count += 1;
  return text.includes('\n') ? `${marks.open}\n${text}\n${marks.close}` : `${marks.open}${text}${marks.close}`;
}
