/**
 * One-time codes for answers outside the editor (docs/design.md#requests-and-grants): whoever types one has had this request's card on a
 * terminal within the last ten minutes. A code is no authority: the approver's signature is. They are kept in the App's store, so whoever
 * shares that may show a request's card here and approve it there.
 */

import { randomBytes, randomInt, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import type { CodePurpose, CodeVerdict, OneTimeCodes } from '#kernel/approval/answer';
import { requestIdPattern } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { CodeStore, HashedCode, StoredCode } from '#kernel/ports/store';

export const oneTimeCodePattern = /^ott-[a-zA-Z0-9]{8}$/;
/** In ms. */
const oneTimeCodeLifeMs = 600_000;
/** As many wrong ones make a code void. */
const mostWrongCodes = 5;

const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
// 47 bits: a plain hash of them could be searched within the code's life, scrypt (RFC 7914) with 32 MiB a try cannot.
const cost: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

export function createOneTimeCodes(store: CodeStore): OneTimeCodes {
  return {
    issue: async (purpose) => {
      requireId(purpose);
      const code = makeOneTimeCode();
      await store.put(purpose.requestId, await hashOneTimeCode(code, purpose), oneTimeCodeLifeMs);
      return { code, lifeMs: oneTimeCodeLifeMs };
    },
    redeem: async (purpose, code) => {
      requireId(purpose);
      const taken = await store.take(purpose.requestId);
      if (taken === undefined) return { ok: false, why: 'none' };
      const verdict = await judge(taken, purpose, code);
      // A code that was shown meanwhile stands; this one is gone then.
      if (!verdict.ok && verdict.why === 'wrong')
        await store.putBack(purpose.requestId, { ...taken.code, wrong: taken.code.wrong + 1 }, taken.leftMs);
      return verdict;
    },
  };
}

/** In ms. */
const apartMs = 60_000;

async function judge(
  { code: stored, leftMs }: { readonly code: StoredCode; readonly leftMs: number },
  purpose: CodePurpose,
  code: string,
): Promise<CodeVerdict> {
  // Much more than a whole life was not written by this program, or the clock was put back. Two processes read a shared store's clock a little apart.
  if (leftMs < 1 || leftMs > oneTimeCodeLifeMs + apartMs) return { ok: false, why: 'expired' };
  if (oneTimeCodePattern.test(code) && (await isOneTimeCode(code, stored, purpose))) return { ok: true };
  const triesLeft = mostWrongCodes - stored.wrong - 1;
  return triesLeft <= 0 ? { ok: false, why: 'void' } : { ok: false, why: 'wrong', triesLeft };
}

/** INVARIANT: an id becomes part of a key only after it was checked. */
function requireId({ requestId }: CodePurpose): void {
  if (!requestIdPattern.test(requestId))
    throw new Fault('bad_request_id', 'a request’s id is `req-` and 8 hex digits', { audience: 'user' });
}

export function makeOneTimeCode(): string {
  return `ott-${Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')}`;
}

/** The purpose goes into the hash: a stored code that is filed under another request matches nothing. */
export async function hashOneTimeCode(code: string, purpose: CodePurpose): Promise<HashedCode> {
  const salt = randomBytes(16).toString('base64url');
  return { salt, hash: (await derive(code, salt, purpose)).toString('base64url') };
}

export async function isOneTimeCode(code: string, stored: HashedCode, purpose: CodePurpose): Promise<boolean> {
  const expected = Buffer.from(stored.hash, 'base64url');
  const found = await derive(code, stored.salt, purpose);
  return expected.length === found.length && timingSafeEqual(found, expected);
}

function derive(code: string, salt: string, { requestId, digest }: CodePurpose): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(code, `${salt} ${requestId} ${digest}`, 32, cost, (error, key) => (error ? reject(error) : resolve(key)));
  return promise;
}
