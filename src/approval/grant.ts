/** A person's answer as something that can be checked: signed, bound to one digest in one store, short-lived. */
import { randomBytes } from 'node:crypto';
import type { ApproverKey } from '#kernel/approval/answer';
import { type Grant, type GrantPayload, grantLifeMs, type RequestRecord, requestLifeMs } from '#kernel/approval/request';
import type { Display } from '#kernel/approval/security';
import { pinOf, type SignatureFlaw, signatureFlaw } from './signed.ts';

/** How far two machines' clocks may differ before a fresh grant looks as if it came from the future. */
const clockSkewMs = 60_000;

export interface GrantDraft {
  readonly request: Pick<RequestRecord, 'id' | 'digest' | 'expiresAt'>;
  readonly decision: GrantPayload['decision'];
  /** `user:alice-phone`. */
  readonly approver: string;
  readonly pin: ApproverKey;
  readonly store: string;
  readonly now: number;
  /** Others have to agree, too: then it waits for them as long as the request does. */
  readonly waits: boolean;
}

/** A payload for a new grant, with a nonce of its own. */
export function grantPayload({ request, decision, approver, pin, store, now, waits }: GrantDraft): GrantPayload {
  return {
    version: 2,
    purpose: 'answer_request',
    requestId: request.id,
    decision,
    digest: request.digest,
    approver,
    person: personOf(pin),
    display: displayOf(pin),
    store,
    issuedAt: now,
    expiresAt: waits ? Math.max(request.expiresAt, now + 1) : now + grantLifeMs,
    nonce: randomBytes(32).toString('base64url'),
  };
}

/** Who is counted. Spelled alike, so that `Alice` and `alice` are not two people. */
export function personOf({ person, name }: Pick<ApproverKey, 'name' | 'person'>): string {
  return (person ?? name.replace(/^user:/, '')).normalize('NFKC').trim().toLowerCase();
}

/** A window's and a terminal's key are used inside the account, whoever has them. */
export function displayOf({ passkey }: Pick<ApproverKey, 'passkey'>): Display {
  return passkey?.display ?? 'same-account';
}

/** What a grant has to fit, recomputed by whoever is about to act on it. */
export interface GrantExpectation {
  readonly decision: GrantPayload['decision'];
  readonly digest: string;
  readonly requestId: string;
  readonly store: string;
  /** ms since the epoch. */
  readonly now: number;
  /** The pinned keys as they are now. Empty: nothing verifies. */
  readonly pins: readonly ApproverKey[];
}

export type GrantFlaw = SignatureFlaw | 'expired' | 'digest_mismatch' | 'other_store';
/** `pin`: the key that made it. */
export type GrantVerdict = { readonly ok: true; readonly pin: ApproverKey } | { readonly ok: false; readonly why: GrantFlaw };

/**
 * Signature first, then what it says: an unsigned claim is not worth an answer of its own.
 * `digest_mismatch` means it was given to another action, or to the same action in another request, or was another answer.
 */
export function verifyGrant(grant: Grant, expected: GrantExpectation): GrantVerdict {
  const refuse = (why: GrantFlaw) => ({ ok: false, why }) as const;
  const { payload, proof } = grant;
  const pin = pinOf(proof, expected.pins);
  if (pin === undefined) return refuse('untrusted_key');
  if (!isGrant(payload) || signatureFlaw(grant, [pin]) !== undefined) return refuse('bad_signature');
  // SECURITY: who is counted and which display it was is what the pin says now, not what was signed under another pin.
  if (payload.person !== personOf(pin) || payload.display !== displayOf(pin)) return refuse('untrusted_key');
  if (!isFor(payload, expected)) return refuse('digest_mismatch');
  if (payload.store !== expected.store) return refuse('other_store');
  return isTimely(payload, expected.now) ? { ok: true, pin } : refuse('expired');
}

/** A row may hold anything. */
function isGrant({ version, purpose }: GrantPayload): boolean {
  return version === 2 && purpose === 'answer_request';
}

function isFor(payload: GrantPayload, expected: GrantExpectation): boolean {
  return payload.requestId === expected.requestId && payload.digest === expected.digest && payload.decision === expected.decision;
}

/** INVARIANT: no grant lives longer than a request, whatever times it was signed with; how long several are good together says `grantsEnd`. */
function isTimely(payload: GrantPayload, now: number): boolean {
  const life = payload.expiresAt - payload.issuedAt;
  return now < payload.expiresAt && life > 0 && life <= requestLifeMs && payload.issuedAt <= now + clockSkewMs;
}
