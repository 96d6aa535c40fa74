/**
 * Passkeys, verified by hand with `node:crypto`: ES256 and EdDSA, user verification required, no attestation
 * (WebAuthn: https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion).
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { ApproverKey } from '#kernel/approval/answer';
import type { NewCredential, PasskeyAssertion } from '#kernel/approval/passkey';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { listed } from '#kernel/text/message';

/** COSE's numbers for what we take: EdDSA and ES256, the preferred first. */
export const passkeyAlgorithms = [-8, -7] as const;
export const passkeyPattern = /^(?:es256:[A-Za-z0-9_-]{86}|eddsa:[A-Za-z0-9_-]{43})$/;

/** Where browsers have passkeys at all: an https host name, or localhost; exactly as `location.origin` says it. */
export function isPageOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, origin } = new URL(text);
  // An address is no relying party's id, whatever serves it.
  const isAddress = /^[\d.]+$/.test(hostname) || hostname.startsWith('[');
  return origin === text && !isAddress && (protocol === 'https:' || (protocol === 'http:' && hostname === 'localhost'));
}

const flag = { present: 0x01, verified: 0x04, eligible: 0x08, backedUp: 0x10, attested: 0x40 } as const;
/** rpIdHash, flags, counter. */
const headBytes = 37;
/** Behind the authenticator's model (16 bytes) and the length of the credential's id (2). */
const credentialAt = headBytes + 18;

/** The challenge that stands for this grant, setting or agreement and no other, base64url: 32 bytes. */
export function challengeOf(payload: object): string {
  return createHash('sha256')
    .update('setting' in payload ? 'banksman setting, version 1\n' : 'banksman approval, version 2\n')
    .update(canonicalJson(payload as JsonObject))
    .digest('base64url');
}

/** Which challenge the browser says it answered; proves nothing. */
export function claimedChallenge({ response }: Pick<NewCredential, 'response'>): string | undefined {
  const challenge = clientData(response.clientDataJSON)?.['challenge'];
  return typeof challenge === 'string' ? challenge : undefined;
}

/**
 * Why an assertion is not this passkey's answer to this challenge, for people; undefined: it is.
 * @param pin one with `passkey`, found by the assertion's credential id
 */
export function assertionFlaw({ id, response }: PasskeyAssertion, pin: ApproverKey, challenge: string): string | undefined {
  const { passkey } = pin;
  const key = importPasskey(pin.key);
  if (passkey === undefined || key === undefined || id !== passkey.id) return 'it is of another passkey';
  const { origin } = passkey;
  return (
    clientFlaw(response.clientDataJSON, { type: 'webauthn.get', challenge, origin }) ??
    signedFlaw(response, key) ??
    authenticatorFlaw(bytesOf(response.authenticatorData), origin)
  );
}

/** We ask for no extensions, and an answer attests no key: whatever follows the head is not ours. */
function signedFlaw({ authenticatorData, clientDataJSON, signature }: PasskeyAssertion['response'], key: KeyObject): string | undefined {
  const [data, client, proof] = [authenticatorData, clientDataJSON, signature].map(bytesOf);
  if (data === undefined || client === undefined || proof === undefined) return listed('it is damaged');
  if (data.length !== headBytes || flagsOf(data) & flag.attested) return 'its authenticator data is longer than an answer’s';
  const message = Buffer.concat([data, createHash('sha256').update(client).digest()]);
  return isSigned(message, key, proof) ? undefined : 'its signature does not fit';
}

function flagsOf(data: Buffer): number {
  return data[32] ?? 0;
}

/** The signature counter: 0 where the passkey keeps none, as synced ones do. */
export function counterOf({ response }: Pick<PasskeyAssertion, 'response'>): number {
  const data = bytesOf(response.authenticatorData);
  return data === undefined || data.length < headBytes ? 0 : data.readUInt32BE(33);
}

/** How the demo's passkey in software names itself (hosts/page/demo-passkey.ts). */
export const softwareModel = 'banksman    demo';

/** SECURITY: only a demo's page is on a port that every user can take; no other page ever has such an origin, so no such passkey counts there. */
function makerFlaw(data: Buffer | undefined, origin: string): string | undefined {
  const { protocol, port } = new URL(origin);
  const isDemos = protocol === 'http:' && Number(port) >= 1024;
  const isSoftware = data?.toString('latin1', headBytes, headBytes + 16) === softwareModel;
  return isSoftware && !isDemos ? listed('it is the demo’s, in software') : authenticatorFlaw(data, origin);
}

/** What a new credential is, or why it is none that may be pinned. Its key is believed: nothing is attested. */
export function readNewCredential(
  { id, response }: NewCredential,
  { challenge, origin }: { readonly challenge: string; readonly origin: string },
): { readonly ok: true; readonly id: string; readonly key: string } | { readonly ok: false; readonly why: string } {
  const data = bytesOf(response.authenticatorData);
  const flaw = clientFlaw(response.clientDataJSON, { type: 'webauthn.create', challenge, origin }) ?? makerFlaw(data, origin);
  if (flaw !== undefined || data === undefined) return { ok: false, why: flaw ?? listed('it is damaged') };
  if ((flagsOf(data) & flag.attested) === 0 || data.length < credentialAt) return { ok: false, why: listed('it names no credential') };
  const keyAt = credentialAt + data.readUInt16BE(credentialAt - 2);
  if (data.subarray(credentialAt, keyAt).toString('base64url') !== id) return { ok: false, why: listed('it names another credential') };
  const key = keyOfCose(data.subarray(keyAt));
  return key !== undefined && importPasskey(key) !== undefined
    ? { ok: true, id, key }
    : { ok: false, why: listed('its key is neither ES256 nor EdDSA') };
}

/** For people to compare: 80 bits of the key and the credential's id, in four groups (`7KQ2-9FDM-XW3C-4HTN`). */
export function passkeyFingerprint({ key, passkey }: Pick<ApproverKey, 'key' | 'passkey'>): string {
  // Crockford's base 32: no I, L, O or U.
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  const hash = createHash('sha256')
    .update(`${passkey?.id ?? ''} ${passkey?.origin ?? ''} ${key}`)
    .digest();
  const bits = Array.from(hash.subarray(0, 10), (byte) => byte.toString(2).padStart(8, '0')).join('');
  const text = Array.from({ length: 16 }, (_, index) => alphabet[Number.parseInt(bits.slice(index * 5, index * 5 + 5), 2)]).join('');
  return text.match(/.{4}/g)?.join('-') ?? text;
}

/** The key itself; undefined where the text is no passkey's key, or names no point of the curve. */
export function importPasskey(text: string): KeyObject | undefined {
  if (!passkeyPattern.test(text)) return undefined;
  const [kind, encoded = ''] = text.split(':');
  const raw = Buffer.from(encoded, 'base64url');
  const part = (from: number) => raw.subarray(from, from + 32).toString('base64url');
  try {
    const jwk = kind === 'es256' ? { kty: 'EC', crv: 'P-256', x: part(0), y: part(32) } : { kty: 'OKP', crv: 'Ed25519', x: part(0) };
    return createPublicKey({ key: jwk, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** CTAP2's canonical CBOR (RFC 9052) leaves each kind of key one spelling, so there is nothing to parse. */
const coseSpellings = [
  { kind: 'es256', parts: ['a5010203262001215820', '225820'] },
  { kind: 'eddsa', parts: ['a4010103272006215820'] },
] as const;

function keyOfCose(cose: Buffer): string | undefined {
  for (const { kind, parts } of coseSpellings) {
    let at = 0;
    const raw: Buffer[] = [];
    for (const part of parts) {
      const head = Buffer.from(part, 'hex');
      if (!cose.subarray(at, at + head.length).equals(head)) break;
      raw.push(cose.subarray(at + head.length, at + head.length + 32));
      at += head.length + 32;
    }
    // What follows are extensions, which count for nothing.
    if (raw.length === parts.length && cose.length >= at) return `${kind}:${Buffer.concat(raw).toString('base64url')}`;
  }
  return undefined;
}

interface Ceremony {
  readonly type: 'webauthn.get' | 'webauthn.create';
  readonly challenge: string;
  readonly origin: string;
}

/** SECURITY: a page of another port gets valid assertions for the same host name, so the origin is compared whole. */
function clientFlaw(encoded: string, { type, challenge, origin }: Ceremony): string | undefined {
  const found = clientData(encoded);
  if (found === undefined) return listed('its client data is damaged');
  if (found['type'] !== type) return listed('it was made for something else');
  if (found['challenge'] !== challenge) return listed('it answers another challenge');
  if (found['origin'] !== origin) return listed('it was made on another page');
  const isFramed = (found['crossOrigin'] !== undefined && found['crossOrigin'] !== false) || found['topOrigin'] !== undefined;
  return isFramed ? listed('it was made inside a frame of another page') : undefined;
}

function clientData(encoded: string): JsonObject | undefined {
  const bytes = bytesOf(encoded);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function authenticatorFlaw(data: Buffer | undefined, origin: string): string | undefined {
  if (data === undefined || data.length < headBytes) return listed('its authenticator data is damaged');
  const flags = flagsOf(data);
  const host = createHash('sha256').update(new URL(origin).hostname).digest();
  if (!data.subarray(0, 32).equals(host)) return listed('it is for another host name');
  if ((flags & flag.present) === 0) return listed('nobody touched the key');
  if ((flags & flag.verified) === 0) return listed('the key did not check who touched it (no PIN, fingerprint or face)');
  return (flags & flag.backedUp) !== 0 && (flags & flag.eligible) === 0 ? listed('its flags contradict each other') : undefined;
}

function isSigned(message: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', message, key, signature);
  } catch {
    // What is no signature at all makes OpenSSL throw.
    return false;
  }
}

/** undefined for text that is not exactly how these bytes are spelled. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
