/**
 * What becomes of a request, whichever store it is in: one pure function. A store finds the record, asks this, and keeps what it is given: the
 * record, and what the trail says of it.
 */
import { keyOfProof } from '#kernel/approval/proof';
import {
  type Grant,
  type GrantPayload,
  grantLifeMs,
  grantsEnd,
  isSelfApproval,
  mostGrants,
  type RequestDecision,
  type RequestDraft,
  type RequestRecord,
  type RequestStatus,
  requestLifeMs,
} from '#kernel/approval/request';
import { parseRequestDraft } from '#kernel/approval/request-schema';
import type { AuditDraft, AuditEventName } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import { canonicalJson, type JsonObject, type JsonValue } from '#kernel/json';
import type { StoredAnswer, TransitionResult } from '#kernel/ports/request-store';

/** What happens to a request. `expire`: its time is over, and somebody writes that down. */
export type RequestEvent =
  | { readonly kind: 'open'; readonly draft: RequestDraft; readonly id: string }
  | { readonly kind: 'approve'; readonly grant: Grant; readonly answer: StoredAnswer }
  | { readonly kind: 'deny' | 'revoke'; readonly decision: RequestDecision }
  | { readonly kind: 'cancel'; readonly by: string }
  | { readonly kind: 'consume'; readonly digest: string; readonly by: string }
  | { readonly kind: 'expire' };

type Act = Exclude<RequestEvent, { kind: 'open' }>;
type Why = Extract<TransitionResult, { ok: false }>['why'];

interface Move {
  readonly from: readonly RequestStatus[];
  readonly to: RequestStatus;
  readonly told: AuditEventName;
  /** Said where it is in any other status. */
  readonly otherwise: Why;
}

/** The whole state machine; no other edge exists. The embedded store's file refuses the rest by itself. */
export const requestMoves: Readonly<Record<Act['kind'], Move>> = {
  approve: { from: ['pending'], to: 'approved', told: 'approval.approved', otherwise: 'not_pending' },
  deny: { from: ['pending'], to: 'denied', told: 'approval.denied', otherwise: 'not_pending' },
  cancel: { from: ['pending', 'approved'], to: 'cancelled', told: 'approval.cancelled', otherwise: 'not_pending' },
  revoke: { from: ['approved'], to: 'revoked', told: 'approval.revoked', otherwise: 'not_approved' },
  consume: { from: ['approved'], to: 'consumed', told: 'approval.consumed', otherwise: 'not_approved' },
  expire: { from: ['pending', 'approved'], to: 'expired', told: 'approval.expired', otherwise: 'changed' },
};

/** It happened, or was so already. */
export interface Moved {
  readonly ok: true;
  readonly record: RequestRecord;
  /** What is kept together with the record; absent: nothing is to be kept. */
  readonly told?: AuditDraft;
  /** The approval that the record has now and had not before. */
  readonly grant?: Grant;
  /** When it lapses as things stand, ms since the epoch; absent once it is over. */
  readonly end?: number;
}

/** It did not. `lapsed`: its time had passed, and nobody has written that down yet. */
export interface Refused {
  readonly ok: false;
  readonly why: Why;
  readonly record?: RequestRecord;
  readonly lapsed?: Moved;
}

/** @param record as it is kept, whatever the time; undefined: there is none. @param now ms since the epoch */
export function transition(record: RequestRecord | undefined, event: RequestEvent, now: number): Moved | Refused {
  if (event.kind === 'open') return record === undefined ? opened(event, now) : openedBefore(record, event.draft);
  if (record === undefined) return { ok: false, why: 'not_found' };
  return isLapsed(record, now) ? lapsed(record, event, now) : act(record, event, now);
}

function lapsed(record: RequestRecord, event: Act, now: number): Moved | Refused {
  const expired = moved(record, { kind: 'expire' }, now);
  return event.kind === 'expire' ? expired : { ok: false, why: 'expired', record: expired.record, lapsed: expired };
}

function act(record: RequestRecord, event: Act, now: number): Moved | Refused {
  const { from, otherwise } = requestMoves[event.kind];
  if (!from.includes(record.status)) return { ok: false, why: record.status === 'expired' ? 'expired' : otherwise, record };
  const why = flawOf(record, event, now);
  return why === undefined ? moved(record, event, now) : { ok: false, why, record };
}

/** What the caller of a store is told: nothing of how it is kept. */
export function resultOf(outcome: Moved | Refused): TransitionResult {
  const { ok, record } = outcome;
  if (ok) return { ok, record };
  return record === undefined ? { ok, why: outcome.why } : { ok, why: outcome.why, record };
}

/** A request as it counts at `now`: past its time it is `expired`, whether or not anybody has written that down yet. */
export function asOf(record: RequestRecord, now: number): RequestRecord {
  return isLapsed(record, now) ? { ...record, status: 'expired' } : record;
}

function isLapsed(record: RequestRecord, now: number): boolean {
  return isOpen(record.status) && lapseOf(record) <= now;
}

/** When an open one lapses by what is in it; a store may know of an earlier end. */
export function lapseOf({ status, grants = [], expiresAt }: RequestRecord): number {
  return status === 'approved' && grants.length > 0 ? grantsEnd(grants) : expiresAt;
}

export function isOpen(status: RequestStatus): boolean {
  return requestMoves.expire.from.includes(status);
}

// A new request, or the one that is there already.

function opened({ draft, id }: Extract<RequestEvent, { kind: 'open' }>, now: number): Moved {
  const end = now + requestLifeMs;
  const record: RequestRecord = { ...draft, id, status: 'pending', createdAt: now, expiresAt: end };
  return { ok: true, record, told: { name: 'approval.requested', attributes: auditAttributes(record) }, end };
}

/** A report names its own id. SECURITY: whose request stands there otherwise is not told. */
function openedBefore(record: RequestRecord, draft: RequestDraft): Moved | Refused {
  return isSameReport(record, draft) ? { ok: true, record } : { ok: false, why: 'id_taken' };
}

/** The same report of the same agent: same digest, same block. Whose words around it differ, it is still one. */
function isSameReport(known: RequestDraft, draft: RequestDraft): boolean {
  return known.agent.id === draft.agent.id && known.digest === draft.digest && blockOf(known) === blockOf(draft);
}

function blockOf({ reported }: RequestDraft): string | undefined {
  return reported && canonicalJson(reported as unknown as JsonObject);
}

/** The one tool whose requests are reports; nothing runs on their grants. */
const reportTool = 'report_block';

/** @throws {Fault} `bad_request_draft`: what could not be read back must not be written */
export function requireStorable(draft: RequestDraft): void {
  const stored = parseRequestDraft(JSON.stringify(draft));
  if (stored && draft.agent.id === draft.action.agentId && isHonestReport(draft)) return;
  throw new Fault('bad_request_draft', 'this request cannot be stored: a field is missing, unknown or of the wrong kind', {
    audience: 'bug',
  });
}

/** SECURITY: only a report names its own id, and a report is never a question about another tool. */
function isHonestReport({ reported, reportId, action }: RequestDraft): boolean {
  return reported === undefined ? reportId === undefined : action.tool === reportTool;
}

// Why a request in the right status does not move after all.

function flawOf(record: RequestRecord, event: Act, now: number): Why | undefined {
  if (event.kind === 'approve') return grantFlaw(event.grant, record, event.answer, now);
  // SECURITY: approving a report settles it; no call is behind it.
  if (event.kind === 'consume' && (record.digest !== event.digest || record.reported)) return 'mismatch';
  // Its time is not over.
  return event.kind === 'expire' ? requestMoves.expire.otherwise : undefined;
}

/** Two machines' clocks may differ by this much, in ms. */
const clockSkewMs = 60_000;

/**
 * Why a grant is not taken; undefined where it is for this very request, by this person, in time, and nobody answered meanwhile. That is what can
 * be seen without any key: the signature is checked by whoever consumes it.
 */
function grantFlaw({ payload }: Grant, record: RequestRecord, { decision, seen, until }: StoredAnswer, now: number): Why | undefined {
  const known = (record.grants ?? []).length;
  if (isSelfApproval(record.agent, decision.by)) return 'self_approval';
  if (!isFor(payload, record, decision.by)) return 'mismatch';
  if ((until ?? 0) > Math.min(payload.expiresAt, now + grantLifeMs + clockSkewMs)) return 'mismatch';
  if (Math.min(payload.expiresAt, until ?? payload.expiresAt) <= now) return 'expired';
  return known === seen && known < mostGrants ? undefined : 'changed';
}

function isFor({ requestId, digest, approver, decision }: GrantPayload, record: RequestRecord, by: string): boolean {
  return requestId === record.id && digest === record.digest && approver === by && decision === 'approve';
}

// The record after it, and what the trail says.

function moved(record: RequestRecord, event: Act, now: number): Moved {
  if (event.kind === 'approve') return approved(record, event);
  const { to: status, told: name } = requestMoves[event.kind];
  const told = (more: Parameters<typeof auditAttributes>[1]): AuditDraft => ({ name, attributes: auditAttributes(record, more) });
  switch (event.kind) {
    case 'cancel':
      return { ok: true, record: { ...record, status }, told: told({ by: event.by }) };
    case 'expire':
      return { ok: true, record: { ...record, status }, told: told({ was: record.status }) };
    case 'consume': {
      const { by } = event;
      const approver = record.decision?.by ?? null;
      return { ok: true, record: { ...record, status, consumedAt: now, consumedBy: by }, told: told({ by, approver }) };
    }
    case 'deny':
    case 'revoke':
      return { ok: true, record: { ...record, status, decision: event.decision }, told: told(event.decision) };
  }
}

/** One approval of several (`approval.partial`), or the one that makes them enough. */
function approved(record: RequestRecord, { grant, answer }: Extract<RequestEvent, { kind: 'approve' }>): Moved {
  const { decision, seen, until } = answer;
  const { person, nonce } = grant.payload;
  const attributes = auditAttributes(record, { ...decision, person, key_id: keyOfProof(grant.proof), nonce, count: seen + 1 });
  const grants = [...(record.grants ?? []), grant];
  if (until === undefined) {
    return { ok: true, record: { ...record, grants }, grant, end: record.expiresAt, told: { name: 'approval.partial', attributes } };
  }
  const { to: status, told: name } = requestMoves.approve;
  return {
    ok: true,
    record: { ...record, status, decision, grants },
    grant,
    end: Math.min(until, grantsEnd(grants)),
    told: { name, attributes },
  };
}

/**
 * Who, which tool, which digest; never arguments, titles or claims, which may hold secrets. Strings in `more` may come from people; they are
 * made well-formed, because the canonical form has no place for lone surrogates.
 */
function auditAttributes(record: RequestRecord, more: Readonly<Record<string, JsonValue | undefined>> | object = {}): JsonObject {
  const attributes = {
    request_id: record.id,
    'gen_ai.tool.name': record.action.tool,
    'gen_ai.agent.id': record.agent.id,
    host: record.agent.host,
    tier: record.tier,
    impact: record.impact,
    digest: record.digest,
    // SECURITY: the reason alone; the destination may hold a credential, and the pattern is for people only.
    reported: record.reported?.reason,
    ...more,
  };
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, wellFormed(value as JsonValue | undefined)]));
}

function wellFormed(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
