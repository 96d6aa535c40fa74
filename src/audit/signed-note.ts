/**
 * Checkpoints as signed notes: C2SP `signed-note` (https://c2sp.org/signed-note), `tlog-checkpoint` (https://c2sp.org/tlog-checkpoint) and
 * the cosignatures of witnesses (`tlog-cosignature`, https://c2sp.org/tlog-cosignature).
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { Checkpoint } from '#kernel/ports/audit-log';

/** The first byte of a key in a verifier key: what its signatures are over. A log's are over its notes. */
export const ed25519Type = 1;
/** A witness's: over a checkpoint and the time. */
export const cosignatureType = 4;

/** RFC 8410: what stands before the 32 bytes of an Ed25519 key in its DER form. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Who can have signed a note. */
export interface NoteKey {
  readonly name: string;
  /** Eight hex digits. */
  readonly id: string;
  readonly type: number;
  readonly publicKey: KeyObject;
}

export interface NoteSignature {
  readonly name: string;
  readonly id: string;
  /** What follows the key's id: of a log 64 bytes, of a witness the time before them. */
  readonly bytes: Buffer;
  readonly line: string;
}

export interface SignedNote {
  /** With the line feed at its end: what is signed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** `NAME+ID+KEY`: how a key of a log, or of a witness, is given to whoever checks its notes. */
export function verifierKey(name: string, publicKey: KeyObject, type: number = ed25519Type): string {
  const key = Buffer.concat([Buffer.of(type), rawKey(publicKey)]);
  return `${name}+${keyId(name, key)}+${key.toString('base64')}`;
}

/** undefined for what is no verifier key of an Ed25519 log or witness. */
export function parseVerifierKey(text: string): NoteKey | undefined {
  const [, name = '', id = '', encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? [];
  const key = Buffer.from(encoded, 'base64');
  const [type = 0] = key;
  if (key.length !== 33 || keyId(name, key) !== id || (type !== ed25519Type && type !== cosignatureType)) return undefined;
  return { name, id, type, publicKey: createPublicKey({ key: Buffer.concat([spkiPrefix, key.subarray(1)]), format: 'der', type: 'spki' }) };
}

/** A note of one signature. @param text ends with a line feed */
export function signNote(text: string, name: string, privateKey: KeyObject): string {
  const key = Buffer.concat([Buffer.of(ed25519Type), rawKey(createPublicKey(privateKey))]);
  return `${text}\n${signatureLine(name, keyId(name, key), sign(null, Buffer.from(text), privateKey))}`;
}

/** `cosignature/v1`: the line that a witness adds to a note. @param text ends with a line feed @param time POSIX, in seconds */
export function cosignNote(
  text: string,
  name: string,
  { privateKey, time }: { readonly privateKey: KeyObject; readonly time: number },
): string {
  const at = Buffer.alloc(8);
  at.writeBigUInt64BE(BigInt(time));
  const key = Buffer.concat([Buffer.of(cosignatureType), rawKey(createPublicKey(privateKey))]);
  return signatureLine(name, keyId(name, key), Buffer.concat([at, sign(null, cosigned(text, time), privateKey)]));
}

/** undefined for what is no signed note. Signatures are not checked. */
export function parseNote(note: string): SignedNote | undefined {
  const end = note.lastIndexOf('\n\n');
  if (end < 0) return undefined;
  const lines = note.slice(end + 2).split('\n');
  if (lines.pop() !== '' || lines.length === 0) return undefined;
  const signatures = lines.map(parseSignature);
  if (signatures.includes(undefined)) return undefined;
  return { text: note.slice(0, end + 1), signatures: signatures.filter((found) => found !== undefined) };
}

/** undefined where it is none by this key; false where it says that it is, and does not fit. */
export function isSignedBy({ text, signatures }: SignedNote, key: NoteKey): boolean | undefined {
  const found = signatures.filter(({ name, id }) => name === key.name && id === key.id);
  if (found.length === 0) return undefined;
  return found.every(({ bytes }) => fits(text, bytes, key));
}

function fits(text: string, bytes: Buffer, { type, publicKey }: NoteKey): boolean {
  if (type === ed25519Type) return bytes.length === 64 && verify(null, Buffer.from(text), publicKey, bytes);
  return bytes.length === 72 && verify(null, cosigned(text, Number(bytes.readBigUInt64BE(0))), publicKey, bytes.subarray(8));
}

/** `tlog-checkpoint`: three lines. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root}\n`;
}

/** undefined for a note that is no checkpoint. */
export function parseCheckpoint({ text }: SignedNote): Checkpoint | undefined {
  const [origin = '', size = '', root = ''] = text.split('\n');
  const isRoot = /^[A-Za-z0-9+/]{43}=$/.test(root);
  if (origin === '' || !/^(?:0|[1-9]\d{0,14})$/.test(size) || !isRoot) return undefined;
  return { origin, size: Number(size), root };
}

function signatureLine(name: string, id: string, bytes: Buffer): string {
  return `— ${name} ${Buffer.concat([Buffer.from(id, 'hex'), bytes]).toString('base64')}\n`;
}

function parseSignature(line: string): NoteSignature | undefined {
  const [, name = '', encoded = ''] = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.length > 4 ? { name, id: bytes.subarray(0, 4).toString('hex'), bytes: bytes.subarray(4), line } : undefined;
}

function cosigned(text: string, time: number): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
}

/** `signed-note`: the first four bytes of SHA-256 over the name, a line feed, the type and the key. */
function keyId(name: string, key: Buffer): string {
  return createHash('sha256').update(`${name}\n`).update(key).digest('hex').slice(0, 8);
}

function rawKey(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(spkiPrefix.length);
}
