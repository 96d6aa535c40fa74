/** Answering and enrolling with a passkey, as the approval page needs it (WebAuthn: https://www.w3.org/TR/webauthn-3/). */
import * as z from 'zod';
import type { AutoApproveRule, EffectiveLevel, SettingResult } from '../app.ts';
import type { Message } from '../text/message.ts';
import { securityLevels } from '../tiers.ts';
import type { AnswerResult } from './answer.ts';
import { requestIdPattern } from './request.ts';
import { autoApproveActions, type Display, maxRuleLifeMs } from './security.ts';

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
  /** The same, for each reader's language. */
  readonly words: Message;
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

const changeSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('level'), level: z.enum(securityLevels) }),
  z.strictObject({
    kind: z.literal('rule'),
    pattern: z.string().max(300),
    action: z.enum(autoApproveActions),
    lifeMs: z.int().positive().max(maxRuleLifeMs),
  }),
  z.strictObject({ kind: z.literal('remove_rule'), pattern: z.string().max(300) }),
  z.strictObject({ kind: z.literal('resume') }),
]);

/** What a person may change for everyone on the same store. */
export type SettingChange = z.output<typeof changeSchema>;

/** Or agree to: what waits in the configuration, as it was shown; that a paused plan goes on. */
export type PageChange =
  | SettingChange
  | { readonly kind: 'agree'; readonly shown: readonly string[] }
  | { readonly kind: 'resume_plan'; readonly plan: string };

const agreeSchema = z.strictObject({ kind: z.literal('agree'), shown: z.array(z.string().max(4_000)).max(200) });

const resumePlanSchema = z.strictObject({ kind: z.literal('resume_plan'), plan: z.string().regex(requestIdPattern) });

/** undefined where it is none. */
export function parsePageChange(value: unknown): PageChange | undefined {
  return z.union([changeSchema, agreeSchema, resumePlanSchema]).safeParse(value).data;
}

/** What the page shows of the settings that people share. */
export interface SharedView {
  readonly level: EffectiveLevel;
  readonly rules: readonly AutoApproveRule[];
  /** Absent where only an administrator can write the configuration. */
  readonly configuration?: {
    /** What does not count before a person agreed to it, in words. */
    readonly waiting: readonly string[];
    /** Nobody has agreed to anything yet, so that it counts whoever wrote it. */
    readonly isNew: boolean;
  };
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
  settings(): Promise<SharedView>;
  /** Refused at once where the change could not count. @param approver the pin's name */
  beginChange(change: PageChange, approver: string): Promise<Begun<RequestOptions> | SettingResult>;
  /** @param assertion outside input: `PasskeyAssertion` */
  finishChange(assertion: unknown): Promise<SettingResult>;
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
