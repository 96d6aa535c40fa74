/** Rows as records, and the reads on them. */

import { type RequestDraft, type RequestRecord, type RequestStatus, requestIdPattern, requestStatuses } from '#kernel/approval/request';
import { parseGrants, parseRequestDecision, parseRequestDraft } from '#kernel/approval/request-schema';
import { Fault } from '#kernel/errors';
import type { RequestPage, RequestQuery } from '#kernel/ports/request-store';
import { say } from '#kernel/text/message';
import { isBlank, type Looked, matchRequest, mayMatch, mergePage, mostLookedAt } from '../request-search.ts';
import { asOf, lapseOf } from '../transition.ts';
import type { Row, Transaction } from './database.ts';

const maxPage = 500;

/**
 * A row as it counts at `now`: past its time it is `expired`, whether or not anybody has written that down yet.
 * undefined for a row that none of our writers can have made.
 */
export function recordOfRow(row: Row, now: number): RequestRecord | undefined {
  const record = keptInRow(row);
  return record && asOf(record, timeFor(row, record, now));
}

/** When to look at a row: one whose end has come by its own column lapses, whatever its approvals say. */
export function timeFor(row: Row, record: RequestRecord, now: number): number {
  return isDue(row, now) ? Math.max(now, lapseOf(record)) : now;
}

/** A row as it was written. */
export function keptInRow(row: Row): RequestRecord | undefined {
  const draft = parseRequestDraft(String(row.draft));
  const status = requestStatuses.find((known) => known === row.status);
  if (!draft || !status || draft.digest !== row.digest || draft.agent.id !== row.agent_id) return undefined;
  const decision = parsed(row.revocation ?? row.decision, parseRequestDecision);
  const grants = parsed(row.grants, parseGrants) ?? [];
  return {
    ...draft,
    id: String(row.id),
    status,
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    ...(decision ? { decision } : {}),
    ...(grants.length > 0 ? { grants } : {}),
    ...(row.consumed_at === null ? {} : { consumedAt: Number(row.consumed_at), consumedBy: String(row.consumed_by) }),
  };
}

function parsed<T>(value: unknown, parse: (text: string) => T | undefined): T | undefined {
  return typeof value === 'string' ? parse(value) : undefined;
}

function isDue(row: Row, now: number): boolean {
  return row.due_at !== null && Number(row.due_at) <= now;
}

/** undefined for an unknown or malformed id. @throws {Fault} `store_corrupt` for a row that is no request */
export function findRequest(tx: Transaction, id: string, now: number): RequestRecord | undefined {
  if (!requestIdPattern.test(id)) return undefined;
  const row = tx.get('SELECT * FROM requests WHERE id = ?', id);
  return row && asOf(...foundRow(row, now));
}

/** A row as it was written, and when to look at it. @throws {Fault} `store_corrupt` for a row that is no request */
export function foundRow(row: Row, now: number): readonly [record: RequestRecord, at: number] {
  const record = keptInRow(row);
  if (record) return [record, timeFor(row, record, now)];
  const id = String(row.id);
  throw new Fault('store_corrupt', say`request \`${id}\` in the store is damaged or was not written by Banksman`, {
    next: 'check who can write to the store',
  });
}

export function countPending(tx: Transaction, now: number): number {
  const row = tx.get("SELECT count(*) AS n FROM requests WHERE status = 'pending' AND due_at > ?", now);
  return Number(row?.n);
}

export function countApproved(tx: Transaction, now: number): number {
  const row = tx.get("SELECT count(*) AS n FROM requests WHERE status = 'approved' AND due_at > ?", now);
  return Number(row?.n);
}

/**
 * Of the same agent and kind: reports have a cap of their own, so that waiting calls keep nobody from reporting a block. Through the index
 * of open requests, so that other agents' thousands cost nothing; its `IN` term is what makes it usable.
 */
export function countPendingLike(tx: Transaction, { agent, reported }: Pick<RequestDraft, 'agent' | 'reported'>, now: number): number {
  const row = tx.get(
    `SELECT count(*) AS n FROM requests INDEXED BY requests_open
     WHERE agent_id = ? AND status IN ('pending', 'approved') AND status = 'pending' AND due_at > ?
       AND (CASE WHEN json_valid(draft) THEN json_type(draft, '$.reported') IS NOT NULL ELSE 0 END) = ?`,
    ...[agent.id, now, reported === undefined ? 0 : 1],
  );
  return Number(row?.n);
}

/** Newest first. The cursor is a position, so requests that arrive between two pages neither repeat nor hide one. */
export function listRequests(tx: Transaction, query: RequestQuery, now: number): RequestPage {
  const limit = Math.min(Math.max(1, Math.trunc(query.limit)), maxPage);
  const before = positionOf(query.cursor);
  const read = readerOf(query);
  const looked = sources(query.statuses).map((source) => collect(tx, source, { before, now, count: limit + 1, read }));
  const all = { found: looked.flatMap(({ found }) => found), reached: looked.flatMap(({ reached }) => reached) };
  const { items, next } = mergePage(all, limit, { placeOf: ({ seq }: Place) => seq, compare: (a, b) => b - a });
  const records = items.map(({ record }) => record).filter((record) => record !== undefined);
  return next === undefined ? { records } : { records, cursor: String(next) };
}

interface Place {
  readonly seq: number;
  /** undefined: a row that is none of ours, which keeps its place. */
  readonly record: RequestRecord | undefined;
}

interface Wanted {
  readonly before: number;
  readonly now: number;
  readonly count: number;
  /** undefined: not one that is looked for. */
  readonly read: (row: Row, now: number) => Place | undefined;
}

/** How many rows a search looks at in one go. */
const searchBatch = 500;

function readerOf({ search }: RequestQuery): Wanted['read'] {
  const fits = matchRequest(search);
  const mayFit = mayMatch(search);
  return (row, now) => {
    if (!mayFit(`"${String(row.id)}"${String(row.draft)}`)) return undefined;
    const record = recordOfRow(row, now);
    return isBlank(search) || (record && fits(record)) ? { seq: Number(row.seq), record } : undefined;
  };
}

/** Reads on until there are enough that fit, or no more at all, or it has looked at enough. */
function collect(tx: Transaction, source: Source, { before, now, count, read }: Wanted): Looked<number, Place> {
  const found: Place[] = [];
  let from = before;
  let batch = count;
  for (let looked = 0; ; batch = searchBatch) {
    const sql = `SELECT * FROM requests WHERE seq < ? AND ${source.where} ORDER BY seq DESC LIMIT ?`;
    const rows = tx.all(sql, from, ...source.values(now), batch);
    found.push(...rows.map((row) => read(row, now)).filter((place) => place !== undefined));
    const last = rows.at(-1);
    if (found.length >= count || rows.length < batch || !last) return { found: found.slice(0, count), reached: [] };
    from = Number(last.seq);
    looked += rows.length;
    if (looked >= mostLookedAt) return { found, reached: [from] };
  }
}

interface Source {
  readonly where: string;
  values(now: number): readonly (string | number)[];
}

/** One indexed query per status: a single one over several statuses would have to sort the whole history. */
function sources(statuses: readonly RequestStatus[] | undefined): readonly Source[] {
  if (!statuses) return [{ where: 'true', values: () => [] }];
  const stored = [...new Set(statuses)].map((status) => ({
    where: 'status = ? AND (due_at IS NULL OR due_at > ?)',
    values: (now: number) => [status, now],
  }));
  const lapsed = { where: 'due_at <= ?', values: (now: number) => [now] };
  return statuses.includes('expired') ? [...stored, lapsed] : stored;
}

function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new Fault('bad_cursor', 'this `cursor` is not one that a list returned', {
    audience: 'user',
    next: 'start again without a cursor',
  });
}
