/**
 * A private certificate authority for one demo run, and server certificates as Proxmox VE makes them: CN = node name, SAN = loopback
 * names and addresses, issued by a per-cluster CA (RFC 5280; `pvecm updatecerts`). `node:crypto` can sign but not assemble X.509.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** A tag, the definite length and the parts one after the other. */
function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

type Constructed = (...parts: readonly Uint8Array[]) => Buffer;

export const sequence: Constructed = (...parts) => tagged(tags.sequence, ...parts);
export const octetString: Constructed = (...parts) => tagged(tags.octetString, ...parts);

/** A non-negative integer, given as big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes[0] ?? 0;
  return first >= 0x80 ? tagged(tags.integer, Buffer.from([0]), bytes) : tagged(tags.integer, bytes);
}

/** @param unusedBits how many of the last byte's low bits do not count */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return tagged(tags.bitString, Buffer.from([unusedBits]), bytes);
}

export function utf8(text: string): Buffer {
  return tagged(tags.utf8, Buffer.from(text, 'utf8'));
}

/** An object identifier in dotted form, such as `2.5.4.3`. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(base128)];
  return tagged(tags.oid, Buffer.from(bytes));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** GeneralizedTime in whole seconds, UTC. */
export function time(date: Date): Buffer {
  const digits = date
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  return tagged(tags.generalizedTime, Buffer.from(digits, 'ascii'));
}

const isTrue = tagged(tags.boolean, Buffer.from([0xff]));
const dayMs = 86_400_000;
const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
const context = { version: 0xa0, extensions: 0xa3, dnsName: 0x82, address: 0x87, keyIdentifier: 0x80 } as const;

export interface Certificate {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  /** SHA-256 over the DER form, upper-case hex with colons: what PVE's `ssl_fingerprint` and `tls.fingerprint` hold. */
  readonly fingerprint: string;
}

/** A certificate authority; its private key stays inside. */
export interface Authority {
  readonly certificatePem: string;
  /** A server certificate that is valid for these DNS names and IPv4 addresses, for ten years. */
  issue(commonName: string, names: readonly string[], addresses: readonly string[]): Certificate;
}

/** Makes a fresh authority. @param now milliseconds since the epoch; certificates are valid from a day before */
export function createAuthority(commonName: string, now: number): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = distinguishedName(commonName);
  const root = assemble({
    issuer: name,
    subject: name,
    publicKey: keys.publicKey,
    signer: keys.privateKey,
    now,
    extensions: authorityExtensions(keys.publicKey),
  });
  return {
    certificatePem: pem(root),
    issue(subject, names, addresses) {
      const leaf = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const extensions = serverExtensions(leaf.publicKey, keys.publicKey, names, addresses);
      const der = assemble({
        issuer: name,
        subject: distinguishedName(subject),
        publicKey: leaf.publicKey,
        signer: keys.privateKey,
        now,
        extensions,
      });
      return {
        certificatePem: pem(der),
        privateKeyPem: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        fingerprint: new X509Certificate(der).fingerprint256,
      };
    },
  };
}

interface Parts {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly now: number;
  readonly extensions: readonly Buffer[];
}

function assemble(parts: Parts): Buffer {
  const body = sequence(
    tagged(context.version, integer(Buffer.from([2]))),
    integer(serialNumber()),
    ecdsaWithSha256,
    parts.issuer,
    sequence(time(new Date(parts.now - dayMs)), time(new Date(parts.now + 3650 * dayMs))),
    parts.subject,
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    tagged(context.extensions, sequence(...parts.extensions)),
  );
  return sequence(body, ecdsaWithSha256, bitString(sign('sha256', body, parts.signer)));
}

/** Sixteen random bytes, positive and without a leading zero (RFC 5280 §4.1.2.2). */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function distinguishedName(commonName: string): Buffer {
  return sequence(tagged(tags.set, sequence(oid('2.5.4.3'), utf8(commonName))));
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return critical ? sequence(oid(id), isTrue, octetString(value)) : sequence(oid(id), octetString(value));
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
}

function authorityExtensions(key: KeyObject): Buffer[] {
  return [
    extension('2.5.29.19', true, sequence(isTrue)),
    extension('2.5.29.15', true, bitString(Buffer.from([0x06]), 1)), // keyCertSign, cRLSign
    extension('2.5.29.14', false, octetString(keyIdentifier(key))),
  ];
}

function serverExtensions(key: KeyObject, authority: KeyObject, names: readonly string[], addresses: readonly string[]): Buffer[] {
  const alternatives = [
    ...names.map((name) => tagged(context.dnsName, Buffer.from(name, 'ascii'))),
    ...addresses.map((address) => tagged(context.address, Buffer.from(address.split('.').map(Number)))),
  ];
  return [
    extension('2.5.29.19', true, sequence()),
    extension('2.5.29.15', true, bitString(Buffer.from([0x80]), 7)), // digitalSignature
    extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'))), // serverAuth
    extension('2.5.29.17', false, sequence(...alternatives)),
    extension('2.5.29.14', false, octetString(keyIdentifier(key))),
    extension('2.5.29.35', false, sequence(tagged(context.keyIdentifier, keyIdentifier(authority)))),
  ];
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
