/** A person's answer: who signs it, and what came of it. */
import type { RequestRecord } from './request.ts';

/** A key that was pinned in machine-scoped configuration. `key` is `ed25519:` + base64url of the 32 raw bytes. */
export interface ApproverKey {
  readonly name: string;
  readonly key: string;
}

/** Signs for a person. The private key stays with whoever implements it (SecretStorage, an encrypted file). */
export interface Signer {
  /** Who: `user:alice`. */
  readonly approver: string;
  /** `ed25519:` + base64url of the 32 raw bytes. */
  readonly publicKey: string;
  sign(message: Uint8Array): Promise<Uint8Array>;
}

export type AnswerCode =
  | 'approved'
  | 'denied'
  | 'cancelled'
  | 'revoked'
  | 'already_decided'
  | 'expired'
  | 'not_found'
  | 'tampered'
  | 'self_approval'
  | 'key_not_trusted';

/** What came of an answer, in words for the person who gave it. */
export interface AnswerResult {
  readonly ok: boolean;
  readonly code: AnswerCode;
  readonly message: string;
  readonly record?: RequestRecord;
}
