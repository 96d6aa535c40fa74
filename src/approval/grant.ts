/** A person's answer as something that can be checked: signed, bound to one digest, short-lived. */
import { randomBytes, verify } from 'node:crypto';
import type { ApproverKey, Signer } from '#kernel/answer';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { type GrantPayload, grantLifeMs, type SignedGrant } from '#kernel/request';
import { importPublicKey, keyIdOf } from './keys.ts';

/** How far two machines' clocks may differ before a fresh grant looks as if it came from the future. */
const clockSkewMs = 60_000;

/** A payload for a new grant: five minutes, with a nonce of its own. */
export function grantPayload(request: { readonly id: string; readonly digest: string }, approver: string, now: number): GrantPayload {
  return {
    version: 1,
    requestId: request.id,
    digest: request.digest,
    approver,
    issuedAt: now,
    expiresAt: now + grantLifeMs,
    nonce: randomBytes(16).toString('base64url'),
  };
}

/** Signs a payload with a person's key. Check the result with `verifyGrant`: a signer from outside may sign nonsense. */
export async function signGrant(payload: GrantPayload, signer: Signer): Promise<SignedGrant> {
  const signature = await signer.sign(messageOf(payload));
  return { payload, keyId: keyIdOf(signer.publicKey) ?? '', signature: Buffer.from(signature).toString('base64url') };
}

/** What a grant has to fit, recomputed by whoever is about to act on it. */
export interface GrantExpectation {
  readonly digest: string;
  readonly requestId: string;
  /** ms since the epoch. */
  readonly now: number;
  /** The pinned keys as they are now. Empty: nothing verifies. */
  readonly trustedKeys: readonly ApproverKey[];
}

export type GrantFlaw = 'bad_signature' | 'untrusted_key' | 'expired' | 'digest_mismatch';
export type GrantVerdict = { readonly ok: true } | { readonly ok: false; readonly why: GrantFlaw };

/**
 * Signature first, then what it says: an unsigned claim is not worth an answer of its own.
 * `digest_mismatch` means it was given to another action, or to the same action in another request.
 */
export function verifyGrant(grant: SignedGrant, expected: GrantExpectation): GrantVerdict {
  const pinned = expected.trustedKeys.find((trusted) => keyIdOf(trusted.key) === grant.keyId);
  const key = pinned && importPublicKey(pinned.key);
  if (!key) return { ok: false, why: 'untrusted_key' };
  if (!isSigned(grant, key)) return { ok: false, why: 'bad_signature' };
  const { payload } = grant;
  if (payload.requestId !== expected.requestId || payload.digest !== expected.digest) return { ok: false, why: 'digest_mismatch' };
  if (!isTimely(payload, expected.now)) return { ok: false, why: 'expired' };
  return { ok: true };
}

function isSigned(grant: SignedGrant, key: NonNullable<ReturnType<typeof importPublicKey>>): boolean {
  try {
    return grant.payload.version === 1 && verify(null, messageOf(grant.payload), key, Buffer.from(grant.signature, 'base64url'));
  } catch {
    // A payload without a canonical form was never signed.
    return false;
  }
}

/** INVARIANT: no grant lives longer than `grantLifeMs`, whatever times it was signed with. */
function isTimely(payload: GrantPayload, now: number): boolean {
  const life = payload.expiresAt - payload.issuedAt;
  return now < payload.expiresAt && life > 0 && life <= grantLifeMs && payload.issuedAt <= now + clockSkewMs;
}

function messageOf(payload: GrantPayload): Uint8Array {
  return Buffer.from(canonicalJson(payload as unknown as JsonObject));
}
