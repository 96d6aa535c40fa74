/** Everything a person can do to a request, and what the pipeline may ask about their answer. */
import type { AnswerResult, ApproverKey, Signer } from '#kernel/answer';
import { Fault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Clock } from '#kernel/ports/clock';
import type { RequestPage, RequestQuery, RequestStore, TransitionResult } from '#kernel/ports/request-store';
import { isSelfApproval, type RequestDecision, type RequestRecord } from '#kernel/request';
import type { ReviewCard } from '#kernel/review-card';
import type { SecurityLevel } from '#kernel/tiers';
import { done, keyNotTrusted, notFound, pastAnswering, refusedByStore, selfApproval, tampered } from './answer-words.ts';
import { type DescribeAction, isIntact, reviewCard } from './card.ts';
import { grantPayload, signGrant, verifyGrant } from './grant.ts';
import { importPublicKey, isSameKey } from './keys.ts';
import { createSpender, type SpendResult } from './spend-grant.ts';
import { type WaitOptions, waitForDecision } from './wait-for-decision.ts';

export interface ApprovalsDeps {
  readonly requests: RequestStore;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly clock: Clock;
  /** The keys pinned in machine-scoped configuration, as they are at this moment. Empty: nothing can be approved. */
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
  /** Adds a key to that configuration. Absent: `trust` is refused. */
  readonly pinKey?: (key: ApproverKey) => Promise<void>;
  /** The surface answers come through. */
  readonly via: RequestDecision['via'];
  /** Default `balanced`. */
  readonly level?: () => SecurityLevel;
  readonly describe?: DescribeAction;
}

/** Structurally what `App.approvals` needs, and more for the pipeline. */
export interface ApprovalsCore {
  list(query: RequestQuery): Promise<RequestPage>;
  get(id: string): Promise<RequestRecord | undefined>;
  countPending(): Promise<number>;
  onChange(listener: () => void): () => void;
  card(record: RequestRecord): ReviewCard;
  /** Only after a person's own answer to the card of this request. */
  approve(id: string, signer: Signer): Promise<AnswerResult>;
  deny(id: string, by: string, message?: string): Promise<AnswerResult>;
  /** Takes back an approval that has not been used. */
  revoke(id: string, by: string, message?: string): Promise<AnswerResult>;
  cancel(id: string, by: string): Promise<void>;
  isTrusted(publicKey: string): Promise<boolean>;
  trust(approver: string, publicKey: string): Promise<void>;
  /** `digest` is recomputed by the caller on what is about to run; `ok` means: spent, durably, by this call and no other. */
  spendGrant(id: string, digest: string, by: string): Promise<SpendResult>;
  waitForDecision(id: string, options: WaitOptions): Promise<RequestRecord | undefined>;
}

export function createApprovals(deps: ApprovalsDeps): ApprovalsCore {
  const { requests, clock } = deps;
  const shown = createShownDigests();
  const decision = (by: string, message?: string): RequestDecision => ({
    by,
    via: deps.via,
    at: clock.now(),
    ...(message === undefined ? {} : { message: message.toWellFormed().slice(0, 2000) }),
  });
  const answered = (result: TransitionResult, code: 'denied' | 'revoked', id: string, by: string): AnswerResult =>
    result.ok ? done(code, result.record) : refusedByStore(result, id, by, clock.now());
  return {
    list: (query) => requests.list(query),
    get: (id) => withWait(id, requests),
    countPending: () => requests.countPending(),
    onChange: (listener) => requests.onChange(listener),
    card: (record) => {
      shown.note(record);
      return reviewCard(record, { now: clock.now(), level: deps.level?.() ?? 'balanced', describe: deps.describe });
    },
    approve: (id, signer) => approve(id, signer, shown.digestOf(id), deps),
    deny: async (id, by, message) => answered(await requests.deny(id, decision(by, message)), 'denied', id, by),
    revoke: async (id, by, message) => answered(await requests.revoke(id, decision(by, message)), 'revoked', id, by),
    cancel: async (id, by) => {
      await requests.cancel(id, by);
    },
    isTrusted: async (publicKey) => isPinned(publicKey, await deps.trustedKeys()),
    trust: (approver, publicKey) => trust({ name: approver, key: publicKey }, deps),
    spendGrant: createSpender(deps),
    waitForDecision: (id, options) => waitForDecision(id, options, deps),
  };
}

async function approve(id: string, signer: Signer, shownDigest: string | undefined, deps: ApprovalsDeps): Promise<AnswerResult> {
  const { requests, clock } = deps;
  const record = await withWait(id, requests);
  if (!record) return notFound(id);
  const { wait } = record;
  const trusted = await deps.trustedKeys();
  const refusal = refusalOf(record, signer, trusted, deps);
  if (refusal) return refusal;
  // SECURITY: the record may have been swapped under the dialog; what was on screen is what gets signed.
  if (shownDigest !== undefined && shownDigest !== record.digest) return tampered(record);
  const grant = await signGrant(grantPayload(record, signer.approver, clock.now()), signer);
  const verdict = verifyGrant(grant, { digest: record.digest, requestId: id, now: clock.now(), trustedKeys: trusted });
  if (!verdict.ok) return keyNotTrusted(record);
  const result = await requests.approve(id, grant, { by: signer.approver, via: deps.via, at: clock.now() });
  if (!result.ok) return refusedByStore(result, id, signer.approver, clock.now());
  const answered = done('approved', wait === undefined ? result.record : { ...result.record, wait });
  return { ...answered, record: result.record };
}

/** Whether anybody waits matters while an answer is possible. What cannot be read of it is as if nobody did. */
async function withWait(id: string, requests: RequestStore): Promise<RequestRecord | undefined> {
  const record = await requests.get(id);
  if (record?.status !== 'pending' || record.reported !== undefined) return record;
  const wait = await requests.waitOf(id).catch(() => undefined);
  return wait === undefined ? record : { ...record, wait };
}

function refusalOf(record: RequestRecord, signer: Signer, trusted: readonly ApproverKey[], deps: ApprovalsDeps): AnswerResult | undefined {
  const now = deps.clock.now();
  if (record.status !== 'pending') return pastAnswering(record, now);
  if (!isIntact(record) || reviewCard(record, { now, describe: deps.describe }).tampered) return tampered(record);
  if (isSelfApproval(record.agent, signer.approver)) return selfApproval(record, signer.approver);
  return isPinned(signer.publicKey, trusted) ? undefined : keyNotTrusted(record);
}

function isPinned(publicKey: string, trusted: readonly ApproverKey[]): boolean {
  return trusted.some((pinned) => isSameKey(pinned.key, publicKey));
}

/** Written down before it happens: a key that is trusted without a record of it would be worse than the reverse. */
async function trust(key: ApproverKey, deps: ApprovalsDeps): Promise<void> {
  if (!importPublicKey(key.key))
    throw new Fault('bad_key', 'this is not an `ed25519:` public key', { next: 'check the key and try again' });
  if (!deps.pinKey)
    throw new Fault('cannot_pin', 'keys cannot be trusted from here', { next: 'add the key to `approvers` in the configuration' });
  if (isPinned(key.key, await deps.trustedKeys())) return;
  await deps.audit.append({ name: 'approver.trusted', attributes: { approver: key.name.toWellFormed(), key: key.key, via: deps.via } });
  await deps.pinKey(key);
}

/** What was on screen last, per request; old entries go first. */
function createShownDigests(limit = 1000): { note(record: RequestRecord): void; digestOf(id: string): string | undefined } {
  const digests = new Map<string, string>();
  return {
    note: (record) => {
      digests.delete(record.id);
      digests.set(record.id, record.digest);
      const [oldest] = digests.keys();
      if (digests.size > limit && oldest !== undefined) digests.delete(oldest);
    },
    digestOf: (id) => digests.get(id),
  };
}
