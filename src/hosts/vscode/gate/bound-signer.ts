/** A signer that signs nothing but a grant for the one request that a person has seen. */
import type { Signer } from '#app/app';
import { Fault } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { RequestRecord } from '#kernel/request';

/**
 * SECURITY: the store is re-read after the dialog, and whoever can write it could swap the action in between. What is signed is
 * therefore compared with what was shown.
 * @throws {Fault} `changed_while_shown` from `sign`
 */
export function boundSigner(signer: Signer, shown: Pick<RequestRecord, 'id' | 'digest'>): Signer {
  return {
    approver: signer.approver,
    publicKey: signer.publicKey,
    async sign(message) {
      const payload = parse(message);
      if (!isJsonObject(payload) || payload.requestId !== shown.id || payload.digest !== shown.digest) {
        throw new Fault(
          'changed_while_shown',
          `request \`${shown.id}\` changed while it was shown, so it was not approved; review it again`,
        );
      }
      return signer.sign(message);
    },
  };
}

function parse(message: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(message));
  } catch {
    return undefined;
  }
}
