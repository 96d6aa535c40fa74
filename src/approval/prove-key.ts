/** Whether somebody holds the private half of a pinned key: public keys are public. */
import { randomBytes, verify } from 'node:crypto';
import type { ApproverKey, Signer } from '#kernel/answer';
import { canonicalJson } from '#kernel/json';
import { importPublicKey, isSameKey } from './keys.ts';

/** Signs something that is neither a grant nor a setting, with a nonce of its own. False for a signer that fails or is not pinned. */
export async function provesKey(signer: Signer, trustedKeys: readonly ApproverKey[]): Promise<boolean> {
  const pinned = trustedKeys.find((trusted) => isSameKey(trusted.key, signer.publicKey));
  const key = pinned && importPublicKey(pinned.key);
  if (!key) return false;
  const message = Buffer.from(canonicalJson({ version: 1, proof: randomBytes(16).toString('base64url'), approver: signer.approver }));
  return verify(null, message, key, await signer.sign(message));
}
