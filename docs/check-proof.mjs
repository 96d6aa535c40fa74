// Checks a proof that `banksman audit prove` printed, without Banksman: `node check-proof.mjs PROOF.json KEY`.
// KEY is what `banksman audit key` shows; take it from somewhere else than the proof. Needs Node 18 or newer and nothing else.
// RFC 6962 (hashes), RFC 9162 §2.1.3.2 and §2.1.4.2 (proofs), https://c2sp.org/signed-note and https://c2sp.org/tlog-checkpoint (checkpoint).
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
const node = (left, right) => sha256(Buffer.of(1), left, right);
const bytes = (hex) => Buffer.from(hex, 'hex');

const [file, key] = process.argv.slice(2);
if (file === undefined || key === undefined) fail('usage: node check-proof.mjs PROOF.json KEY');
const proof = JSON.parse(readFileSync(file, 'utf8'));
const { size, root } = checkpoint(proof.checkpoint, key);
if (proof.size !== size) fail(`the proof is for ${proof.size} records, its checkpoint for ${size}`);
if (!Number.isSafeInteger(proof.from ?? proof.index)) fail('`from` or `index` is no whole number');
const path = proof.path.map(bytes);

if (proof.from !== undefined) {
  const from = Buffer.from(proof.from_root, 'base64');
  if (!goesOn(proof.from, size, { steps: path, fromRoot: from, top: root }))
    fail(`the ${size} records do not go on from the ${proof.from} with root ${proof.from_root}`);
  process.stdout.write(
    `ok: the trail of ${size} records goes on from the checkpoint of ${proof.from} records with root ${proof.from_root}\n`,
  );
} else {
  const leaf = proof.record === undefined ? bytes(proof.leaf) : sha256(Buffer.of(0), Buffer.from(proof.record));
  if (!leaf.equals(bytes(proof.leaf))) fail('the record is not the one that the proof is for');
  if (!includes(leaf, proof.index, { count: size, steps: path, top: root })) fail('the record is not in the tree of the checkpoint');
  const what = proof.record ?? `the record with the hash ${proof.leaf} (it has left the trail)`;
  process.stdout.write(`ok: number ${proof.index + 1} of ${size} is ${what}\n`);
}

/** The note must be signed by the key. */
function checkpoint(note, verifierKey) {
  const [, name, id, encoded] = /^(\S+)\+([0-9a-f]{8})\+(\S+)$/.exec(verifierKey) ?? fail('KEY is no verifier key');
  const raw = Buffer.from(encoded, 'base64');
  if (raw.length !== 33 || raw[0] !== 1) fail('KEY is no Ed25519 key of a log');
  if (sha256(Buffer.from(`${name}\n`), raw).toString('hex', 0, 4) !== id) fail('KEY has been altered');
  const publicKey = createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw.subarray(1)]),
    format: 'der',
    type: 'spki',
  });
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const isSigned = note
    .slice(end + 2)
    .split('\n')
    .some((line) => {
      const [, by, signature] = /^— (\S+) (\S+)$/.exec(line) ?? [];
      const found = Buffer.from(signature ?? '', 'base64');
      return by === name && found.toString('hex', 0, 4) === id && verify(null, Buffer.from(text), publicKey, found.subarray(4));
    });
  if (!isSigned) fail('the checkpoint is not signed by this key');
  const [origin, count, hash] = text.split('\n');
  if (origin !== name) fail(`the checkpoint is of \`${origin}\`, not of \`${name}\``);
  return { size: Number(count), root: Buffer.from(hash, 'base64') };
}

function includes(leaf, index, { count, steps, top }) {
  if (!(index >= 0 && index < count)) return false;
  let hash = leaf;
  const isAtTop = climb(index, count - 1, steps, (step, isLeft) => {
    hash = isLeft ? node(step, hash) : node(hash, step);
  });
  return isAtTop && hash.equals(top);
}

function goesOn(from, count, { steps, fromRoot, top }) {
  if (from === 0 || from === count) return steps.length === 0 && fromRoot.equals(from === 0 ? sha256() : top);
  if (!(from > 0 && from < count)) return false;
  const [first, ...rest] = Number.isInteger(Math.log2(from)) ? [fromRoot, ...steps] : steps;
  if (first === undefined) return false;
  let [at, last, old, now] = [from - 1, count - 1, first, first];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  const isAtTop = climb(at, last, rest, (step, isLeft) => {
    [old, now] = isLeft ? [node(step, old), node(step, now)] : [old, node(now, step)];
  });
  return [isAtTop, old.equals(fromRoot), now.equals(top)].every(Boolean);
}

function climb(start, end, steps, join) {
  let [at, last] = [start, end];
  for (const step of steps) {
    if (last === 0) return false;
    const isLeft = at % 2 === 1 || at === last;
    join(step, isLeft);
    if (isLeft) while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0;
}

function fail(why) {
  process.stderr.write(`NOT proven: ${why}\n`);
  process.exit(1);
}
