/** The request state machine in SQLite. Every change and its audit record are one transaction. */

import {
  type Grant,
  type RequestDecision,
  type RequestDraft,
  type RequestRecord,
  type RequestWait,
  requestLifeMs,
} from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { RequestStore, StoredAnswer, TransitionResult } from '#kernel/ports/request-store';
import { approvalAttributes, auditAttributes, grantFlaw, isSameReport, requireStorable } from '../request-rules.ts';
import type { Database, Row, Transaction } from './database.ts';
import { countApproved, countPending, countPendingLike, findRequest, listRequests, recordOfRow } from './request-rows.ts';
import type { AppendSealed } from './sqlite-audit.ts';

export interface RequestsDeps {
  readonly database: Database;
  readonly append: AppendSealed;
  /** ms since the epoch: the clock that decides what has expired. */
  readonly now: () => number;
  /** A fresh id, `req-` + 8 hex digits. */
  readonly newId: () => string;
  readonly maxPendingPerAgent: number;
  readonly onChange: (listener: () => void) => () => void;
}

const maxIdTries = 64;

export function createSqliteRequests(deps: RequestsDeps): RequestStore {
  const { database, now } = deps;
  const write = (work: (tx: Transaction) => TransitionResult): Promise<TransitionResult> => database.write(work);
  return {
    open: async (draft) => {
      requireStorable(draft);
      return write((tx) => open(tx, draft, deps));
    },
    get: (id) => database.read((tx) => findRequest(tx, id, now())),
    list: (query) => database.read((tx) => listRequests(tx, query, now())),
    countPending: () => database.read((tx) => countPending(tx, now())),
    countApproved: () => database.read((tx) => countApproved(tx, now())),
    identity: () => database.identity(),
    advanceCounter: (id, counter) => database.write((tx) => advanceCounter(tx, id, counter)),
    approve: (id, grant, answer) => write((tx) => approve(tx, id, { grant, answer }, deps)),
    deny: (id, decision) => write((tx) => deny(tx, id, decision, deps)),
    cancel: (id, by) => write((tx) => cancel(tx, id, by, deps)),
    revoke: (id, decision) => write((tx) => revoke(tx, id, decision, deps)),
    consume: (id, digest, by) => write((tx) => consume(tx, { id, digest, by }, deps)),
    noteWait: (id, by, forMs) => database.write((tx) => noteWait(tx, { id, by, forMs, now: now() })),
    waitOf: (id) => database.read((tx) => waitOf(tx, id)),
    onChange: deps.onChange,
  };
}

function open(tx: Transaction, draft: RequestDraft, deps: RequestsDeps): TransitionResult {
  const now = deps.now();
  expireDue(tx, now, deps.append);
  const reported = draft.reportId === undefined ? undefined : reportedBefore(tx, draft, draft.reportId, now);
  if (reported) return reported;
  const existing = tx.get(
    "SELECT * FROM requests WHERE agent_id = ? AND digest = ? AND status IN ('pending', 'approved')",
    draft.agent.id,
    draft.digest,
  );
  const known = existing && recordOfRow(existing, now);
  if (known) return { ok: true, record: known };
  if (countPendingLike(tx, draft, now) >= deps.maxPendingPerAgent) return { ok: false, why: 'too_many' };
  const id = draft.reportId ?? freeId(tx, deps.newId);
  const expiresAt = now + requestLifeMs;
  tx.run(
    `INSERT INTO requests (id, status, digest, agent_id, agent_host, draft, created_at, expires_at, due_at)
     VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, draft.digest, draft.agent.id, draft.agent.host, JSON.stringify(draft), now, expiresAt, expiresAt],
  );
  const record: RequestRecord = { ...draft, id, status: 'pending', createdAt: now, expiresAt };
  deps.append(tx, { name: 'approval.requested', attributes: auditAttributes(record) });
  return { ok: true, record };
}

/** What the id that a report names stands for already; undefined: nothing. SECURITY: whose request it is otherwise is not told. */
function reportedBefore(tx: Transaction, draft: RequestDraft, id: string, now: number): TransitionResult | undefined {
  const row = tx.get('SELECT * FROM requests WHERE id = ?', id);
  const known = row && recordOfRow(row, now);
  if (known && isSameReport(known, draft)) return { ok: true, record: known };
  return row && { ok: false, why: 'id_taken' };
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

/** Those that are there stay as they are, to the letter. */
const addGrant = "grants = json_insert(coalesce(grants, '[]'), '$[#]', json(?))";

function approve(
  tx: Transaction,
  id: string,
  { grant, answer }: { readonly grant: Grant; readonly answer: StoredAnswer },
  deps: RequestsDeps,
): TransitionResult {
  const found = inStatus(tx, id, 'pending', deps);
  if (!found.ok) return found;
  const { record } = found;
  const flaw = grantFlaw(grant, record, answer, deps.now());
  if (flaw) return { ok: false, why: flaw, record };
  const grants = [...(record.grants ?? []), grant];
  const { decision, until } = answer;
  const attributes = approvalAttributes(record, grant, answer);
  if (until === undefined) {
    change(tx, record, addGrant, [JSON.stringify(grant)]);
    deps.append(tx, { name: 'approval.partial', attributes });
    return { ok: true, record: { ...record, grants } };
  }
  const set = `status = 'approved', due_at = ?, approver = ?, decision = ?, ${addGrant}`;
  change(tx, record, set, [until, decision.by, JSON.stringify(decision), JSON.stringify(grant)]);
  deps.append(tx, { name: 'approval.approved', attributes });
  return { ok: true, record: { ...record, status: 'approved', decision, grants } };
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

function deny(tx: Transaction, id: string, decision: RequestDecision, deps: RequestsDeps): TransitionResult {
  const found = inStatus(tx, id, 'pending', deps);
  if (!found.ok) return found;
  change(tx, found.record, "status = 'denied', due_at = NULL, decision = ?", [JSON.stringify(decision)]);
  deps.append(tx, { name: 'approval.denied', attributes: auditAttributes(found.record, decision) });
  return { ok: true, record: { ...found.record, status: 'denied', decision } };
}

function cancel(tx: Transaction, id: string, by: string, deps: RequestsDeps): TransitionResult {
  const pending = inStatus(tx, id, 'pending', deps);
  const found = pending.ok || pending.record?.status !== 'approved' ? pending : { ok: true as const, record: pending.record };
  if (!found.ok) return found;
  change(tx, found.record, "status = 'cancelled', due_at = NULL", []);
  deps.append(tx, { name: 'approval.cancelled', attributes: auditAttributes(found.record, { by }) });
  return { ok: true, record: { ...found.record, status: 'cancelled' } };
}

function revoke(tx: Transaction, id: string, decision: RequestDecision, deps: RequestsDeps): TransitionResult {
  const found = inStatus(tx, id, 'approved', deps);
  if (!found.ok) return found;
  change(tx, found.record, "status = 'revoked', due_at = NULL, revocation = ?", [JSON.stringify(decision)]);
  deps.append(tx, { name: 'approval.revoked', attributes: auditAttributes(found.record, decision) });
  return { ok: true, record: { ...found.record, status: 'revoked', decision } };
}

function consume(tx: Transaction, what: { id: string; digest: string; by: string }, deps: RequestsDeps): TransitionResult {
  const found = inStatus(tx, what.id, 'approved', deps);
  if (!found.ok) return found;
  const { record } = found;
  // SECURITY: approving a report settles it; no call is behind it.
  if (record.digest !== what.digest || record.reported) return { ok: false, why: 'mismatch', record };
  // SECURITY: a row that was put back from `consumed` is still consumed in the trail.
  if (consumptionOf(tx, record.id)) return { ok: false, why: 'not_approved', record };
  const consumedAt = deps.now();
  change(tx, record, "status = 'consumed', due_at = NULL, consumed_at = ?, consumed_by = ?", [consumedAt, what.by]);
  deps.append(tx, {
    name: 'approval.consumed',
    attributes: auditAttributes(record, { by: what.by, approver: record.decision?.by ?? null }),
  });
  return { ok: true, record: { ...record, status: 'consumed', consumedAt, consumedBy: what.by } };
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

type Found = { readonly ok: true; readonly record: RequestRecord } | Extract<TransitionResult, { ok: false }>;

/** The record if it is in this status now; what has lapsed is written down as expired on the way. */
function inStatus(tx: Transaction, id: string, status: 'pending' | 'approved', deps: RequestsDeps): Found {
  const now = deps.now();
  const record = findRequest(tx, id, now);
  if (!record) return { ok: false, why: 'not_found' };
  if (record.status === status) return { ok: true, record };
  if (record.status !== 'expired') return { ok: false, why: status === 'pending' ? 'not_pending' : 'not_approved', record };
  expireDue(tx, now, deps.append, id);
  return { ok: false, why: 'expired', record };
}

/** Compare-and-set on the status that was read. Inside the transaction nothing can have changed it, so a miss is a bug. */
function change(tx: Transaction, record: RequestRecord, set: string, values: readonly (string | number)[]): void {
  const changed = tx.run(
    `UPDATE requests SET ${set} WHERE id = ? AND status = ? AND digest = ?`,
    ...values,
    record.id,
    record.status,
    record.digest,
  );
  if (changed !== 1) throw new Fault('store_refused', `request \`${record.id}\` did not change`, { audience: 'bug' });
}

// Writes down what has lapsed. Housekeeping only: whoever reads or changes a request compares the time itself.

/** At most this many at once, so that one caller does not pay for everybody's past. */
const batch = 100;

export function hasDue(tx: Transaction, now: number): boolean {
  return tx.get('SELECT 1 FROM requests WHERE due_at <= ? LIMIT 1', now) !== undefined;
}

/** Marks lapsed requests (or the given one) as expired, each with its audit record. */
export function expireDue(tx: Transaction, now: number, append: AppendSealed, id?: string): void {
  const rows =
    id === undefined
      ? tx.all('SELECT * FROM requests WHERE due_at <= ? ORDER BY due_at LIMIT ?', now, batch)
      : tx.all('SELECT * FROM requests WHERE due_at <= ? AND id = ?', now, id);
  for (const row of rows) {
    tx.run("UPDATE requests SET status = 'expired', due_at = NULL WHERE seq = ?", Number(row.seq));
    const record = recordOfRow(row, now);
    const attributes = record ? auditAttributes(record) : { request_id: String(row.id) };
    append(tx, { name: 'approval.expired', attributes: { ...attributes, was: String(row.status) } });
  }
}
