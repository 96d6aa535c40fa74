/** Lists in pages: a filter, a limit and a cursor, on rows that have been fetched whole. */
import { createHash } from 'node:crypto';
import { Fault } from '#kernel/errors';
import type { JsonObject, JsonValue } from '#kernel/json';

/** Rows in one answer when the caller names no limit. */
export const defaultLimit = 100;

export interface PagingInput {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly filter?: string | undefined;
}

export interface PageOfRows {
  readonly rows: readonly JsonObject[];
  /** Rows that passed the filter, on all pages. */
  readonly total: number;
  readonly cursor?: string;
}

/** What a row is known by and sorted by, so that a page can go on behind it even when it is gone. Each part sorts upwards: negate a number for the newest first. */
export type RowKey = readonly (string | number)[];

export interface Listing {
  /** Which list of what: a cursor of another one is refused instead of skipping rows. */
  readonly name: string;
  /** Unique in the list, and the same for as long as the row is there: the API gives its rows in another order each time. */
  readonly key: (row: JsonObject) => RowKey;
}

/**
 * One page of `rows`, sorted by their keys. The cursor names the last row of the page, not how many came before: rows that come and go
 * between two pages neither lose nor repeat another.
 * @throws {Fault} `invalid_input` for a cursor that this list did not give.
 */
export function pageOf(rows: readonly JsonObject[], input: PagingInput, listing: Listing): PageOfRows {
  const mark = markOf(listing.name, input.filter);
  const after = input.cursor === undefined ? undefined : readCursor(input.cursor, mark);
  const kept = input.filter === undefined || input.filter === '' ? rows : rows.filter((row) => contains(row, input.filter ?? ''));
  const sorted = kept.map((row) => ({ row, key: listing.key(row) })).sort((a, b) => compareKeys(a.key, b.key));
  const rest = after === undefined ? sorted : sorted.filter(({ key }) => compareKeys(key, after) > 0);
  const end = endOfPage(rest, input.limit ?? defaultLimit);
  const last = rest[end - 1];
  return {
    rows: rest.slice(0, end).map(({ row }) => row),
    total: kept.length,
    ...(end < rest.length && last !== undefined ? { cursor: writeCursor(mark, last.key) } : {}),
  };
}

/** Rows of one key stay together: the next page goes on behind all of them. */
function endOfPage(rest: readonly { readonly key: RowKey }[], limit: number): number {
  const last = rest[Math.min(limit, rest.length) - 1];
  if (last === undefined) return 0;
  const beyond = rest.findIndex(({ key }) => compareKeys(key, last.key) > 0);
  return beyond < 0 ? rest.length : beyond;
}

/** Numbers before texts, texts by code unit: the same on every machine. */
function compareKeys(one: RowKey, other: RowKey): number {
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const [a, b] = [one[index] ?? '', other[index] ?? ''];
    if (a === b) continue;
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    return a < b ? -1 : 1;
  }
  return 0;
}

/** The list as a tool result: `{ [noun]: rows, total, cursor? }`. */
export function listResult(noun: string, page: PageOfRows, extra: JsonObject = {}): JsonObject {
  return { [noun]: page.rows, total: page.total, ...(page.cursor === undefined ? {} : { cursor: page.cursor }), ...extra };
}

/** `3 VMs`, `100 of 250 VMs (pass `cursor` for more)`, or `0 VMs visible to this token`. */
export function countMessage(page: PageOfRows, noun: string, isPartial = false): string {
  const shown = page.rows.length === page.total ? `${page.total}` : `${page.rows.length} of ${page.total}`;
  const visible = isPartial ? ' visible to this token' : '';
  return `${shown} ${noun}${page.total === 1 ? '' : 's'}${visible}${page.cursor === undefined ? '' : ' (pass `cursor` for more)'}`;
}

function contains(row: JsonValue | undefined, needle: string): boolean {
  if (row === null || row === undefined) return false;
  if (typeof row === 'object') return Object.values(row).some((value) => contains(value, needle));
  return isMetByChance(row, needle) ? String(row) === needle : String(row).toLowerCase().includes(needle.toLowerCase());
}

/** Above the largest VM ID. */
const largeNumber = 1_000_000_000;

/** A time or a size has nearly every short number in it, and so have the counters of a UPID, whose other parts stand beside it. */
function isMetByChance(value: string | number | boolean, needle: string): boolean {
  return typeof value === 'number' ? value >= largeNumber : String(value).startsWith('UPID:') && !needle.includes(':');
}

function writeCursor(mark: string, key: RowKey): string {
  return Buffer.from(JSON.stringify([mark, ...key])).toString('base64url');
}

function readCursor(cursor: string, mark: string): RowKey {
  const parsed = parseJson(Buffer.from(cursor, 'base64url').toString());
  const [first, ...key] = Array.isArray(parsed) ? (parsed as readonly unknown[]) : [];
  const fits = first === mark && key.length > 0 && key.every((part) => typeof part === 'string' || typeof part === 'number');
  if (fits && writeCursor(mark, key) === cursor) return key;
  throw new Fault('invalid_input', '`cursor`: not one that this list gave for these arguments and this `filter`', {
    audience: 'user',
    next: 'leave `cursor` out to start again from the first row',
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function markOf(name: string, filter: string | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify([name, filter ?? '']))
    .digest('hex')
    .slice(0, 8);
}

/** A text or number of a row as part of its key; nothing: the empty text. */
export function keyPart(value: JsonValue | undefined): string | number {
  return typeof value === 'string' || typeof value === 'number' ? value : '';
}
