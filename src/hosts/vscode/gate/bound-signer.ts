/** Signers that sign nothing but what a person has seen. */
import type { Signer } from '#kernel/approval/answer';
import type { RequestRecord } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { t } from '../l10n.ts';

/**
 * SECURITY: the store is re-read after the dialog, and whoever can write it could swap the action in between. What is signed is
 * therefore compared with what was shown.
 * @throws {Fault} `changed_while_shown` from `sign`
 */
export function boundSigner(signer: Signer, shown: Pick<RequestRecord, 'id' | 'digest'>): Signer {
  return signerOf(
    signer,
    { requestId: shown.id, digest: shown.digest },
    t('request `{0}` changed while it was shown, so it was not approved; review it again', shown.id),
  );
}

/** A signer for one change of a setting: every key of `change` must be in what is signed. */
export function settingSigner(signer: Signer, change: JsonObject): Signer {
  return signerOf(signer, change, t('what was to be signed is not what was shown, so nothing was changed; try again'));
}

function signerOf(signer: Signer, shown: JsonObject, refusal: string): Signer {
  return {
    approver: signer.approver,
    publicKey: signer.publicKey,
    async sign(message) {
      const payload = parse(message);
      const fits = isJsonObject(payload) && Object.entries(shown).every(([key, value]) => payload[key] === value);
      if (!fits) throw new Fault('changed_while_shown', refusal);
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
