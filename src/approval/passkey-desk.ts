/** Where people answer with a passkey: challenges that are good once, and the answers to them. */

import type { SettingResult } from '#kernel/app';
import type { AnswerResult, ApproverKey } from '#kernel/approval/answer';
import {
  type Begun,
  type PageChange,
  type PasskeyApprover,
  type PasskeyAsk,
  type PasskeyDesk,
  parseAssertion,
  type RequestOptions,
} from '#kernel/approval/passkey';
import type { Proof, Signed } from '#kernel/approval/proof';
import type { GrantPayload } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { RequestStore } from '#kernel/ports/request-store';
import { type Message, say, told } from '#kernel/text/message';
import { type AnswerDeps, acceptGrant, prepareAnswer } from './accept-grant.ts';
import { clonedWords, refuse } from './answer-words.ts';
import { displayOf, personOf } from './grant.ts';
import { challengeOf, claimedChallenge, counterOf, isPageOrigin, passkeyFingerprint } from './passkey.ts';
import { signatureFlaw } from './signed.ts';

/** What can be changed with a passkey, besides answering requests. */
export interface Changes extends Pick<PasskeyDesk, 'settings'> {
  /** What is to be signed, or why it could not count. */
  draft(
    change: PageChange,
    pin: ApproverKey,
  ): Promise<{ readonly ok: true; readonly payload: object } | { readonly ok: false; readonly refusal: SettingResult }>;
  /** Verifies what was signed, and carries it out. */
  accept(signed: Signed<object>): Promise<SettingResult>;
}

export interface AnswerDeskDeps extends AnswerDeps {
  readonly requests: AnswerDeps['requests'] & Pick<RequestStore, 'advanceCounter'>;
}

/** How long a person may take to find their key, in ms; a grant lives on from when its challenge was made. */
const challengeLifeMs = 120_000;
/** Somebody who asks for more drops the oldest. */
const mostChallenges = 500;

/**
 * SECURITY: whoever reaches the page may ask for a challenge. It is worth nothing without the passkey's answer, is good once, and is forgotten
 * when the process ends.
 * @throws {Fault} `bad_origin`
 */
export function createAnswerDesk(
  origin: string,
  deps: AnswerDeskDeps,
): Pick<PasskeyDesk, 'origin' | 'approvers' | 'beginAnswer' | 'finishAnswer'> {
  if (!isPageOrigin(origin))
    throw new Fault('bad_origin', say`\`${origin}\` is no place for passkeys`, { next: 'use an https name, or `http://localhost`' });
  const answers = createChallenges<Answer>(origin, deps);
  return {
    origin,
    approvers: async () => (await pinsOf(origin, deps)).map(approverOf),
    beginAnswer: async (ask) => {
      const pin = await pinNamed(ask.approver, origin, deps);
      if (pin?.passkey === undefined) return notPinned(ask);
      const draft = { id: ask.requestId, digest: ask.digest, decision: ask.decision, approver: approverName(pin), pin };
      const prepared = await prepareAnswer(draft, deps);
      if (!prepared.ok) return prepared.refusal;
      const { payload } = prepared;
      return answers.begin({ payload, message: ask.message }, { ...pin.passkey, payload, until: payload.expiresAt });
    },
    finishAnswer: async (value) => {
      const taken = answers.take(value);
      if (!taken.ok) return refuse(taken.code, say`${taken.words}; look at the request and answer again`);
      const { begun, proof, counter } = taken;
      const grant = { payload: begun.payload, proof };
      return acceptGrant(grant, { ...deps, advances: () => deps.requests.advanceCounter(proof.credentialId, counter) }, begun.message);
    },
  };
}

/** Where they change what they share, likewise. */
export function createChangeDesk(
  origin: string,
  deps: Pick<AnswerDeskDeps, 'clock' | 'trustedKeys' | 'requests'> & { readonly changes: Changes },
): Pick<PasskeyDesk, 'settings' | 'beginChange' | 'finishChange'> {
  const changes = createChallenges<object>(origin, deps);
  return {
    settings: () => deps.changes.settings(),
    beginChange: async (change, approver) => {
      const pin = await pinNamed(approver, origin, deps);
      if (pin?.passkey === undefined)
        return { ok: false, code: 'key_not_trusted', ...told(say`nothing was changed: this passkey is not pinned here (any more)`) };
      const drafted = await deps.changes.draft(change, pin);
      if (!drafted.ok) return drafted.refusal;
      const { payload } = drafted;
      return changes.begin(payload, { ...pin.passkey, payload, until: deps.clock.now() + challengeLifeMs });
    },
    finishChange: async (value) => {
      const taken = changes.take(value);
      if (!taken.ok) return { ok: false, code: taken.code, ...told(say`nothing was changed: ${taken.words}; try again`) };
      const { begun, proof, counter } = taken;
      const signed = { payload: begun, proof };
      if (signatureFlaw(signed, await pinsOf(origin, deps)) !== undefined)
        return {
          ok: false,
          code: 'bad_assertion',
          ...told(say`nothing was changed: the signature does not fit, or the passkey is not pinned any more`),
        };
      if (!(await deps.requests.advanceCounter(proof.credentialId, counter)))
        return { ok: false, code: 'bad_assertion', ...told(say`nothing was changed: ${clonedWords}`) };
      return deps.changes.accept(signed);
    },
  };
}

function approverName({ name }: ApproverKey): string {
  return name.startsWith('user:') ? name : `user:${name}`;
}

async function pinNamed(name: string, origin: string, deps: Pick<AnswerDeps, 'trustedKeys'>): Promise<ApproverKey | undefined> {
  return (await pinsOf(origin, deps)).find((pin) => pin.name === name);
}

async function pinsOf(origin: string, { trustedKeys }: Pick<AnswerDeps, 'trustedKeys'>): Promise<readonly ApproverKey[]> {
  return (await trustedKeys()).filter(({ passkey }) => passkey?.origin === origin);
}

function approverOf(pin: ApproverKey): PasskeyApprover {
  const { name, passkey } = pin;
  return {
    name,
    person: personOf(pin),
    display: displayOf(pin),
    fingerprint: passkeyFingerprint(pin),
    enrolledAt: passkey?.enrolledAt ?? '',
    ...(passkey?.device === undefined ? {} : { device: passkey.device }),
  };
}

function notPinned({ requestId }: PasskeyAsk): AnswerResult {
  return refuse('key_not_trusted', say`request ${requestId} is not answered: this passkey is not pinned here (any more)`);
}

interface Answer {
  readonly payload: GrantPayload;
  readonly message: string | undefined;
}

type Taken<Work> =
  | { readonly ok: true; readonly begun: Work; readonly proof: Extract<Proof, { readonly kind: 'passkey' }>; readonly counter: number }
  | { readonly ok: false; readonly code: 'bad_assertion' | 'challenge_over'; readonly words: Message };

interface Asked {
  /** Of the credential. */
  readonly id: string;
  readonly payload: object;
  /** ms since the epoch */
  readonly until: number;
}

function createChallenges<Work>(origin: string, { clock }: Pick<AnswerDeps, 'clock'>) {
  const rpId = new URL(origin).hostname;
  const waiting = new Map<string, { readonly begun: Work; readonly until: number }>();
  return {
    begin: (begun: Work, { id, payload, until: end }: Asked): Begun<RequestOptions> => {
      const now = clock.now();
      const until = Math.min(end, now + challengeLifeMs);
      for (const [known, { until: over }] of waiting) if (over <= now || waiting.size >= mostChallenges) waiting.delete(known);
      const challenge = challengeOf(payload);
      waiting.set(challenge, { begun, until });
      const allowCredentials = [{ type: 'public-key', id }] as const;
      const options = { challenge, rpId, allowCredentials, userVerification: 'required', timeout: challengeLifeMs } as const;
      return { ok: true, options, expiresAt: until };
    },
    /** Once, whatever comes of it. @param value outside input */
    take: (value: unknown): Taken<Work> => {
      const assertion = parseAssertion(value);
      const challenge = assertion && claimedChallenge(assertion);
      if (assertion === undefined || challenge === undefined)
        return { ok: false, code: 'bad_assertion', words: say`this is no passkey’s answer` };
      const found = waiting.get(challenge);
      waiting.delete(challenge);
      if (found === undefined || clock.now() >= found.until)
        return { ok: false, code: 'challenge_over', words: say`this answer came too late, or was given already` };
      const { clientDataJSON, authenticatorData, signature } = assertion.response;
      const proof = { kind: 'passkey', credentialId: assertion.id, clientDataJSON, authenticatorData, signature } as const;
      return { ok: true, begun: found.begun, proof, counter: counterOf(assertion) };
    },
  };
}
