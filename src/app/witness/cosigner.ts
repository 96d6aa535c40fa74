/**
 * A witness for other logs (https://c2sp.org/tlog-witness): it looks whether a checkpoint goes on from the last one that it cosigned, and
 * signs that it does.
 *
 * INVARIANT: of one log it never cosigns two trees of one size, nor a smaller one after a larger: the head is on the disk before anybody sees
 * the cosignature, checkpoints are looked at one after the other, and one process at a time has the files.
 */
import { verifyConsistency } from '#audit/merkle';
import { cosignNote, isSignedBy, parseCheckpoint, parseNote, parseVerifierKey, type SignedNote } from '#audit/signed-note';
import type { Checkpoint } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import { showPlainly } from '#kernel/text/text';
import type { WitnessFiles, WitnessHead, WitnessKey } from './witness-files.ts';

export interface CosignerAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly body: string;
  readonly type?: string;
}

export interface Cosigner {
  /** `NAME+ID+KEY`. */
  readonly key: string;
  /** @param body of `add-checkpoint`. @throws where the head can be neither read nor kept: nothing is cosigned then */
  add(body: Uint8Array): Promise<CosignerAnswer>;
  /** After what is under way. */
  close(): Promise<void>;
}

/** @throws {Fault} `already_running`, `bad_witness_key` */
export async function createCosigner(files: WitnessFiles, log: Log): Promise<Cosigner> {
  const release = files.hold();
  try {
    await files.sweep();
    const key = await files.key();
    let last: Promise<unknown> = Promise.resolve();
    return {
      key: key.verifier,
      add: (body) => {
        const answer = last.then(() => answerTo(body, { files, key, log }));
        last = answer.catch(() => undefined);
        return answer;
      },
      close: async () => {
        await last;
        release();
      },
    };
  } catch (thrown) {
    release();
    throw thrown;
  }
}

interface Parts {
  readonly files: WitnessFiles;
  readonly key: WitnessKey;
  readonly log: Log;
}

async function answerTo(body: Uint8Array, parts: Parts): Promise<CosignerAnswer> {
  const asked = parseRequest(body);
  if (asked === undefined) return says(400, 'this is no add-checkpoint request');
  const { origin, size } = asked.checkpoint;
  const known = await parts.files.log(origin);
  if (known === undefined || known.keys.length === 0) return says(404, 'this log is not known here');
  const signers = known.keys.map(parseVerifierKey).filter((key) => key !== undefined);
  const signer = signers.find((key) => isSignedBy(asked.note, key) === true);
  if (signer === undefined) return says(403, 'no key that is known here for this log has signed it');
  if (asked.old > size) return says(400, 'the old size is larger than the checkpoint');
  const seen = { head: await parts.files.head(origin), signed: signedBy(asked.note, signer) };
  return (await refusalOf(asked, seen, parts)) ?? cosign(asked, seen, parts);
}

interface Seen {
  readonly head: WitnessHead;
  /** The checkpoint with its log's signature alone. */
  readonly signed: string;
}

/** undefined: it goes on from the head. */
async function refusalOf(
  { old, path, checkpoint: { origin, size, root } }: Asked,
  { head, signed }: Seen,
  { files, log }: Parts,
): Promise<CosignerAnswer | undefined> {
  if (old !== head.size) return conflict(head);
  const roots = { fromRoot: Buffer.from(head.root, 'base64'), root: Buffer.from(root, 'base64') };
  const isOther = old === size && !roots.root.equals(roots.fromRoot);
  if (!isOther && verifyConsistency({ from: old, size, path, ...roots })) return undefined;
  const shown = showPlainly(origin, 200);
  log.warn(`witness: ${shown}: a signed checkpoint of ${size} records does not go on from the one of ${head.size} that was cosigned`);
  await files.keepRefused(origin, signed);
  return isOther ? conflict(head) : says(422, 'the proof does not show that the log goes on');
}

async function cosign({ note: { text }, checkpoint: { origin, size, root } }: Asked, { head, signed }: Seen, { files, key }: Parts) {
  const now = Date.now();
  const line = cosignNote(text, key.name, { privateKey: key.privateKey, time: Math.floor(now / 1000) });
  // The same tree once more is a new signature, and nothing to keep.
  if (size > head.size || head.note === undefined)
    await files.keepHead(origin, { size, root, note: `${signed}${line}`, at: new Date(now).toISOString() });
  return says(200, line);
}

function conflict({ size }: WitnessHead): CosignerAnswer {
  return { status: 409, body: `${size}\n`, type: 'text/x.tlog.size' };
}

function says(status: CosignerAnswer['status'], text: string): CosignerAnswer {
  return { status, body: text.endsWith('\n') ? text : `${text}\n` };
}

/** Without signatures of others, which anybody can add by the kilobyte. */
function signedBy({ text, signatures }: SignedNote, { name, id }: { readonly name: string; readonly id: string }): string {
  const lines = signatures.filter((one) => one.name === name && one.id === id).map(({ line }) => `${line}\n`);
  return `${text}\n${lines.join('')}`;
}

interface Asked {
  readonly old: number;
  readonly path: readonly Buffer[];
  readonly note: SignedNote;
  readonly checkpoint: Checkpoint;
}

/** So many hashes prove anything that 2^63 records can do. */
const mostProof = 63;
/** `signed-note`: a note has no control characters but the line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0009\u000b-\u001f\u007f]/;

/** `old SIZE`, the proof's lines, an empty line, the note. undefined for anything else. */
function parseRequest(body: Uint8Array): Asked | undefined {
  const text = decoded(body);
  const end = text?.indexOf('\n\n') ?? -1;
  if (text === undefined || end < 0 || controls.test(text)) return undefined;
  const claim = claimIn(text.slice(0, end).split('\n'));
  const note = parseNote(text.slice(end + 2));
  const checkpoint = note && checkpointIn(note);
  return claim === undefined || note === undefined || checkpoint === undefined ? undefined : { ...claim, note, checkpoint };
}

function claimIn([first = '', ...proof]: readonly string[]): Pick<Asked, 'old' | 'path'> | undefined {
  const old = /^old (0|[1-9]\d{0,14})$/.exec(first)?.[1];
  const path = proof.map(hashFrom).filter((hash) => hash !== undefined);
  if (old === undefined || path.length !== proof.length || path.length > mostProof) return undefined;
  return { old: Number(old), path };
}

/** `tlog-checkpoint`: lines of extension are not empty. */
function checkpointIn(note: SignedNote): Checkpoint | undefined {
  const checkpoint = parseCheckpoint(note);
  return checkpoint === undefined || note.text.includes('\n\n') || hashFrom(checkpoint.root) === undefined ? undefined : checkpoint;
}

/** Of the one text that 32 bytes have. */
function hashFrom(text: string): Buffer | undefined {
  const hash = Buffer.from(text, 'base64');
  return hash.length === 32 && hash.toString('base64') === text ? hash : undefined;
}

function decoded(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}
