/** Everything a person can do to a request, and what the pipeline may ask about their answer. */

import type { Approvals } from '#kernel/app';
import type { AnswerResult, ApproverKey, Signer } from '#kernel/approval/answer';
import type { RequestDecision, RequestRecord } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Clock } from '#kernel/ports/clock';
import type { RequestStore, TransitionResult } from '#kernel/ports/request-store';
import type { SecurityLevel } from '#kernel/tiers';
import { type AnswerDeps, approveWith, noted, standingNow, withWait } from './accept-grant.ts';
import { done, refusedByStore } from './answer-words.ts';
import { reviewCard } from './card.ts';
import { type ConsumeResult, createConsumer } from './consume-grant.ts';
import { importPublicKey, isSameKey } from './keys.ts';
import { type WaitOptions, waitForDecision } from './wait-for-decision.ts';

export interface ApprovalsDeps extends AnswerDeps {
  readonly requests: RequestStore;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly clock: Clock;
  /** Adds a key to that configuration. Absent: `trust` is refused. */
  readonly pinKey?: (key: ApproverKey, signer: Signer) => Promise<void>;
  /** @throws {Fault} `needs_approver` where the signer cannot pin itself, since others count already */
  readonly mayPin?: (key: ApproverKey) => Promise<void>;
  /** The surface answers come through. */
  readonly via: RequestDecision['via'];
  /** Default `balanced`. */
  readonly level?: () => SecurityLevel;
}

/** What a call may do about its own request. */
export interface CallApprovals extends Pick<RequestStore, 'open'> {
  /** `digest` is recomputed by the caller on what is about to run; `ok` means: consumed, durably, by this call and no other. */
  consume(id: string, digest: string, by: string): Promise<ConsumeResult>;
  waitForDecision(id: string, options: WaitOptions): Promise<RequestRecord | undefined>;
}

export function createApprovals(deps: ApprovalsDeps): Approvals & CallApprovals {
  const { requests, clock } = deps;
  const shown = createShownDigests();
  const decision = (by: string, message?: string): RequestDecision => ({
    by,
    via: deps.via,
    at: clock.now(),
    ...noted(message),
  });
  const answered = (result: TransitionResult, code: 'denied' | 'revoked', id: string, by: string): AnswerResult =>
    result.ok ? done(code, result.record) : refusedByStore(result, id, by, clock.now());
  return {
    list: (query) => requests.list(query),
    get: (id) => withWait(id, requests),
    countPending: () => requests.countPending(),
    onChange: (listener) => requests.onChange(listener),
    card: async (id, hide) => {
      const found = await withWait(id, requests);
      if (found === undefined) return undefined;
      const record = hide === undefined ? found : withoutPattern(found);
      shown.note(record);
      const options = { now: clock.now(), level: deps.level?.() ?? 'balanced', via: deps.via, describe: deps.describe };
      return reviewCard(record, { ...options, progress: await standingNow(record, deps) });
    },
    approve: (id, signer) => approveWith(signer, { id, digest: shown.digestOf(id) }, deps),
    deny: async (id, by, message) => answered(await requests.deny(id, decision(by, message)), 'denied', id, by),
    revoke: async (id, by, message) => answered(await requests.revoke(id, decision(by, message)), 'revoked', id, by),
    cancel: async (id, by) => {
      await requests.cancel(id, by);
    },
    isTrusted: async (publicKey) => isPinned(publicKey, await deps.trustedKeys()),
    trust: (signer) => trust({ name: signer.approver, key: signer.publicKey, kind: 'window' }, signer, deps),
    open: (draft) => requests.open(draft),
    consume: createConsumer(deps),
    waitForDecision: (id, options) => waitForDecision(id, options, deps),
  };
}

/** What a detector matched may be a secret. */
function withoutPattern(record: RequestRecord): RequestRecord {
  if (record.reported === undefined) return record;
  const { reason, destination } = record.reported;
  return { ...record, reported: { reason, destination } };
}

function isPinned(publicKey: string, trusted: readonly ApproverKey[]): boolean {
  return trusted.some((pinned) => isSameKey(pinned.key, publicKey));
}

/** Written down before it happens: a key that is trusted without a record of it would be worse than the reverse. */
async function trust(key: ApproverKey, signer: Signer, deps: ApprovalsDeps): Promise<void> {
  if (!importPublicKey(key.key))
    throw new Fault('bad_key', 'this is not an `ed25519:` public key', { next: 'check the key and try again' });
  if (!deps.pinKey)
    throw new Fault('cannot_pin', 'keys cannot be trusted from here', { next: 'add the key to `approvers` in the configuration' });
  if (isPinned(key.key, await deps.trustedKeys())) return;
  await deps.mayPin?.(key);
  await deps.audit.append({ name: 'approver.trusted', attributes: { approver: key.name.toWellFormed(), key: key.key, via: deps.via } });
  await deps.pinKey(key, signer);
}

const mostShown = 1000;

/** What was on screen last, per request; old entries go first. */
function createShownDigests(): { note(record: RequestRecord): void; digestOf(id: string): string | undefined } {
  const digests = new Map<string, string>();
  return {
    note: (record) => {
      digests.delete(record.id);
      digests.set(record.id, record.digest);
      const [oldest] = digests.keys();
      if (digests.size > mostShown && oldest !== undefined) digests.delete(oldest);
    },
    digestOf: (id) => digests.get(id),
  };
}
