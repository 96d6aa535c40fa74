/** Turns a person's answer into exactly one run. */
import type { ApproverKey } from '#kernel/answer';
import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { RequestStore, TransitionResult } from '#kernel/ports/request-store';
import { isSelfApproval, type RequestRecord, type SignedGrant } from '#kernel/request';
import { isIntact } from './card.ts';
import { type GrantFlaw, verifyGrant } from './grant.ts';

export type SpendFlaw = GrantFlaw | 'not_approved' | 'already_used';
export type SpendResult =
  | { readonly ok: true; readonly record: RequestRecord }
  | { readonly ok: false; readonly why: SpendFlaw; readonly message: string; readonly record?: RequestRecord };

export interface SpendDeps {
  readonly requests: Pick<RequestStore, 'get' | 'spend'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The pinned keys as they are at this moment. */
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
}

const words: Record<SpendFlaw, string> = {
  not_approved: 'nobody approved this call; wait for a person, then call check_request_status',
  already_used: 'the approval was worth one call and has been used; ask again',
  expired: 'the approval ran out before it was used; ask again',
  digest_mismatch: 'a person approved something else than what would run now; ask again with these arguments',
  bad_signature: 'the approval in the store was not signed by an approver, so it is worth nothing; tell the person who runs this machine',
  untrusted_key:
    'the approval was signed with a key that is not trusted here; a person has to trust that key, or revoke the approval and approve anew',
};

/**
 * A spender with a memory: nonces it has spent stay spent for the life of the process, even if the store's file is put back to an
 * earlier copy. Across processes the store's own compare-and-set and its audit trail hold.
 */
export function createSpender(deps: SpendDeps): (id: string, digest: string, by: string) => Promise<SpendResult> {
  const spent = new Map<string, number>();
  return async (id, digest, by) => {
    const record = await deps.requests.get(id);
    const flaw = record ? await flawOf(record, digest, deps) : 'not_approved';
    if (flaw !== undefined || !record?.grant) return refuse(flaw ?? 'not_approved', record);
    if (!remember(spent, record.grant, deps.clock.now())) return refuse('already_used', record);
    // SECURITY: verified above and spent below are two steps; the store compares status and digest again inside its transaction.
    const result = await spendOnce(id, digest, by, record.grant.payload.nonce);
    return result.ok ? result : refuse(flawOfStore(result), result.record);
  };

  async function spendOnce(id: string, digest: string, by: string, nonce: string): Promise<TransitionResult> {
    try {
      return await deps.requests.spend(id, digest, by);
    } catch (thrown) {
      // A busy store never began the transaction. After any other fault nobody knows, and asking again is cheaper than a second run.
      if (thrown instanceof Fault && thrown.code === 'store_busy') spent.delete(nonce);
      throw thrown;
    }
  }
}

/** What is wrong with using this record for this digest; undefined: nothing. */
async function flawOf(record: RequestRecord, digest: string, deps: SpendDeps): Promise<SpendFlaw | undefined> {
  const state = flawOfStatus(record);
  if (state) return state;
  // SECURITY: a person who settled a report agreed to no call, whatever a draft of the same id and digest says.
  if (record.reported !== undefined) return 'not_approved';
  const { grant } = record;
  if (!grant || isSelfApproval(record.agent, grant.payload.approver)) return 'not_approved';
  if (record.digest !== digest || !isIntact(record)) return 'digest_mismatch';
  const expected = { digest, requestId: record.id, now: deps.clock.now(), trustedKeys: await deps.trustedKeys() };
  const verdict = verifyGrant(grant, expected);
  return verdict.ok ? undefined : verdict.why;
}

function flawOfStatus(record: RequestRecord): SpendFlaw | undefined {
  if (record.status === 'consumed') return 'already_used';
  if (record.status === 'expired') return 'expired';
  return record.status === 'approved' ? undefined : 'not_approved';
}

function flawOfStore(result: Extract<TransitionResult, { ok: false }>): SpendFlaw {
  if (result.why === 'expired') return 'expired';
  if (result.why === 'mismatch') return 'digest_mismatch';
  return result.record?.status === 'consumed' ? 'already_used' : 'not_approved';
}

/** False where this process has tried this nonce before. */
function remember(spent: Map<string, number>, grant: SignedGrant, now: number): boolean {
  for (const [nonce, expiresAt] of spent) if (expiresAt <= now) spent.delete(nonce);
  const { nonce, expiresAt } = grant.payload;
  if (spent.has(nonce)) return false;
  spent.set(nonce, expiresAt);
  return true;
}

function refuse(why: SpendFlaw, record: RequestRecord | undefined): SpendResult {
  return { ok: false, why, message: words[why], ...(record ? { record } : {}) };
}
