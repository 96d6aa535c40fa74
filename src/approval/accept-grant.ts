/** From a person's yes to a stored approval: looked at before it is signed, and again before it is stored. */

import type { AnswerResult, ApproverKey, Signer } from '#kernel/approval/answer';
import type { Grant, GrantPayload, RequestDecision, RequestRecord } from '#kernel/approval/request';
import type { Clock } from '#kernel/ports/clock';
import type { RequestStore } from '#kernel/ports/request-store';
import { type Message, say } from '#kernel/text/message';
import {
  clonedWords,
  done,
  donePartly,
  keyNotTrusted,
  notFound,
  pastAnswering,
  refuse,
  refusedByStore,
  selfApproval,
  tampered,
} from './answer-words.ts';
import { type DescribeAction, isIntact, reviewCard } from './card.ts';
import { type GrantFlaw, grantPayload, personOf, verifyGrant } from './grant.ts';
import { isSameKey } from './keys.ts';
import { type ApprovalRules, noRules, ruleFlaw, type Standing, standingOf } from './rules.ts';
import { signPayload } from './signed.ts';

export interface AnswerDeps {
  readonly requests: Pick<RequestStore, 'get' | 'approve' | 'deny' | 'waitOf' | 'identity'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The keys pinned in machine-scoped configuration, as they are at this moment. Empty: nothing can be approved. */
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
  /** As they are at this moment. Absent: one person, any approver. */
  readonly rules?: () => ApprovalRules;
  /** The surface answers come through. */
  readonly via: RequestDecision['via'];
  readonly describe?: DescribeAction;
}

/** What an approver is about to agree to. */
export interface AnswerDraft {
  readonly id: string;
  /** Of the card that was shown; undefined: none was shown by this process. */
  readonly digest: string | undefined;
  readonly decision: GrantPayload['decision'];
  readonly approver: string;
  readonly pin: ApproverKey;
}

export type Prepared = { readonly ok: true; readonly payload: GrantPayload } | { readonly ok: false; readonly refusal: AnswerResult };

/** What is to be signed, or why an answer could not count. */
export async function prepareAnswer({ id, digest, decision, approver, pin }: AnswerDraft, deps: AnswerDeps): Promise<Prepared> {
  const record = await deps.requests.get(id);
  if (!record) return { ok: false, refusal: notFound(id) };
  const standing = await standingNow(record, deps);
  const refusal = await whyNot(record, { digest, decision, approver, pin, standing }, deps);
  if (refusal) return { ok: false, refusal };
  const waits = standing.people.length + 1 < standing.needed;
  const store = await deps.requests.identity();
  return { ok: true, payload: grantPayload({ request: record, decision, approver, pin, store, now: deps.clock.now(), waits }) };
}

/** With a window's or a terminal's key. */
export async function approveWith(signer: Signer, shown: Pick<AnswerDraft, 'id' | 'digest'>, deps: AnswerDeps): Promise<AnswerResult> {
  const pin = (await deps.trustedKeys()).find(({ key, passkey }) => passkey === undefined && isSameKey(key, signer.publicKey));
  if (pin === undefined) return unpinned(shown.id, deps);
  const prepared = await prepareAnswer({ ...shown, decision: 'approve', approver: signer.approver, pin }, deps);
  if (!prepared.ok) return prepared.refusal;
  return acceptGrant(await signPayload(prepared.payload, signer), deps);
}

/** That a request is over, or is none, is said first. */
async function unpinned(id: string, { requests, clock }: AnswerDeps): Promise<AnswerResult> {
  const record = await requests.get(id);
  if (record === undefined) return notFound(id);
  return record.status === 'pending' ? keyNotTrusted(record) : pastAnswering(record, clock.now());
}

/** Of a passkey. */
interface CounterCheck {
  /** Of an answer that verifies: whether its signature counter went on, and not back as a copied key's would. */
  readonly advances?: () => Promise<boolean>;
}

/** Others may answer the same request at once; each time one did, it is looked at anew. */
const maxTries = 10;

/** Verifies an answer as it will be verified when it is consumed, and stores it. @param message a denial's, to the model */
export async function acceptGrant(grant: Grant, deps: AnswerDeps & CounterCheck, message?: string): Promise<AnswerResult> {
  const { payload } = grant;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const record = await withWait(payload.requestId, deps.requests);
    if (!record) return notFound(payload.requestId);
    const [pins, store, now] = [await deps.trustedKeys(), await deps.requests.identity(), deps.clock.now()];
    const expected = { decision: payload.decision, digest: record.digest, requestId: record.id, store, now, pins };
    const verdict = verifyGrant(grant, expected);
    if (!verdict.ok) return flawed(record, grant, verdict.why);
    if (tries === 0 && (await deps.advances?.()) === false) return cloned(record);
    const standing = await standingNow(record, deps);
    const { decision, digest, approver } = payload;
    const refusal = await whyNot(record, { digest, decision, approver, pin: verdict.pin, standing }, deps);
    if (refusal) return refusal;
    const answer = { by: approver, via: deps.via, at: now, display: payload.display };
    const result =
      decision === 'deny' ? await deny(record, { ...answer, ...noted(message) }, deps) : await keep(record, grant, answer, deps);
    if (result !== 'changed') return result;
  }
  return refuse('already_decided', say`others kept answering request ${payload.requestId}; look at it again`);
}

async function deny(record: RequestRecord, decision: RequestDecision, { requests, clock }: AnswerDeps): Promise<AnswerResult> {
  const result = await requests.deny(record.id, decision);
  return result.ok ? done('denied', result.record) : refusedByStore(result, record.id, decision.by, clock.now());
}

async function keep(record: RequestRecord, grant: Grant, decision: RequestDecision, deps: AnswerDeps): Promise<AnswerResult | 'changed'> {
  const seen = record.grants?.length ?? 0;
  const standing = await standingNow({ ...record, grants: [...(record.grants ?? []), grant] }, deps);
  if (!standing.counted.includes(grant)) return countedAlready(record, grant.payload.person);
  const until = standing.isEnough ? { until: standing.end } : {};
  const result = await deps.requests.approve(record.id, grant, { decision, seen, ...until });
  if (!result.ok) return result.why === 'changed' ? 'changed' : refusedByStore(result, record.id, decision.by, deps.clock.now());
  if (!standing.isEnough) return donePartly(result.record, standing);
  const answered = done('approved', record.wait === undefined ? result.record : { ...result.record, wait: record.wait });
  return { ...answered, record: result.record };
}

type Answerer = Omit<AnswerDraft, 'id'> & { readonly standing: Standing };

/** Why this answer could not count; undefined: it can. Anybody who is pinned may deny. */
async function whyNot(record: RequestRecord, answer: Answerer, deps: AnswerDeps): Promise<AnswerResult | undefined> {
  const { digest, decision, approver, pin, standing } = answer;
  if (record.status !== 'pending') return pastAnswering(record, deps.clock.now());
  if (decision === 'deny') return undefined;
  // SECURITY: the record may have been swapped under the dialog; what was on screen is what gets signed.
  if (isTampered(record, digest, deps)) return tampered(record);
  const context = { rules: deps.rules?.() ?? noRules, pins: await deps.trustedKeys(), describe: deps.describe };
  const flaw = ruleFlaw(record, { pin, approver }, context);
  if (flaw)
    return flaw.why === 'self_approval' ? selfApproval(record, approver) : refuse(flaw.why, notApproved(record, flaw.message), record);
  return standing.people.includes(personOf(pin)) ? countedAlready(record, personOf(pin)) : undefined;
}

function isTampered(record: RequestRecord, shown: string | undefined, { clock, via, describe }: AnswerDeps): boolean {
  const isOther = shown !== undefined && shown !== record.digest;
  return isOther || !isIntact(record) || reviewCard(record, { now: clock.now(), via, describe }).tampered;
}

function notApproved({ id }: RequestRecord, why: Message): Message {
  return say`request ${id} is not approved: ${why}`;
}

function countedAlready(record: RequestRecord, person: string): AnswerResult {
  return refuse('counted_already', say`\`${person}\` has approved request ${record.id} already; somebody else has to agree, too`, record);
}

function cloned(record: RequestRecord): AnswerResult {
  return refuse('bad_assertion', say`request ${record.id} is not answered: ${clonedWords}`, record);
}

function flawed(record: RequestRecord, { proof }: Grant, why: GrantFlaw): AnswerResult {
  if (why === 'digest_mismatch') return tampered(record);
  if (why === 'expired') return refuse('challenge_over', say`the answer to request ${record.id} came too late; answer again`, record);
  if (why === 'other_store')
    return refuse('other_store', say`the store was replaced while request ${record.id} was being answered; nothing is approved`, record);
  return why === 'bad_signature' && proof.kind === 'passkey'
    ? refuse('bad_assertion', say`request ${record.id} is not approved: the signature does not fit`, record)
    : keyNotTrusted(record);
}

/** How far a request's approvals go, as things are. */
export async function standingNow(
  record: RequestRecord,
  {
    requests,
    clock,
    trustedKeys,
    rules,
    describe,
  }: Pick<AnswerDeps, 'clock' | 'trustedKeys' | 'rules' | 'describe'> & { readonly requests: Pick<RequestStore, 'identity'> },
): Promise<Standing> {
  const [pins, store] = await Promise.all([trustedKeys(), requests.identity()]);
  return standingOf(record, { rules: rules?.() ?? noRules, pins, describe, store, now: clock.now() });
}

/** Whether anybody waits matters while an answer is possible. What cannot be read of it is as if nobody did. */
export async function withWait(id: string, requests: Pick<RequestStore, 'get' | 'waitOf'>): Promise<RequestRecord | undefined> {
  const record = await requests.get(id);
  if (record?.status !== 'pending' || record.reported !== undefined) return record;
  const wait = await requests.waitOf(id).catch(() => undefined);
  return wait === undefined ? record : { ...record, wait };
}

/** As it is stored: well-formed and not too long. */
export function noted(message: string | undefined): Pick<RequestDecision, 'message'> {
  return message === undefined ? {} : { message: message.toWellFormed().slice(0, 2000) };
}
