/** Answering and enrolling with a passkey, as the approval page needs it (WebAuthn: https://www.w3.org/TR/webauthn-3/). */
import * as z from 'zod';
import type { AnswerResult } from './answer.ts';
import type { Display } from './security.ts';

/** The most that anything from a browser may have, in characters. */
const base64url = z.string().min(1).max(4_096);
const assertionSchema = z.object({
  id: base64url,
  response: z.object({ clientDataJSON: base64url, authenticatorData: base64url, signature: base64url }),
});
const credentialSchema = z.object({ id: base64url, response: z.object({ clientDataJSON: base64url, authenticatorData: base64url }) });

/** `credential.toJSON()` of `navigator.credentials.get`, as far as it counts. All base64url. */
export type PasskeyAssertion = z.output<typeof assertionSchema>;

/** `credential.toJSON()` of `navigator.credentials.create`, as far as it counts. All base64url. */
export type NewCredential = z.output<typeof credentialSchema>;

/** undefined where it is none. What else a browser sends along is left out. */
export function parseAssertion(value: unknown): PasskeyAssertion | undefined {
  return assertionSchema.safeParse(value).data;
}

/** Likewise. */
export function parseNewCredential(value: unknown): NewCredential | undefined {
  return credentialSchema.safeParse(value).data;
}

interface CredentialName {
  readonly type: 'public-key';
  readonly id: string;
}

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
export interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allowCredentials: readonly CredentialName[];
  readonly userVerification: 'required';
  /** In ms. */
  readonly timeout: number;
}

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly pubKeyCredParams: readonly { readonly type: 'public-key'; readonly alg: number }[];
  readonly excludeCredentials: readonly CredentialName[];
  readonly authenticatorSelection: { readonly residentKey: 'preferred'; readonly userVerification: 'required' };
  readonly attestation: 'none';
  /** In ms. */
  readonly timeout: number;
}

/** What a browser is to be asked; good until `expiresAt` (ms since the epoch), and once. */
export interface Begun<Options> {
  readonly ok: true;
  readonly options: Options;
  readonly expiresAt: number;
}

export interface Enrolment {
  readonly name: string;
  readonly person: string;
  readonly display: Display;
}

export interface EnrolRefusal {
  readonly ok: false;
  readonly code: 'no_link' | 'link_expired' | 'link_used' | 'bad_credential' | 'challenge_over';
  readonly message: string;
}

export interface PasskeyAsk {
  readonly requestId: string;
  /** Of the action that was on the card. */
  readonly digest: string;
  readonly decision: 'approve' | 'deny';
  /** The pin's name. */
  readonly approver: string;
  /** A denial's, to the model. */
  readonly message?: string;
}

/** A pinned passkey of this origin. */
export interface PasskeyApprover extends Enrolment {
  /** As both sides showed it when it was enrolled. */
  readonly fingerprint: string;
  readonly enrolledAt: string;
  readonly device?: string;
}

/** One page's, by its exact origin. INVARIANT: no socket of a user's carries any of this. */
export interface PasskeyDesk {
  readonly origin: string;
  /** Those that are pinned at this moment. */
  approvers(): Promise<readonly PasskeyApprover[]>;
  /** Refused at once where the answer could not count. */
  beginAnswer(ask: PasskeyAsk): Promise<Begun<RequestOptions> | AnswerResult>;
  /** @param assertion outside input: `PasskeyAssertion` */
  finishAnswer(assertion: unknown): Promise<AnswerResult>;
  beginEnrol(link: string): Promise<(Begun<CreationOptions> & Enrolment) | EnrolRefusal>;
  /**
   * Pins nothing: whoever made the link compares the fingerprints and does.
   * @param credential outside input: `NewCredential`
   * @param device the browser's own key, kept in the pin
   */
  finishEnrol(
    link: string,
    credential: unknown,
    device?: string,
  ): Promise<{ readonly ok: true; readonly name: string; readonly fingerprint: string } | EnrolRefusal>;
}
