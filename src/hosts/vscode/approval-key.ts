/** The key that signs for the person at this window. It never leaves SecretStorage and this process. */

import { generateApproverKey, signerFrom } from '#app/for-hosts';
import type { Signer } from '#kernel/approval/answer';

const secretName = 'approvalKey';

/** The part of the editor's SecretStorage that this needs. */
export interface SecretStore {
  get(key: string): PromiseLike<string | undefined>;
  store(key: string, value: string): PromiseLike<void>;
}

/**
 * This window's signer; its key is made on first use. Read anew each time: windows opened at once may both have made one, and the last one
 * stored counts for all. An unreadable key is replaced: the new one is worth nothing until a person pins it.
 */
export async function readSigner(secrets: SecretStore, approver: string): Promise<Signer> {
  const stored = await secrets.get(secretName);
  const signer = stored === undefined ? undefined : usable(stored, approver);
  if (signer) return signer;
  await secrets.store(secretName, generateApproverKey().privateKey);
  const kept = await secrets.get(secretName);
  if (kept === undefined) throw new Error('the editor keeps no secrets here, so approvals cannot be signed');
  return signerFrom(kept, approver);
}

function usable(privateKey: string, approver: string): Signer | undefined {
  try {
    return signerFrom(privateKey, approver);
  } catch {
    return undefined;
  }
}
