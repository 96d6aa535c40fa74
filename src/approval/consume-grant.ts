/** Turns a person's answer into exactly one run. */

import type { Grant, RequestRecord } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { RequestStore, TransitionResult } from '#kernel/ports/request-store';
import { english } from '#kernel/text/message';
import { type AnswerDeps, standingNow } from './accept-grant.ts';
import { isIntact } from './card.ts';
import type { GrantFlaw } from './grant.ts';
import { outsideWords, type RuleFlaw, type Standing } from './rules.ts';

export type ConsumeFlaw = GrantFlaw | RuleFlaw | 'not_approved' | 'not_enough' | 'grant_used';
export type ConsumeResult =
  | { readonly ok: true; readonly record: RequestRecord }
  | { readonly ok: false; readonly why: ConsumeFlaw; readonly message: string; readonly record?: RequestRecord };

export interface ConsumeDeps extends Pick<AnswerDeps, 'clock' | 'trustedKeys' | 'rules' | 'describe'> {
  readonly requests: Pick<RequestStore, 'get' | 'consume' | 'identity'>;
}

const words: Record<ConsumeFlaw, string> = {
  not_approved: 'nobody approved this call; wait for a person, then call check_request_status',
  not_enough:
    'fewer people than are needed still stand behind this approval (one of their keys was revoked, or the rules changed); ask again',
  grant_used: 'the approval was worth one call and has been used; ask again',
  expired: 'the approval ran out before it was used; ask again',
  digest_mismatch: 'a person approved something else than what would run now; ask again with these arguments',
  bad_signature: 'the approval in the store was not signed by an approver, so it is worth nothing; tell the person who runs this machine',
  untrusted_key:
    'the approval was signed with a key that is not trusted here; a person has to trust that key, or revoke the approval and approve anew',
  other_store:
    'the approval was given in another store than this one: the state directory was copied, swapped or linked; tell the person who runs this machine, then ask again',
  self_approval: 'the one who asked approved it, which does not count; somebody else has to',
  needs_outside: `${english(outsideWords)}; ask again`,
  not_allowed: 'who approved this may not approve such a call here; ask again, and another person has to answer',
};

/**
 * A consumer with a memory: nonces it has consumed stay consumed for the life of the process, even if the store's file is put back to an
 * earlier copy. Across processes the store's own compare-and-set and its audit trail hold.
 */
export function createConsumer(deps: ConsumeDeps): (id: string, digest: string, by: string) => Promise<ConsumeResult> {
  const consumed = new Map<string, number>();
  return async (id, digest, by) => {
    const record = await deps.requests.get(id);
    if (!record) return refuse('not_approved', record);
    const standing = await standingNow(record, deps);
    const flaw = flawOf(record, digest, { standing, now: deps.clock.now() });
    if (flaw !== undefined) return refuse(flaw, record);
    if (!remember(consumed, standing, deps.clock.now())) return refuse('grant_used', record);
    // SECURITY: verified above and consumed below are two steps; the store compares status and digest again inside its transaction.
    const result = await consumeOnce(id, { digest, by }, standing.counted);
    return result.ok ? result : refuse(flawOfStore(result), result.record);
  };

  async function consumeOnce(
    id: string,
    { digest, by }: { digest: string; by: string },
    grants: readonly Grant[],
  ): Promise<TransitionResult> {
    try {
      return await deps.requests.consume(id, digest, by);
    } catch (thrown) {
      // A busy store never began the transaction. After any other fault nobody knows, and asking again is cheaper than a second run.
      if (thrown instanceof Fault && thrown.code === 'store_busy') for (const { payload } of grants) consumed.delete(payload.nonce);
      throw thrown;
    }
  }
}

/** What is wrong with using this record for this digest; undefined: nothing. */
function flawOf(
  record: RequestRecord,
  digest: string,
  { standing, now }: { readonly standing: Standing; readonly now: number },
): ConsumeFlaw | undefined {
  const state = flawOfStatus(record);
  if (state) return state;
  // SECURITY: a person who settled a report agreed to no call, whatever a draft of the same id and digest says.
  if (record.reported !== undefined) return 'not_approved';
  if (record.digest !== digest || !isIntact(record)) return 'digest_mismatch';
  if (!standing.isEnough) return standing.flaw ?? (standing.people.length > 0 ? 'not_enough' : 'not_approved');
  return now < standing.end ? undefined : 'expired';
}

function flawOfStatus(record: RequestRecord): ConsumeFlaw | undefined {
  if (record.status === 'consumed') return 'grant_used';
  if (record.status === 'expired') return 'expired';
  return record.status === 'approved' ? undefined : 'not_approved';
}

function flawOfStore(result: Extract<TransitionResult, { ok: false }>): ConsumeFlaw {
  if (result.why === 'expired') return 'expired';
  if (result.why === 'mismatch') return 'digest_mismatch';
  return result.record?.status === 'consumed' ? 'grant_used' : 'not_approved';
}

/** False where this process has tried one of these nonces before. */
function remember(consumed: Map<string, number>, { counted, end }: Standing, now: number): boolean {
  for (const [nonce, until] of consumed) if (until <= now) consumed.delete(nonce);
  if (counted.some(({ payload }) => consumed.has(payload.nonce))) return false;
  for (const { payload } of counted) consumed.set(payload.nonce, Math.max(end, payload.expiresAt));
  return true;
}

function refuse(why: ConsumeFlaw, record: RequestRecord | undefined): ConsumeResult {
  return { ok: false, why, message: words[why], ...(record ? { record } : {}) };
}
