/** What a store can see of a grant without any key. The signature is checked by whoever spends it. */
import { grantLifeMs, type RequestRecord, type SignedGrant } from '#kernel/request';

/** Two machines' clocks may differ by this much, in ms. */
const clockSkewMs = 60_000;

/** undefined where the grant is for this very request, by this person, and neither stale nor long-lived. */
export function grantFlaw(grant: SignedGrant, record: RequestRecord, by: string, now: number): 'mismatch' | 'expired' | undefined {
  const { payload } = grant;
  if (payload.requestId !== record.id || payload.digest !== record.digest || payload.approver !== by) return 'mismatch';
  if (payload.expiresAt > now + grantLifeMs + clockSkewMs) return 'mismatch';
  return payload.expiresAt <= now ? 'expired' : undefined;
}
