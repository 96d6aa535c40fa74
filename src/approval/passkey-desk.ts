/** Where people answer with a passkey: challenges that are good once, and the answers to them. */
import type { AnswerResult, ApproverKey } from '#kernel/answer';
import { Fault } from '#kernel/errors';
import { type Begun, type PasskeyApprover, type PasskeyAsk, type PasskeyDesk, parseAssertion, type RequestOptions } from '#kernel/passkey';
import type { RequestStore } from '#kernel/ports/request-store';
import type { GrantPayload } from '#kernel/request';
import { type AnswerDeps, acceptGrant, prepareAnswer } from './accept-grant.ts';
import { refuse } from './answer-words.ts';
import { displayOf, personOf } from './grant.ts';
import { challengeOf, claimedChallenge, counterOf, isPageOrigin, passkeyFingerprint } from './passkey.ts';

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
    throw new Fault('bad_origin', `\`${origin}\` is no place for passkeys`, { next: 'use an https name, or `http://localhost`' });
  const waiting = createChallenges(deps);
  return {
    origin,
    approvers: async () => (await pinsOf(origin, deps)).map(approverOf),
    beginAnswer: async (ask) => {
      const pin = (await pinsOf(origin, deps)).find(({ name }) => name === ask.approver);
      if (pin?.passkey === undefined) return notPinned(ask);
      const draft = { id: ask.requestId, digest: ask.digest, decision: ask.decision, approver: approverName(pin), pin };
      const prepared = await prepareAnswer(draft, deps);
      if (!prepared.ok) return prepared.refusal;
      return waiting.begin(prepared.payload, pin.passkey.id, new URL(origin).hostname, ask.message);
    },
    finishAnswer: async (value) => {
      const assertion = parseAssertion(value);
      const challenge = assertion && claimedChallenge(assertion);
      const begun = challenge === undefined ? undefined : waiting.take(challenge);
      if (assertion === undefined || challenge === undefined)
        return refuse('bad_assertion', 'this is no passkey’s answer; nothing was changed');
      if (begun === undefined)
        return refuse('challenge_over', 'this answer came too late, or was given already; look at the request and answer again');
      const { id, response } = assertion;
      const { clientDataJSON, authenticatorData, signature } = response;
      const proof = { kind: 'passkey', credentialId: id, clientDataJSON, authenticatorData, signature } as const;
      return acceptGrant(
        { payload: begun.payload, proof },
        { ...deps, advances: () => deps.requests.advanceCounter(id, counterOf(assertion)) },
        begun.message,
      );
    },
  };
}

function approverName({ name }: ApproverKey): string {
  return name.startsWith('user:') ? name : `user:${name}`;
}

async function pinsOf(origin: string, { trustedKeys }: AnswerDeps): Promise<readonly ApproverKey[]> {
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
  return refuse('key_not_trusted', `request ${requestId} is not answered: this passkey is not pinned here (any more)`);
}

interface Waiting {
  readonly payload: GrantPayload;
  readonly message?: string;
}

function createChallenges({ clock }: Pick<AnswerDeps, 'clock'>) {
  const waiting = new Map<string, Waiting & { readonly until: number }>();
  return {
    begin: (payload: GrantPayload, credentialId: string, rpId: string, message?: string): Begun<RequestOptions> => {
      const now = clock.now();
      const until = Math.min(payload.expiresAt, now + challengeLifeMs);
      for (const [known, { until: end }] of waiting) if (end <= now || waiting.size >= mostChallenges) waiting.delete(known);
      const challenge = challengeOf(payload);
      waiting.set(challenge, { payload, until, ...(message === undefined ? {} : { message }) });
      const allowCredentials = [{ type: 'public-key', id: credentialId }] as const;
      const options = { challenge, rpId, allowCredentials, userVerification: 'required', timeout: challengeLifeMs } as const;
      return { ok: true, options, expiresAt: until };
    },
    /** Once, whatever comes of it. */
    take: (challenge: string): Waiting | undefined => {
      const found = waiting.get(challenge);
      waiting.delete(challenge);
      return found !== undefined && clock.now() < found.until ? found : undefined;
    },
  };
}
