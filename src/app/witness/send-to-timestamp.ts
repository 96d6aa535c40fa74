/**
 * A time stamp server (RFC 3161): a third party's signature that the checkpoint was there at a time. Its tokens are kept beside the store.
 *
 * LIMIT: what is looked at here is that the server granted a token for this very hash and this question; its signature is checked by
 * whoever uses the token (`openssl ts -verify -data N.note -in N.tsr -CAfile CA`).
 */
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Fault } from '#kernel/errors';
import { replacePrivateFile } from '../config/private-file.ts';
import type { Send } from './witness.ts';

const sha256Oid = Buffer.from('0609608648016503040201', 'hex');
const mostAnswer = 64 * 1024;

export function sendToTimestamp(url: string, folder: string): Send {
  return async ({ checkpoint, note, signal }) => {
    const hash = createHash('sha256').update(note).digest();
    const nonce = Buffer.concat([Buffer.of(1), randomBytes(15)]);
    const body = timeStampRequest(hash, nonce);
    const answer = await fetch(url, {
      method: 'POST',
      body,
      signal,
      redirect: 'error',
      headers: { 'content-type': 'application/timestamp-query' },
    });
    const reply = Buffer.from(await answer.arrayBuffer());
    if (!answer.ok || reply.length > mostAnswer) throw failed(url, `answered ${answer.status} with ${reply.length} bytes`);
    const status = statusOf(reply);
    if (status === undefined || status > 1)
      throw failed(url, status === undefined ? 'answered what is no time stamp' : `refused (status ${status})`);
    if (!reply.includes(hash) || !reply.includes(nonce)) throw failed(url, 'answered with the time stamp of something else');
    await replacePrivateFile(folder, `${checkpoint.size}.note`, note);
    await replacePrivateFile(folder, `${checkpoint.size}.tsr`, reply);
    return join(folder, `${checkpoint.size}.tsr`);
  };
}

function failed(url: string, why: string): Fault {
  return new Fault('witness_failed', `${url} ${why}`, { retryable: true });
}

/** RFC 3161 §2.4.1: version 1, SHA-256, a nonce, and with the server's certificate in the answer. */
export function timeStampRequest(hash: Uint8Array, nonce: Uint8Array): Buffer {
  const algorithm = der(0x30, sha256Oid, der(0x05));
  const imprint = der(0x30, algorithm, der(0x04, hash));
  return der(0x30, der(0x02, Buffer.of(1)), imprint, der(0x02, nonce), der(0x01, Buffer.of(0xff)));
}

/** Contents below 128 bytes, as all here are. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag, content.length), content]);
}

/** TimeStampResp ::= SEQUENCE { PKIStatusInfo ::= SEQUENCE { status INTEGER, … }, … } */
function statusOf(reply: Buffer): number | undefined {
  const outer = contentAt(reply, 0, 0x30);
  const info = outer === undefined ? undefined : contentAt(reply, outer, 0x30);
  const status = info === undefined ? undefined : contentAt(reply, info, 0x02);
  return status === undefined ? undefined : reply[status];
}

/** Where the content of the element at `at` begins. */
function contentAt(bytes: Buffer, at: number, tag: number): number | undefined {
  const length = bytes[at + 1];
  if (bytes[at] !== tag || length === undefined) return undefined;
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}
