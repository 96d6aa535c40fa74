/** What a person is told about the answer they gave. */
import type { AnswerCode, AnswerResult, ApprovalProgress } from '#kernel/approval/answer';
import { grantsEnd, type RequestRecord, requestTitle, waitState } from '#kernel/approval/request';
import { expiryInWords, statusWords } from '#kernel/approval/request-end';
import { applyHeldTool } from '#kernel/effects';
import type { TransitionResult } from '#kernel/ports/request-store';
import { english, joined, type Message, plainly, say, timeOfDay } from '#kernel/text/message';
import { formatDuration, showPlainly } from '#kernel/text/text';

export function notFound(id: string): AnswerResult {
  return refuse('not_found', say`there is no request \`${showPlainly(id, 40)}\`; look at the list again`);
}

export function tampered(record: RequestRecord): AnswerResult {
  return refuse(
    'tampered',
    say`request ${record.id} was changed after it was made, so it cannot be approved; deny it and check who can write to the store`,
    record,
  );
}

export function selfApproval(record: RequestRecord, approver: string): AnswerResult {
  return refuse(
    'self_approval',
    say`\`${showPlainly(approver, 100)}\` made request ${record.id} and cannot approve it; somebody else has to`,
    record,
  );
}

export function keyNotTrusted(record: RequestRecord): AnswerResult {
  return refuse(
    'key_not_trusted',
    say`request ${record.id} is not approved: the signing key is not among the trusted ones; trust this key first, or answer where a trusted one is`,
    record,
  );
}

/** A request that is past answering, as it is now. */
export function pastAnswering(record: RequestRecord, now: number): AnswerResult {
  if (record.status === 'expired') {
    return refuse('expired', say`request ${record.id} has expired: ${expiryInWords(record, now)}; the agent has to ask again`, record);
  }
  const told = say`request ${record.id} ${wasDecided(record, now)}; your answer changed nothing`;
  return refuse('already_decided', withWayOut(told, record), record);
}

/** What still stops it, where something does. */
function withWayOut(told: Message, { status }: RequestRecord): Message {
  if (status === 'pending') return say`${told}; deny it if it must not run`;
  return status === 'approved' ? say`${told}; revoke it if it must not run` : told;
}

function wasDecided(record: RequestRecord, now: number): Message {
  const { decision, status } = record;
  const who =
    decision === undefined
      ? undefined
      : say`by ${showPlainly(decision.by, 100)} (${decision.via}) ${formatDuration(now - decision.at)} ago`;
  if (status === 'consumed')
    return who === undefined
      ? say`was already approved, and a call has used that`
      : say`was already approved ${who}, and a call has used that`;
  if (status === 'pending') return say`still waits for an answer, so there is no approval to take back`;
  if (status === 'cancelled') return say`was withdrawn by the one who asked`;
  const word = statusWords[status];
  return who === undefined ? say`was already ${word}` : say`was already ${word} ${who}`;
}

/** A refusal by the store, which has the last word. */
export function refusedByStore(result: Extract<TransitionResult, { ok: false }>, id: string, by: string, now: number): AnswerResult {
  const { record, why } = result;
  if (!record || why === 'not_found') return notFound(id);
  if (why === 'self_approval') return selfApproval(record, by);
  if (why === 'mismatch') return tampered(record);
  return pastAnswering(why === 'expired' ? { ...record, status: 'expired' } : record, now);
}

export function done(code: 'approved' | 'denied' | 'revoked', record: RequestRecord): AnswerResult {
  return answered(true, code, doneWords(code, record), record);
}

/** One of several who have to agree. */
export function donePartly(record: RequestRecord, { needed, people }: ApprovalProgress): AnswerResult {
  const names = joined(people.map((person) => showPlainly(person, 60)));
  const words = say`approved by ${people.length} of ${needed} people (${names}): ${titleIn(record)} (${record.id}); it runs once the others have agreed, too`;
  return answered(true, 'approved_partly', words, record);
}

function doneWords(code: 'approved' | 'denied' | 'revoked', record: RequestRecord): Message {
  const what = say`${titleIn(record)} (${record.id})`;
  if (record.reported !== undefined) return say`${statusWords[code]}: ${what}; it was a report, so nothing runs either way`;
  return code === 'approved' ? approvedWords(what, record) : say`${statusWords[code]}: ${what}; it will not run`;
}

/** Of a call that waits there is nothing to say: it runs now. */
function approvedWords(what: Message, { wait, decision, grants = [], action }: RequestRecord): Message {
  const approved = say`approved once: ${what}`;
  const isHeard = action.tool === applyHeldTool || decision === undefined || grants.length === 0;
  if (isHeard || waitState(wait, decision.at).waits) return approved;
  return say`${approved}; no call waits for it: the agent may run it until ${timeOfDay(grantsEnd(grants), decision.at)}, when it asks again`;
}

function titleIn(record: RequestRecord): Message {
  return plainly(requestTitle(record), 160);
}

export function refuse(code: AnswerCode, words: Message, record?: RequestRecord): AnswerResult {
  return answered(false, code, words, record);
}

function answered(ok: boolean, code: AnswerCode, words: Message, record: RequestRecord | undefined): AnswerResult {
  return { ok, code, message: english(words), words, ...(record ? { record } : {}) };
}

export const clonedWords = say`this passkey’s counter went back, so there may be a copy of it; revoke it and enrol another`;
