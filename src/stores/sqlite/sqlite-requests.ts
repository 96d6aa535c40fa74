/** The request state machine in SQLite. Every change and its audit record are one transaction. */

import { type RequestDraft, type RequestRecord, type RequestWait, requestIdPattern } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { RequestStore, TransitionResult } from '#kernel/ports/request-store';
import { say } from '#kernel/text/message';
import { lapseOf, type Moved, type Refused, type RequestEvent, requireStorable, resultOf, transition } from '../transition.ts';
import type { Database, Row, Transaction } from './database.ts';
import {
  countApproved,
  countPending,
  countPendingLike,
  findRequest,
  foundRow,
  keptInRow,
  listRequests,
  recordOfRow,
  timeFor,
} from './request-rows.ts';
import type { AppendSealed } from './sqlite-audit.ts';
import { keepTime, type StoreClock } from './store-time.ts';

export interface RequestsDeps {
  readonly database: Database;
  readonly append: AppendSealed;
  /** Decides what has expired. */
  readonly clock: Required<StoreClock>;
  /** A fresh id, `req-` + 8 hex digits. */
  readonly newId: () => string;
  readonly maxPendingPerAgent: number;
  readonly onChange: (listener: () => void) => () => void;
}

const maxIdTries = 64;

export function createSqliteRequests(deps: RequestsDeps): RequestStore {
  const { database, clock } = deps;
  const { now } = clock;
  const write = (id: string, event: Exclude<RequestEvent, { kind: 'open' }>): Promise<TransitionResult> =>
    database.write((tx) => resultOf(move(tx, id, event, deps)));
  return {
    open: async (draft) => {
      requireStorable(draft);
      return database.write((tx) => resultOf(open(tx, draft, deps)));
    },
    get: (id) => database.read((tx) => findRequest(tx, id, now())),
    list: (query) => database.read((tx) => listRequests(tx, query, now())),
    countPending: () => database.read((tx) => countPending(tx, now())),
    countApproved: () => database.read((tx) => countApproved(tx, now())),
    identity: () => database.identity(),
    advanceCounter: (id, counter) => database.write((tx) => advanceCounter(tx, id, counter)),
    approve: (id, grant, answer) => write(id, { kind: 'approve', grant, answer }),
    deny: (id, decision) => write(id, { kind: 'deny', decision }),
    cancel: (id, by) => write(id, { kind: 'cancel', by }),
    revoke: (id, decision) => write(id, { kind: 'revoke', decision }),
    consume: (id, digest, by) => write(id, { kind: 'consume', digest, by }),
    noteWait: (id, by, forMs) => database.write((tx) => noteWait(tx, { id, by, forMs, now: now() })),
    waitOf: (id) => database.read((tx) => waitOf(tx, id)),
    onChange: deps.onChange,
  };
}

function open(tx: Transaction, draft: RequestDraft, deps: RequestsDeps): Moved | Refused {
  const now = deps.clock.now();
  expireDue(tx, deps.clock, deps.append);
  const { reportId } = draft;
  const row = reportId === undefined ? undefined : tx.get('SELECT * FROM requests WHERE id = ?', reportId);
  if (row && reportId !== undefined) return reportedBefore(row, { kind: 'open', draft, id: reportId }, now);
  const existing = tx.get(
    "SELECT * FROM requests WHERE agent_id = ? AND digest = ? AND status IN ('pending', 'approved')",
    draft.agent.id,
    draft.digest,
  );
  const known = existing && stillOpen(tx, existing, deps);
  if (known) return { ok: true, record: known };
  if (countPendingLike(tx, draft, now) >= deps.maxPendingPerAgent) return { ok: false, why: 'too_many' };
  const outcome = transition(undefined, { kind: 'open', draft, id: reportId ?? freeId(tx, deps.newId) }, now);
  if (outcome.ok) add(tx, outcome, deps);
  return outcome;
}

/** Where it has lapsed that is written down, and there is none. */
function stillOpen(tx: Transaction, row: Row, deps: RequestsDeps): RequestRecord | undefined {
  const record = keptInRow(row);
  if (!record) return undefined;
  const expired = transition(record, { kind: 'expire' }, timeFor(row, record, deps.clock.now()));
  if (!expired.ok) return record;
  keep(tx, record, expired, deps);
  return undefined;
}

function add(tx: Transaction, { record, told, end = 0 }: Moved, { append }: RequestsDeps): void {
  const { id, status, createdAt, expiresAt, ...draft } = record;
  tx.run(
    `INSERT INTO requests (id, status, digest, agent_id, agent_host, draft, created_at, expires_at, due_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, status, draft.digest, draft.agent.id, draft.agent.host, JSON.stringify(draft), createdAt, expiresAt, end],
  );
  if (told) append(tx, told);
}

/** What the id that a report names stands for already. */
function reportedBefore(row: Row, event: Extract<RequestEvent, { kind: 'open' }>, now: number): Moved | Refused {
  const known = recordOfRow(row, now);
  return known ? transition(known, event, now) : { ok: false, why: 'id_taken' };
}

/** The trail may remember a request that is gone. */
function consumptionOf(tx: Transaction, id: string): Row | undefined {
  return tx.get("SELECT 1 FROM audit WHERE name = 'approval.consumed' AND request_id = ?", id);
}

function freeId(tx: Transaction, newId: () => string): string {
  for (let tries = 0; tries < maxIdTries; tries += 1) {
    const id = newId();
    const isTaken = tx.get('SELECT 1 FROM requests WHERE id = ?', id) ?? consumptionOf(tx, id);
    if (!isTaken) return id;
  }
  throw new Fault('store_unavailable', 'no free request id was found', { audience: 'bug' });
}

/** What has lapsed is written down as expired on the way. */
function move(tx: Transaction, id: string, event: Exclude<RequestEvent, { kind: 'open' }>, deps: RequestsDeps): Moved | Refused {
  const { wentBackFrom } = keepTime(tx, deps.clock);
  if (wentBackFrom !== undefined) expireBack(tx, wentBackFrom, deps);
  const now = deps.clock.now();
  const row = requestIdPattern.test(id) ? tx.get('SELECT * FROM requests WHERE id = ?', id) : undefined;
  if (!row) return transition(undefined, event, now);
  const [record, at] = foundRow(row, now);
  let outcome = transition(record, event, at);
  // SECURITY: a row that was put back from `consumed` is still consumed in the trail.
  if (outcome.ok && event.kind === 'consume' && consumptionOf(tx, id)) outcome = transition({ ...record, status: 'consumed' }, event, at);
  const kept = outcome.ok ? outcome : outcome.lapsed;
  if (kept?.told) keep(tx, record, kept, deps);
  return outcome;
}

/**
 * Compare-and-set on the status that was read. Inside the transaction nothing can have changed it, so a miss is a bug. Grants that are there stay
 * as they are, to the letter.
 */
function keep(tx: Transaction, before: RequestRecord, { record, told, grant, end }: Moved, { append }: RequestsDeps): void {
  const { status, consumedAt = null, consumedBy = null } = record;
  const added = grant === undefined ? null : JSON.stringify(grant);
  const changed = tx.run(
    `UPDATE requests SET status = ?, due_at = ?, approver = coalesce(?, approver), decision = coalesce(?, decision),
       revocation = coalesce(?, revocation), consumed_at = ?, consumed_by = ?,
       grants = CASE WHEN ? THEN json_insert(coalesce(grants, '[]'), '$[#]', json(?)) ELSE grants END
     WHERE id = ? AND status = ? AND digest = ?`,
    ...[status, end ?? null, ...decisionColumns(before, record), consumedAt, consumedBy, grant === undefined ? 0 : 1, added],
    ...[before.id, before.status, before.digest],
  );
  if (changed !== 1) throw new Fault('store_refused', say`request \`${before.id}\` did not change`, { audience: 'bug' });
  if (told) append(tx, told);
}

/** Who approved, the first answer, and what took it back; null: as it was. */
function decisionColumns({ decision: before }: RequestRecord, { decision, status }: RequestRecord): readonly (string | null)[] {
  if (decision === undefined || decision === before) return [null, null, null];
  const text = JSON.stringify(decision);
  return status === 'revoked' ? [null, null, text] : [status === 'approved' ? decision.by : null, text, null];
}

function advanceCounter(tx: Transaction, credentialId: string, counter: number): boolean {
  const last = Number(tx.get('SELECT counter FROM passkeys WHERE credential_id = ?', credentialId)?.counter ?? 0);
  if (counter === 0 && last === 0) return true;
  if (counter <= last) return false;
  tx.run(
    'INSERT INTO passkeys (credential_id, counter) VALUES (?, ?) ON CONFLICT (credential_id) DO UPDATE SET counter = excluded.counter',
    ...[credentialId, counter],
  );
  return true;
}

/** A wait that ends leaves another one's mark alone. */
function noteWait(tx: Transaction, { id, by, forMs, now }: { id: string; by: string; forMs: number; now: number }): void {
  if (forMs <= 0)
    return void tx.run('UPDATE waits SET until = min(until, ?), seen_at = ? WHERE request_id = ? AND by = ?', now, now, id, by);
  tx.run(
    `INSERT INTO waits (request_id, by, until, seen_at) SELECT id, ?, ?, ? FROM requests WHERE id = ?
     ON CONFLICT (request_id) DO UPDATE SET by = excluded.by, until = excluded.until, seen_at = excluded.seen_at`,
    ...[by, now + forMs, now, id],
  );
}

function waitOf(tx: Transaction, id: string): RequestWait | undefined {
  const row = tx.get('SELECT by, until, seen_at FROM waits WHERE request_id = ?', id);
  return row && { by: String(row.by), until: Number(row.until), seenAt: Number(row.seen_at) };
}

// Writes down what has lapsed. Housekeeping only: whoever reads or changes a request compares the time itself.

/** At most this many at once, so that one caller does not pay for everybody's past. */
const batch = 100;

export function hasDue(tx: Transaction, now: number): boolean {
  return tx.get('SELECT 1 FROM requests WHERE due_at <= ? LIMIT 1', now) !== undefined;
}

/** Marks lapsed requests as expired, each with its audit record. */
export function expireDue(tx: Transaction, clock: RequestsDeps['clock'], append: AppendSealed): void {
  const { wentBackFrom } = keepTime(tx, clock);
  if (wentBackFrom !== undefined) expireBack(tx, wentBackFrom, { clock, append });
  const rows = tx.all('SELECT * FROM requests WHERE due_at <= ? ORDER BY due_at LIMIT ?', clock.now(), batch);
  for (const row of rows) expireRow(tx, row, append);
}

/** The clock went back: what was approved would live longer than was agreed to, and what was over, or is of a time to come, would live again. */
function expireBack(tx: Transaction, from: number, { clock, append }: Pick<RequestsDeps, 'clock' | 'append'>): void {
  const live = tx.all(
    "SELECT * FROM requests WHERE due_at IS NOT NULL AND (status = 'approved' OR due_at <= ? OR created_at > ?)",
    from,
    clock.now(),
  );
  for (const row of live) expireRow(tx, row, append);
}

function expireRow(tx: Transaction, row: Row, append: AppendSealed): void {
  tx.run("UPDATE requests SET status = 'expired', due_at = NULL WHERE seq = ?", Number(row.seq));
  const record = keptInRow(row);
  const expired = record && transition(record, { kind: 'expire' }, lapseOf(record));
  const told = expired?.ok ? expired.told : undefined;
  // A row that is no request lapses, too.
  append(tx, told ?? { name: 'approval.expired', attributes: { request_id: String(row.id), was: String(row.status) } });
}
