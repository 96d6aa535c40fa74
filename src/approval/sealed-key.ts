/** An approver's private key, locked with a passphrase: what lies on a disk that agents may be able to read. */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { canonicalJson } from '#kernel/json';
import { type ApproverKeyPair, signerFrom } from './keys.ts';

/** scrypt (RFC 7914) with 128 MiB a try: about half a second here, and as much for every guess elsewhere. */
export const keyCost = { N: 2 ** 17, r: 8, p: 1 } as const;
const maxmem = 256 * 1024 * 1024;
const cipherName = 'aes-256-gcm';

/** All byte strings are base64url. */
export interface SealedKey {
  readonly version: 1;
  readonly name: string;
  /** `ed25519:` + base64url. */
  readonly publicKey: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly scrypt: { readonly N: number; readonly r: number; readonly p: number; readonly salt: string };
  /** AES-256-GCM; everything above is authenticated with it. */
  readonly sealed: { readonly nonce: string; readonly text: string; readonly tag: string };
}

export interface SealDraft {
  readonly name: string;
  readonly pair: ApproverKeyPair;
  readonly createdAt: string;
}

export async function sealKey({ name, pair, createdAt }: SealDraft, passphrase: string): Promise<SealedKey> {
  const salt = randomBytes(32).toString('base64url');
  const head = { version: 1, name, publicKey: pair.publicKey, createdAt, scrypt: { ...keyCost, salt } } as const;
  const key = await derive(passphrase, salt);
  try {
    const nonce = randomBytes(12);
    const cipher = createCipheriv(cipherName, key, nonce).setAAD(Buffer.from(canonicalJson(head)));
    const text = Buffer.concat([cipher.update(pair.privateKey, 'utf8'), cipher.final()]);
    const tag = cipher.getAuthTag().toString('base64url');
    return { ...head, sealed: { nonce: nonce.toString('base64url'), text: text.toString('base64url'), tag } };
  } finally {
    key.fill(0);
  }
}

/**
 * The private key; undefined where the passphrase is wrong or anything in the file was changed, which cannot be told apart.
 * The cost is this version's, whatever the file says: a changed file can neither make guessing cheap nor take all memory.
 */
export async function openSealedKey({ sealed, ...head }: SealedKey, passphrase: string): Promise<string | undefined> {
  const key = await derive(passphrase, head.scrypt.salt);
  try {
    const decipher = createDecipheriv(cipherName, key, Buffer.from(sealed.nonce, 'base64url'), { authTagLength: 16 });
    decipher.setAAD(Buffer.from(canonicalJson(head))).setAuthTag(Buffer.from(sealed.tag, 'base64url'));
    const text = decipher.update(Buffer.from(sealed.text, 'base64url'), undefined, 'utf8') + decipher.final('utf8');
    return signerFrom(text, head.name).publicKey === head.publicKey ? text : undefined;
  } catch {
    return undefined;
  } finally {
    key.fill(0);
  }
}

/** Characters that look alike may be typed in different byte forms: NFC first (RFC 8265, OpaqueString). */
function derive(passphrase: string, salt: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(passphrase.normalize('NFC'), Buffer.from(salt, 'base64url'), 32, { ...keyCost, maxmem }, (error, key) =>
    error ? reject(error) : resolve(key),
  );
  return promise;
}
