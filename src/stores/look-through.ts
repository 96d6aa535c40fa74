/** How much of a store one page of a list may look at, and what a page says that did not get to the end. */

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
