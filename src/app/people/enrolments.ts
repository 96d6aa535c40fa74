/**
 * One-time links for a new passkey. Whoever makes the link and the process that serves the page meet in files of the state directory: the offer,
 * which holds only the link's hash, and beside it the one answer there can be. INVARIANT: nothing here pins anything.
 */

import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { passkeyAlgorithms, passkeyFingerprint, passkeyPattern, readNewCredential } from '#approval/passkey';
import type { ApproverKey } from '#kernel/approval/answer';
import { type CreationOptions, type Enrolment, type EnrolRefusal, type PasskeyDesk, parseNewCredential } from '#kernel/approval/passkey';
import { displays } from '#kernel/approval/security';
import { Fault, reasonMessage } from '#kernel/errors';
import { asListed, listed, type Message, say, told } from '#kernel/text/message';
import { readPrivateFile, writePrivateFile } from '../config/private-file.ts';

/** In ms. */
export const enrolmentLifeMs = 600_000;
const pollMs = 400;
/** In the state directory. */
const folderName = 'enrolments';
const linkPattern = /^[A-Za-z0-9_-]{43}$/;

const offerSchema = z.strictObject({
  version: z.literal(1),
  name: z.string(),
  person: z.string(),
  display: z.enum(displays),
  origin: z.string(),
  /** Ids of passkeys that are pinned already: the same one is not made twice. */
  known: z.array(z.string()),
  /** ms since the epoch. */
  expiresAt: z.number(),
});
type Offer = z.output<typeof offerSchema>;

const answerSchema = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  key: z.string().regex(passkeyPattern),
  device: z.string().max(500).exactOptional(),
});

export interface OpenEnrolment {
  /** The secret part of the address; nobody keeps it. */
  readonly link: string;
  readonly expiresAt: number;
  /** The new passkey, as it would be pinned; undefined: nobody made one in time. Rejects when the signal aborts. */
  answer(signal: AbortSignal): Promise<ApproverKey | undefined>;
  /** Makes the link worthless. */
  close(): Promise<void>;
}

interface NewLink extends Enrolment {
  readonly origin: string;
  /** Ids of passkeys that are pinned already. */
  readonly known: readonly string[];
  readonly lifeMs?: number;
}

/** @throws {Fault} `enrolment_not_writable` */
export async function openEnrolment(
  stateDir: string,
  { name, person, display, origin, known, lifeMs = enrolmentLifeMs }: NewLink,
): Promise<OpenEnrolment> {
  const folder = join(stateDir, folderName);
  const link = randomBytes(32).toString('base64url');
  const offer: Offer = { version: 1, name, person, display, origin, known: [...known], expiresAt: Date.now() + lifeMs };
  const files = filesOf(link);
  try {
    const isWritten = await writePrivateFile(folder, files.offer, JSON.stringify(offer));
    if (!isWritten) throw new Error('there is such a link already');
  } catch (thrown) {
    throw new Fault('enrolment_not_writable', say`${folder}: cannot be written: ${reasonMessage(thrown)}`, { cause: thrown });
  }
  return {
    link,
    expiresAt: offer.expiresAt,
    answer: async (signal) => {
      while (Date.now() < offer.expiresAt) {
        const answer = await readJson(join(folder, files.answer), answerSchema);
        if (answer !== undefined) return pinOf(offer, answer);
        await sleep(pollMs, undefined, { signal });
      }
      return undefined;
    },
    close: async () => {
      const remove = (file: string) => rm(join(folder, file), { force: true });
      await Promise.all([remove(files.offer), remove(files.answer)]);
    },
  };
}

function pinOf({ name, person, display, origin }: Offer, { id, key, device }: z.output<typeof answerSchema>): ApproverKey {
  const passkey = { id, origin, display, enrolledAt: new Date().toISOString(), ...(device === undefined ? {} : { device }) };
  return { name, key, person, passkey };
}

/** Challenges that a browser has not answered yet; who asks for more drops the oldest. */
const mostChallenges = 100;

/** The page's side. */
export function createEnrolDesk(stateDir: string, origin: string): Pick<PasskeyDesk, 'beginEnrol' | 'finishEnrol'> {
  const folder = join(stateDir, folderName);
  /** By link. */
  const challenges = new Map<string, string>();
  return {
    beginEnrol: async (link) => {
      const offer = await offerOf(folder, link, origin);
      if (!offer.ok) return offer;
      const challenge = randomBytes(32).toString('base64url');
      const [oldest] = challenges.keys();
      if (challenges.size >= mostChallenges && oldest !== undefined) challenges.delete(oldest);
      challenges.set(link, challenge);
      const { name, person, display, expiresAt } = offer;
      return { ok: true, name, person, display, expiresAt, options: creationOptions(offer, challenge) };
    },
    finishEnrol: async (link, value, device) => {
      const offer = await offerOf(folder, link, origin);
      if (!offer.ok) return offer;
      const challenge = challenges.get(link);
      challenges.delete(link);
      if (challenge === undefined) return refuse('challenge_over', say`this answer came too late; open the link again`);
      const found = readAnswer(value, { ...offer, challenge });
      if (!found.ok) return refuse('bad_credential', say`this passkey cannot be used: ${asListed(found.why)}`);
      if ((device?.length ?? 0) > 500) return refuse('bad_credential', say`the browser’s own key is too long`);
      const answer = { version: 1, id: found.id, key: found.key, ...(device === undefined ? {} : { device }) } as const;
      // The one step that can only be done once, whoever else has the link.
      if (!(await writePrivateFile(folder, filesOf(link).answer, JSON.stringify(answer)))) return used;
      return { ok: true, name: offer.name, fingerprint: passkeyFingerprint(pinOf(offer, answer)) };
    },
  };
}

function readAnswer(value: unknown, offer: Offer & { readonly challenge: string }): ReturnType<typeof readNewCredential> {
  const credential = parseNewCredential(value);
  if (credential === undefined) return { ok: false, why: listed('it is damaged') };
  return offer.known.includes(credential.id) ? { ok: false, why: listed('it is enrolled already') } : readNewCredential(credential, offer);
}

const used = refuse(
  'link_used',
  say`this link has been used; compare the fingerprint with who made it, and ask for another link where it was not you`,
);

async function offerOf(folder: string, link: string, origin: string): Promise<(Offer & { readonly ok: true }) | EnrolRefusal> {
  // INVARIANT: only a hash becomes part of a path.
  const offer = linkPattern.test(link) ? await readJson(join(folder, filesOf(link).offer), offerSchema) : undefined;
  if (offer === undefined || offer.origin !== origin)
    return refuse('no_link', say`there is no such link (any more); ask for another: \`banksman approvers enroll NAME\``);
  if (Date.now() >= offer.expiresAt) return refuse('link_expired', say`this link’s ten minutes are over; ask for another`);
  return (await readJson(join(folder, filesOf(link).answer), answerSchema)) === undefined ? { ...offer, ok: true } : used;
}

function creationOptions({ name, person, known, origin }: Offer, challenge: string): CreationOptions {
  return {
    challenge,
    rp: { id: new URL(origin).hostname, name: 'Banksman' },
    // A second passkey under the same id would take the first one's place on the authenticator.
    user: { id: randomBytes(32).toString('base64url'), name, displayName: person },
    pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: known.map((id) => ({ type: 'public-key', id })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    attestation: 'none',
    timeout: 120_000,
  };
}

function refuse(code: EnrolRefusal['code'], words: Message): EnrolRefusal {
  return { ok: false, code, ...told(words) };
}

function filesOf(link: string): { readonly offer: string; readonly answer: string } {
  const hash = createHash('sha256').update(link).digest('hex');
  return { offer: `${hash}.json`, answer: `${hash}.answer.json` };
}

/** undefined where there is no such file, or what is in it was not written by this program. */
async function readJson<Output>(file: string, schema: z.ZodType<Output>): Promise<Output | undefined> {
  const text = await readPrivateFile(file);
  try {
    return text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
