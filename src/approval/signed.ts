/** Signing, verifying, and whose key it was: the same for grants, settings and the agreed configuration. */
import { verify } from 'node:crypto';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { Proof, Signed } from '#kernel/approval/proof';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { listed } from '#kernel/text/message';
import { importPublicKey, keyIdOf } from './keys.ts';
import { assertionFlaw, challengeOf } from './passkey.ts';

/** With a window's or a terminal's key. Check the result with `signatureFlaw`: a signer from outside may sign nonsense. */
export async function signPayload<Payload extends object>(payload: Payload, signer: Signer): Promise<Signed<Payload>> {
  const signature = await signer.sign(messageOf(payload));
  const proof = {
    kind: 'ed25519',
    keyId: keyIdOf(signer.publicKey) ?? '',
    signature: Buffer.from(signature).toString('base64url'),
  } as const;
  return { payload, proof };
}

/** The pinned key that a proof names; that it made the proof says `signatureFlaw`. SECURITY: a passkey is found by its credential alone, whatever its key is spelled like. */
export function pinOf(proof: Proof, pins: readonly ApproverKey[]): ApproverKey | undefined {
  if (proof.kind === 'passkey') return pins.find(({ passkey }) => passkey?.id === proof.credentialId);
  return pins.find((pin) => pin.passkey === undefined && keyIdOf(pin.key) === proof.keyId);
}

export type SignatureFlaw = 'untrusted_key' | 'bad_signature';

/**
 * What is wrong with the signature; undefined: nothing. `pins` are the pinned keys as they are now; empty: nothing verifies.
 * SECURITY: the payloads of grants, settings and agreements differ in their fields, so no signature is ever good for another kind.
 */
export function signatureFlaw({ payload, proof }: Signed<object>, pins: readonly ApproverKey[]): SignatureFlaw | undefined {
  const pin = pinOf(proof, pins);
  if (pin === undefined) return 'untrusted_key';
  try {
    return isSigned(payload, proof, pin) ? undefined : 'bad_signature';
  } catch {
    // A payload without a canonical form was never signed.
    return 'bad_signature';
  }
}

function isSigned(payload: object, proof: Proof, pin: ApproverKey): boolean {
  if (proof.kind === 'passkey') {
    const { credentialId, kind: _, ...response } = proof;
    return assertionFlaw({ id: credentialId, response }, pin, challengeOf(payload)) === undefined;
  }
  const key = importPublicKey(pin.key);
  return key !== undefined && verify(null, messageOf(payload), key, Buffer.from(proof.signature, 'base64url'));
}

function messageOf(payload: object): Uint8Array {
  return Buffer.from(canonicalJson(payload as JsonObject));
}

/** What makes anything looser needs a key that programs of the agents' account cannot use by themselves, once there is one. */
export type LoosenFlaw = 'window_key' | 'same_display';

/** Why this key makes no level lower and sets no rule that allows. */
export function loosenFlaw(pin: ApproverKey, pins: readonly ApproverKey[]): Extract<LoosenFlaw, 'window_key'> | undefined {
  return isWindowKey(pin) && hasPasskey(pins) ? 'window_key' : undefined;
}

/** Why this key agrees to no configuration: who approves, what is protected and where tokens go stand in it, so a passkey has to have shown it outside the account where one does. */
export function agreeFlaw(pin: ApproverKey, pins: readonly ApproverKey[]): LoosenFlaw | undefined {
  const isInside = pin.passkey?.display === 'same-account';
  if (isInside && pins.some(({ passkey }) => passkey?.display === 'outside')) return 'same_display';
  return loosenFlaw(pin, pins);
}

export const loosenWords: Readonly<Record<LoosenFlaw, string>> = {
  window_key: listed('a passkey is pinned, so the key of a window makes nothing looser any more'),
  same_display: listed(
    'a passkey outside the agents’ account is pinned, and only such a one agrees to what stands in the configuration: a browser inside it can be made to show something else',
  ),
};

export function isWindowKey({ passkey, kind }: ApproverKey): boolean {
  return passkey === undefined && kind !== 'terminal';
}

export function hasPasskey(pins: readonly ApproverKey[]): boolean {
  return pins.some(({ passkey }) => passkey !== undefined);
}
