/** A log for a witness, made by hand: no code of ours signs its checkpoints, checks cosignatures or computes its trees. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';

const sha256 = (...parts: readonly Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest();

/** RFC 6962 §2.1, as it is written there. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  const [only] = leaves;
  if (leaves.length === 1 && only !== undefined) return sha256(Buffer.of(0), only);
  const split = splitOf(leaves.length);
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

/** RFC 6962 §2.1.2, as it is written there. */
function proofOf(from: number, leaves: readonly Buffer[], isWhole: boolean): readonly Buffer[] {
  if (from === leaves.length) return isWhole ? [] : [rootOf(leaves)];
  const split = splitOf(leaves.length);
  if (from <= split) return [...proofOf(from, leaves.slice(0, split), isWhole), rootOf(leaves.slice(split))];
  return [...proofOf(from - split, leaves.slice(split), false), rootOf(leaves.slice(0, split))];
}

function splitOf(count: number): number {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}

function rawKey(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(12);
}

function idOf(name: string, type: number, key: Buffer): Buffer {
  return sha256(Buffer.from(`${name}\n`), Buffer.of(type), key).subarray(0, 4);
}

export interface TestLog {
  readonly origin: string;
  /** `NAME+ID+KEY`. */
  readonly key: string;
  note(size: number, branch?: string): string;
  /** `add-checkpoint` from `old` to `size` records. */
  request(old: number, size: number, branch?: string): string;
  root(size: number, branch?: string): string;
}

/** @param shared so many first records are the same in every branch */
export function testLog(origin = 'log.example/trail', shared = 0): TestLog {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = rawKey(privateKey);
  const id = idOf(origin, 1, key);
  const leaves = (size: number, branch: string) =>
    Array.from({ length: size }, (_, at) => Buffer.from(at < shared ? `record ${at}` : `record ${at} of ${branch}`));
  const root = (size: number, branch = 'a') => rootOf(leaves(size, branch)).toString('base64');
  const note = (size: number, branch = 'a') => {
    const text = `${origin}\n${size}\n${root(size, branch)}\n`;
    return `${text}\n— ${origin} ${Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString('base64')}\n`;
  };
  return {
    origin,
    key: `${origin}+${id.toString('hex')}+${Buffer.concat([Buffer.of(1), key]).toString('base64')}`,
    note,
    root,
    request: (old, size, branch = 'a') => {
      const proof = old === 0 || old >= size ? [] : proofOf(old, leaves(size, branch), true);
      return [`old ${old}`, ...proof.map((hash) => hash.toString('base64')), '', note(size, branch)].join('\n');
    },
  };
}

/** Whether `line` is a `cosignature/v1` of the note by the witness with this verifier key. */
export function isCosigned(note: string, line: string, verifier: string): boolean {
  const [name = '', id = '', ...encoded] = verifier.split('+');
  const typed = Buffer.from(encoded.join('+'), 'base64');
  const [, by, signature = ''] = /^— (\S+) (\S+)\n$/.exec(line) ?? [];
  const bytes = Buffer.from(signature, 'base64');
  if (by !== name || typed[0] !== 4 || bytes.length !== 76 || bytes.subarray(0, 4).toString('hex') !== id) return false;
  if (!idOf(name, 4, typed.subarray(1)).equals(bytes.subarray(0, 4))) return false;
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
  const signed = Buffer.from(`cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n${text}`);
  const key = createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), typed.subarray(1)]),
    format: 'der',
    type: 'spki',
  });
  return verify(null, signed, key, bytes.subarray(12));
}
