/** A witness over HTTP (https://c2sp.org/tlog-witness): it checks that the trail goes on from what it saw, and says so with its own signature. */
import { consistencyPath } from '#audit/merkle';
import { isSignedBy, parseNote, parseVerifierKey } from '#audit/signed-note';
import { readerOf } from '#audit/verify-tree';
import { Fault } from '#kernel/errors';
import { differs, type Send, type Sending } from './witness.ts';

const mostAnswer = 16 * 1024;

export function sendToWitness(url: string, verifierKey: string): Send {
  return async (sending) => {
    const key = parseVerifierKey(verifierKey);
    if (key === undefined) throw new Fault('bad_witness_key', `the key of ${url} is no Ed25519 verifier key`, { audience: 'operator' });
    const lines = await submit(url, sending, sending.known);
    const cosigned = parseNote(`${sending.note}${lines}`);
    // What it says for itself is no witness's signature until the key says so.
    if (cosigned === undefined || isSignedBy(cosigned, key) !== true)
      throw new Fault('witness_failed', `${url} answered without a signature of \`${key.name}\``, { retryable: true });
    return cosigned.signatures
      .filter(({ name }) => name === key.name)
      .map(({ line }) => `${line}\n`)
      .join('');
  };
}

/** Once more where the witness says that it is further, or not as far, as is remembered here. */
async function submit(url: string, sending: Sending, old: number, isAgain = false): Promise<string> {
  const answer = await post(url, sending, old);
  if (answer.status === 200) return answer.text;
  const has = sizeIn(answer);
  if (has === undefined) throw refused(url, answer, { ...sending, known: old });
  const { size } = sending.checkpoint;
  if (has > size)
    throw differs(
      `${url} has seen ${has} records of this trail, which has ${size} now: its end was cut off, or an older copy was put in its place`,
    );
  if (!isAgain && has !== old) return submit(url, sending, has, true);
  // The same size as its own, and another root.
  throw differs(`${url} has another trail of ${has} records: this one was rewritten`);
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A conflict comes with the size that the witness has. */
function sizeIn({ status, text }: Answer): number | undefined {
  const [digits] = (status === 409 && /^\d{1,15}(?=\n?$)/.exec(text)) || [];
  return digits === undefined ? undefined : Number(digits);
}

function refused(url: string, { status, text }: Answer, { known, other, checkpoint }: Sending): Fault {
  if (status === 422) return differs(`${url} says that the trail does not go on from what it saw (${known} records): it was rewritten`);
  if (status === 404 && other !== undefined)
    return differs(
      `${url} has cosigned \`${other}\`, and this is another trail (\`${checkpoint.origin}\`): the store was replaced, or deleted and made anew`,
    );
  const isUnknown = status === 404 || status === 403;
  const next = 'the witness has to know this log: give its operator what `banksman audit key` shows';
  return new Fault('witness_failed', `${url} answered ${status} ${shortly(text)}`, {
    retryable: status >= 500,
    ...(isUnknown ? { next } : {}),
  });
}

async function post(url: string, { tree, checkpoint, note, signal }: Sending, old: number): Promise<Answer> {
  const path = old > checkpoint.size ? [] : await consistencyPath(readerOf(tree), old, checkpoint.size);
  const body = [`old ${old}`, ...path.map((hash) => hash.toString('base64')), '', note].join('\n');
  const answer = await fetch(`${url.replace(/\/$/, '')}/add-checkpoint`, { method: 'POST', body, signal, redirect: 'error' });
  return { status: answer.status, text: (await textOf(answer)).slice(0, mostAnswer) };
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > mostAnswer) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function shortly(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200);
}
