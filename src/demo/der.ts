/**
 * The few ASN.1 DER encodings that an X.509 certificate needs (ITU-T X.690). It writes and never reads: nothing from outside passes
 * through it. A library was weighed (`@peculiar/x509`: 342 kB in the bundle, 21 packages and a `Reflect` polyfill that every other
 * extension in the host would see) and found too much for one fixed shape.
 */

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
export function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tagged(tags.sequence, ...parts);
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return tagged(tags.set, ...parts);
}

/** A non-negative integer, given as big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes[0] ?? 0;
  return first >= 0x80 ? tagged(tags.integer, Buffer.from([0]), bytes) : tagged(tags.integer, bytes);
}

export function boolean(value: boolean): Buffer {
  return tagged(tags.boolean, Buffer.from([value ? 0xff : 0]));
}

export function octetString(...parts: readonly Uint8Array[]): Buffer {
  return tagged(tags.octetString, ...parts);
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
