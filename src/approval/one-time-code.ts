/**
 * One-time codes for answers outside the editor (docs/design.md#requests-and-grants): whoever types one has had this request's card on a
 * terminal within the last ten minutes. A code is no authority: the approver's signature is.
 */
import { randomBytes, randomInt, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import type { CodePurpose } from '#kernel/approval/one-time-codes';
import type { HashedCode } from '#kernel/ports/code-store';

export const oneTimeCodePattern = /^ott-[a-zA-Z0-9]{8}$/;
/** In ms. */
export const oneTimeCodeLifeMs = 600_000;
/** As many wrong ones make a code void. */
export const mostWrongCodes = 5;

const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
// 47 bits: a plain hash of them could be searched within the code's life, scrypt (RFC 7914) with 32 MiB a try cannot.
const cost: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

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
