/** What a person is told about the answer they gave. */
import type { AnswerCode, AnswerResult, ApprovalProgress } from '#kernel/approval/answer';
import { grantsEnd, type RequestRecord, waitState } from '#kernel/approval/request';
import { expiryInWords } from '#kernel/approval/request-end';
import { applyHeldTool } from '#kernel/effects';
import type { TransitionResult } from '#kernel/ports/request-store';
import { clockTime, formatDuration, showPlainly } from '#kernel/text/text';

export function notFound(id: string): AnswerResult {
  return refuse('not_found', `there is no request \`${showPlainly(id, 40)}\`; look at the list again`);
}

export function tampered(record: RequestRecord): AnswerResult {
  return refuse(
    'tampered',
    `request ${record.id} was changed after it was made, so it cannot be approved; deny it and check who can write to the store`,
    record,
  );
}

export function selfApproval(record: RequestRecord, approver: string): AnswerResult {
  return refuse(
    'self_approval',
    `\`${showPlainly(approver, 100)}\` made request ${record.id} and cannot approve it; somebody else has to`,
    record,
  );
}

export function keyNotTrusted(record: RequestRecord): AnswerResult {
  const remedy = 'trust this key first, or answer where a trusted one is';
  return refuse(
    'key_not_trusted',
    `request ${record.id} is not approved: the signing key is not among the trusted ones; ${remedy}`,
    record,
  );
}

/** A request that is past answering, as it is now. */
export function pastAnswering(record: RequestRecord, now: number): AnswerResult {
  if (record.status === 'expired') {
    return refuse('expired', `request ${record.id} has expired: ${expiryInWords(record, now)}; the agent has to ask again`, record);
  }
  return refuse('already_decided', `request ${record.id} ${wasDecided(record, now)}; your answer changed nothing${wayOut(record)}`, record);
}

/** What still stops it, where something does. */
function wayOut({ status }: RequestRecord): string {
  if (status === 'pending') return '; deny it if it must not run';
  return status === 'approved' ? '; revoke it if it must not run' : '';
}

function wasDecided(record: RequestRecord, now: number): string {
  const { decision } = record;
  const when = decision ? ` ${formatDuration(now - decision.at)} ago` : '';
  const who = decision ? ` by ${showPlainly(decision.by, 100)} (${decision.via})${when}` : '';
  if (record.status === 'consumed') return `was already approved${who}, and a call has used that`;
  if (record.status === 'pending') return 'still waits for an answer, so there is no approval to take back';
  if (record.status === 'cancelled') return 'was withdrawn by the one who asked';
  return `was already ${record.status}${who}`;
}

/** A refusal by the store, which has the last word. */
export function refusedByStore(result: Extract<TransitionResult, { ok: false }>, id: string, by: string, now: number): AnswerResult {
  const { record, why } = result;
  if (!record || why === 'not_found') return notFound(id);
  if (why === 'self_approval') return selfApproval(record, by);
  if (why === 'mismatch') return tampered(record);
  return pastAnswering(why === 'expired' ? { ...record, status: 'expired' } : record, now);
}

export function done(code: AnswerCode, record: RequestRecord): AnswerResult {
  return { ok: true, code, message: doneWords(code, record), record };
}

/** One of several who have to agree. */
export function donePartly(record: RequestRecord, { needed, people }: ApprovalProgress): AnswerResult {
  const what = `approved by ${people.length} of ${needed} people (${people.map((person) => showPlainly(person, 60)).join(', ')})`;
  const message = `${what}: ${showPlainly(record.title, 160)} (${record.id}); it runs once the others have agreed, too`;
  return { ok: true, code: 'approved_partly', message, record };
}

function doneWords(code: AnswerCode, record: RequestRecord): string {
  const title = showPlainly(record.title, 160);
  if (record.reported !== undefined) return `${code}: ${title} (${record.id}); it was a report, so nothing runs either way`;
  if (code === 'approved') return `approved once: ${title} (${record.id})${goodUntil(record)}`;
  return `${code}: ${title} (${record.id}); it will not run`;
}

/** Of a call that waits there is nothing to say: it runs now. */
function goodUntil({ wait, decision, grants = [], action }: RequestRecord): string {
  if (action.tool === applyHeldTool) return '';
  if (decision === undefined || grants.length === 0 || waitState(wait, decision.at).waits) return '';
  return `; no call waits for it: the agent may run it until ${clockTime(grantsEnd(grants), decision.at)}, when it asks again`;
}

export function refuse(code: AnswerCode, message: string, record?: RequestRecord): AnswerResult {
  return { ok: false, code, message, ...(record ? { record } : {}) };
}

export const clonedWords = 'this passkey’s counter went back, so there may be a copy of it; revoke it and enrol another';
