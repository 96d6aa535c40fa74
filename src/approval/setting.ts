/** Security settings that people sign: the level and the auto-approve rules. */
import { verify } from 'node:crypto';
import type { ApproverKey, Signer } from '#kernel/answer';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { SettingPayload, SignedSetting } from '#kernel/security';
import { importPublicKey, keyIdOf } from './keys.ts';

/** Signs a payload with a person's key. Check the result with `settingFlaw`: a signer from outside may sign nonsense. */
export async function signSetting<Payload extends SettingPayload>(payload: Payload, signer: Signer): Promise<SignedSetting<Payload>> {
  const signature = await signer.sign(messageOf(payload));
  return { payload, keyId: keyIdOf(signer.publicKey) ?? '', signature: Buffer.from(signature).toString('base64url') };
}

export type SettingFlaw = 'untrusted_key' | 'bad_signature';

/**
 * What is wrong with the signature; undefined: nothing. `trustedKeys` are the pinned ones as they are now; empty: nothing verifies.
 * A grant's message has other fields (`requestId`, `digest`), so neither signature is ever good for the other.
 */
export function settingFlaw(setting: SignedSetting, trustedKeys: readonly ApproverKey[]): SettingFlaw | undefined {
  const pinned = trustedKeys.find((trusted) => keyIdOf(trusted.key) === setting.keyId);
  const key = pinned && importPublicKey(pinned.key);
  if (!key) return 'untrusted_key';
  try {
    const { payload, signature } = setting;
    const isSigned = payload.version === 1 && verify(null, messageOf(payload), key, Buffer.from(signature, 'base64url'));
    return isSigned ? undefined : 'bad_signature';
  } catch {
    // A payload without a canonical form was never signed.
    return 'bad_signature';
  }
}

function messageOf(payload: SettingPayload): Uint8Array {
  return Buffer.from(canonicalJson(payload as unknown as JsonObject));
}

/**
 * `settingFlaw` that remembers: rules are looked at for every call, and a thousand signatures take a tenth of a second. What is
 * remembered hangs on the very key, payload and signature, so a key that is pinned no more is not found here either.
 */
export function createSettingVerifier(limit = 4_096): typeof settingFlaw {
  const known = new Map<string, SettingFlaw | undefined>();
  return (setting, trustedKeys) => {
    const pinned = trustedKeys.find((trusted) => keyIdOf(trusted.key) === setting.keyId);
    if (pinned === undefined) return 'untrusted_key';
    const name = JSON.stringify([pinned.key, setting]);
    if (known.has(name)) return known.get(name);
    if (known.size >= limit) known.clear();
    const flaw = settingFlaw(setting, [pinned]);
    known.set(name, flaw);
    return flaw;
  };
}
