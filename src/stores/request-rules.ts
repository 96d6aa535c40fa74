import { keyOfProof } from '#kernel/approval/proof';
import {
  type Grant,
  type GrantPayload,
  grantLifeMs,
  isSelfApproval,
  mostGrants,
  type RequestDraft,
  type RequestRecord,
} from '#kernel/approval/request';
import { parseRequestDraft } from '#kernel/approval/request-schema';
import { Fault } from '#kernel/errors';
import { canonicalJson, type JsonObject, type JsonValue } from '#kernel/json';
import type { StoredAnswer } from '#kernel/ports/request-store';

/** What both stores hold of a request: whether it can be stored, is a grant's, and what the trail says of it. */

// What both stores ask of a draft before anything is written.

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

// Whether an agent says the same again.

/** The same report of the same agent: same digest, same block. Whose words around it differ, it is still one. */
export function isSameReport(known: RequestDraft, draft: RequestDraft): boolean {
  return known.agent.id === draft.agent.id && known.digest === draft.digest && blockOf(known) === blockOf(draft);
}

function blockOf({ reported }: RequestDraft): string | undefined {
  return reported && canonicalJson(reported as unknown as JsonObject);
}

// What a store can see of a grant without any key. The signature is checked by whoever consumes it.

/** Two machines' clocks may differ by this much, in ms. */
const clockSkewMs = 60_000;

/** Why a grant is not taken; undefined where it is for this very request, by this person, in time, and nobody answered meanwhile. */
export function grantFlaw(
  grant: Grant,
  record: RequestRecord,
  { decision, seen, until }: StoredAnswer,
  now: number,
): 'self_approval' | 'mismatch' | 'expired' | 'changed' | undefined {
  const { payload } = grant;
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

/** What the trail says of an approval: one of several (`approval.partial`), or the one that made them enough. */
export function approvalAttributes(record: RequestRecord, { payload, proof }: Grant, { decision, seen }: StoredAnswer): JsonObject {
  const { person, nonce } = payload;
  return auditAttributes(record, { ...decision, person, key_id: keyOfProof(proof), nonce, count: seen + 1 });
}

// What the trail says about a request: who, which tool, which digest; never arguments, titles or claims, which may hold secrets.

/** Strings in `more` may come from people; they are made well-formed, because the canonical form has no place for lone surrogates. */
export function auditAttributes(record: RequestRecord, more: Readonly<Record<string, JsonValue | undefined>> | object = {}): JsonObject {
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
