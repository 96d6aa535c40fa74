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

/**
 * One page of `rows`. The cursor is an offset bound to the filter, so that a cursor of another question is refused instead of skipping rows.
 * @throws {Fault} `invalid_input` for a cursor that this list did not give.
 */
export function pageOf(rows: readonly JsonObject[], input: PagingInput): PageOfRows {
  const kept = input.filter === undefined || input.filter === '' ? rows : rows.filter((row) => contains(row, input.filter ?? ''));
  const offset = input.cursor === undefined ? 0 : offsetOf(input.cursor, input.filter);
  const end = offset + (input.limit ?? defaultLimit);
  return {
    rows: kept.slice(offset, end),
    total: kept.length,
    ...(end < kept.length ? { cursor: `${end}.${mark(input.filter)}` } : {}),
  };
}

/** The list as a tool result: `{ [noun]: rows, total, cursor? }`. */
export function listResult(noun: string, page: PageOfRows, extra: JsonObject = {}): JsonObject {
  return { [noun]: page.rows, total: page.total, ...(page.cursor === undefined ? {} : { cursor: page.cursor }), ...extra };
}

/** `3 VMs`, or `100 of 250 VMs (pass cursor for more)`. */
export function countMessage(page: PageOfRows, noun: string): string {
  const shown = page.rows.length === page.total ? `${page.total}` : `${page.rows.length} of ${page.total}`;
  return `${shown} ${noun}${page.total === 1 ? '' : 's'}${page.cursor === undefined ? '' : ' (pass `cursor` for more)'}`;
}

function contains(row: JsonValue | undefined, needle: string): boolean {
  if (row === null || row === undefined) return false;
  if (typeof row === 'object') return Object.values(row).some((value) => contains(value, needle));
  return String(row).toLowerCase().includes(needle.toLowerCase());
}

function offsetOf(cursor: string, filter: string | undefined): number {
  const match = /^(\d{1,9})\.([0-9a-f]{8})$/.exec(cursor);
  if (match?.[2] !== mark(filter)) {
    throw new Fault('invalid_input', '`cursor`: not one that this list gave for this `filter`; leave it out to start again', {
      audience: 'user',
    });
  }
  return Number(match[1]);
}

function mark(filter: string | undefined): string {
  return createHash('sha256')
    .update(filter ?? '')
    .digest('hex')
    .slice(0, 8);
}
