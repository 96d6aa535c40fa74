/**
 * What a person's search of a store finds: which requests fit its words, how much one page of a list may look at, and what a page says
 * that did not get to the end.
 */
import type { RequestRecord } from '#kernel/approval/request';
import { isJsonObject, type JsonValue } from '#kernel/json';

/**
 * Most requests that one page looks at in each index. INVARIANT: whoever lists waits a bounded time for a page, whatever the store holds
 * and however little fits. A page that gave up has a cursor, and the next one goes on from there.
 */
export const mostLookedAt = 5000;

export interface Looked<Place, Item> {
  /** What fits, from all indexes, in any order; one more than the limit from each, where there are as many. */
  readonly found: readonly Item[];
  /** Where each of those gave up that neither found enough nor got to the end: this and all that is newer has been looked at. */
  readonly reached: readonly Place[];
}

export interface Order<Place, Item> {
  placeOf(item: Item): Place;
  /** Negative where `a` is newer. */
  compare(a: Place, b: Place): number;
}

export interface PageOf<Place, Item> {
  /** At most as many as the limit, newest first. */
  readonly items: readonly Item[];
  /** Where the next page goes on; undefined: there is none. */
  readonly next?: Place;
}

/** What is older than a place at which an index gave up waits for the next page, so that the order holds and nothing is left out. */
export function mergePage<Place, Item>(
  { found, reached }: Looked<Place, Item>,
  limit: number,
  { placeOf, compare }: Order<Place, Item>,
): PageOf<Place, Item> {
  const [floor] = reached.toSorted(compare);
  const sorted = found.toSorted((a, b) => compare(placeOf(a), placeOf(b)));
  const seen = floor === undefined ? sorted : sorted.filter((item) => compare(placeOf(item), floor) <= 0);
  const items = seen.slice(0, limit);
  const last = items.at(-1);
  if (seen.length > limit && last !== undefined) return { items, next: placeOf(last) };
  return floor === undefined ? { items } : { items, next: floor };
}

export type RequestMatch = (record: RequestRecord) => boolean;

export function isBlank(search: string | undefined): boolean {
  return search === undefined || search.trim() === '';
}

/**
 * Which requests a person's search words fit.
 * Fits what holds `search`, whatever its case, in id, title, tool, agent, model or target. undefined and blank fit all.
 */
export function matchRequest(search: string | undefined): RequestMatch {
  if (isBlank(search)) return () => true;
  const wanted = folded((search ?? '').trim());
  return (record) => searched(record).some((text) => folded(text).includes(wanted));
}

/**
 * False only where no record that is written as this JSON can fit: most of what is stored need not be parsed then.
 * What has escapes that none of our writers makes is left to `matchRequest`.
 */
export function mayMatch(search: string | undefined): (json: string) => boolean {
  const wanted = folded((search ?? '').trim());
  // What JSON writes in another way than it is.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is escaped
  if (isBlank(search) || /[\u0000-\u001f"\\]|\p{Cs}/u.test(wanted)) return () => true;
  return (json) => folded(json).includes(wanted) || /\\[u/]/.test(json);
}

/** SECURITY: not the arguments, not the texts of held changes, and not what a detector matched: a search must not tell, letter by letter, what it may not show. */
function searched({ id, title, action, agent, reported }: RequestRecord): readonly string[] {
  const texts = [id, title, action.tool, agent.id, agent.label, agent.model, reported?.destination];
  return [...texts.filter((text) => text !== undefined), ...action.targets.flatMap(({ changes: _texts, ...target }) => leavesOf(target))];
}

function leavesOf(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item as JsonValue));
  return isJsonObject(value) ? Object.values(value).flatMap(leavesOf) : [];
}

/** Upper case does not depend on what stands around a letter, as lower case does. */
function folded(text: string): string {
  return text.normalize('NFC').toUpperCase();
}
