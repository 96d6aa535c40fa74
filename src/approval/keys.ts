/** Approvers' Ed25519 keys (RFC 8032), as short strings that fit a configuration file. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  scrypt,
  sign,
} from 'node:crypto';
import type { Signer } from '#kernel/approval/answer';
import { Fault } from '#kernel/errors';
import { canonicalJson } from '#kernel/json';

const publicPrefix = 'ed25519:';
const privatePrefix = 'ed25519-private:';
const publicPattern = /^ed25519:[A-Za-z0-9_-]{43}$/;
/** Passkeys' included. */
export const anyKeyPattern = /^(?:(?:ed25519|eddsa):[A-Za-z0-9_-]{43}|es256:[A-Za-z0-9_-]{86})$/;

export interface ApproverKeyPair {
  /** `ed25519:` + base64url of the 32 raw bytes; to be pinned. */
  readonly publicKey: string;
  /** `ed25519-private:` + base64url of PKCS#8 DER. A secret: SecretStorage or an encrypted file, nowhere else. */
  readonly privateKey: string;
}

export function generateApproverKey(): ApproverKeyPair {
  const pair = generateKeyPairSync('ed25519');
  const privateKey = privatePrefix + pair.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64url');
  return { publicKey: publicText(pair.publicKey), privateKey };
}

/**
 * A signer for the given private key. The public key is derived from it, so the two cannot disagree.
 * @throws {Fault} `bad_key` where the text is not a key that `generateApproverKey` made; the text is not repeated
 */
export function signerFrom(privateKey: string, approver: string): Signer {
  const key = importPrivate(privateKey);
  return { approver, publicKey: publicText(createPublicKey(key)), sign: async (message) => new Uint8Array(sign(null, message, key)) };
}

/** The key itself; undefined where the text is not an Ed25519 public key of ours. */
export function importPublicKey(text: string): KeyObject | undefined {
  if (!publicPattern.test(text)) return undefined;
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text.slice(publicPrefix.length) }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** First 16 base64url characters of SHA-256 over the raw key; undefined where the text is not a key. Names a key, proves nothing. */
export function keyIdOf(publicKey: string): string | undefined {
  if (!publicPattern.test(publicKey)) return undefined;
  return createHash('sha256').update(rawBytes(publicKey)).digest('base64url').slice(0, 16);
}

/** Whether two texts are the same key (the last character has spare bits, so equal keys may be spelled differently). */
export function isSameKey(a: string, b: string): boolean {
  const [[kind], [other]] = [a.split(':'), b.split(':')];
  return kind === other && anyKeyPattern.test(a) && anyKeyPattern.test(b) && rawBytes(a).equals(rawBytes(b));
}

function rawBytes(publicKey: string): Buffer {
  return Buffer.from(publicKey.slice(publicKey.indexOf(':') + 1), 'base64url');
}

function publicText(key: KeyObject): string {
  return publicPrefix + (key.export({ format: 'jwk' }).x ?? '');
}

function importPrivate(text: string): KeyObject {
  const next = 'create a new approver key';
  if (!text.startsWith(privatePrefix)) throw new Fault('bad_key', 'this is not an approver key', { next });
  try {
    const key = createPrivateKey({ key: Buffer.from(text.slice(privatePrefix.length), 'base64url'), format: 'der', type: 'pkcs8' });
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // SECURITY: the cause may quote key material, so it is dropped.
  }
  throw new Fault('bad_key', 'the approver key is damaged', { next });
}

// An approver's private key, locked with a passphrase: what lies on a disk that agents may be able to read.

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
