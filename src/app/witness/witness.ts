/**
 * What every kind of witness is, something elsewhere that gets checkpoints, and the four there are: a file, a branch, a time stamp server,
 * a witness over HTTP.
 */

import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { firstFlaw } from '#audit/compare-trail';
import { consistencyPath } from '#audit/merkle';
import { isSignedBy, parseCheckpoint, parseNote, parseVerifierKey } from '#audit/signed-note';
import { readerOf } from '#audit/verify-tree';
import { programRunner } from '#execution/run-child';
import type { SignedCheckpoint } from '#kernel/app';
import { Fault } from '#kernel/errors';
import type { Checkpoint, TrailTree } from '#kernel/ports/audit-log';
import { say } from '#kernel/text/message';
import { replacePrivateFile } from '../config/private-file.ts';

/** What is sent: the newest checkpoint, and the tree for proofs from older ones. */
export interface Sending extends SignedCheckpoint {
  readonly tree: TrailTree;
  /** What this witness had last, as this machine remembers it. */
  readonly known: number;
  /** The trail that this witness had last, where it is another than this one. */
  readonly other?: string;
  readonly signal: AbortSignal;
}

/** Resolves with what the witness answered that is worth keeping (cosignatures, the place of a token); undefined: nothing. */
export type Send = (sending: Sending) => Promise<string | undefined>;

/** @throws {Fault} `witness_differs` where the trail does not go on from what the witness has: the trail was set back or rewritten, or the witness's copy was */
async function requireContinued(tree: TrailTree, seen: readonly Checkpoint[]): Promise<void> {
  const flaw = await firstFlaw(tree, seen);
  if (flaw !== undefined) throw differs(flaw);
}

function differs(why: string): Fault {
  return new Fault('witness_differs', why, { next: 'keep the store’s file and what the witness has, and find out who changed which' });
}

/** The checkpoints in a list of signed notes, oldest first. What is none is left out. */
export function checkpointsIn(list: string): readonly Checkpoint[] {
  const parts = list.split('\n\n');
  return parts.flatMap((text, at) => {
    const note = parseNote(`${text.replace(/^\n+/, '')}\n\n${parts[at + 1]?.trimEnd() ?? ''}\n`);
    const checkpoint = note && parseCheckpoint(note);
    return checkpoint === undefined ? [] : [checkpoint];
  });
}

/** So much of the list's end is looked at. */
const lookBytes = 64 * 1024;

/** A list of one trail's checkpoints elsewhere, only ever added to: another disk, a share, a path that another user or a write-once mount keeps. */
export function sendToFile(file: string): Send {
  return async ({ tree, checkpoint, note }) => {
    const handle = await open(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600);
    try {
      const { size } = await handle.stat();
      const from = Math.max(0, size - lookBytes);
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(size - from), position: from });
      const listed = checkpointsIn(buffer.toString('utf8', 0, bytesRead));
      await requireContinued(tree, listed);
      if (listed.at(-1)?.size === checkpoint.size) return undefined;
      await handle.appendFile(`${size === 0 ? '' : '\n'}${note}`);
      await handle.sync();
      return undefined;
    } finally {
      await handle.close();
    }
  };
}

const branchFile = 'checkpoint';

/**
 * A branch of a Git remote: one commit a checkpoint, never forced, so that whoever keeps the remote keeps all of them.
 * @param folder a repository of our own, made where missing
 */
export function sendToGit(remote: string, branch: string, folder: string): Send {
  return async ({ tree, checkpoint, note, signal }) => {
    const git = (args: readonly string[], input?: string) => runGit(['-C', folder, ...args], signal, input);
    await runGit(['init', '-q', '--bare', folder], signal);
    const parent = await newest(git, remote, branch);
    if (parent !== undefined) {
      const newestKept = checkpointsIn(await git(['show', `${parent}:${branchFile}`]));
      await requireContinued(tree, newestKept);
      if (newestKept.at(-1)?.size === checkpoint.size) return undefined;
    }
    const blob = (await git(['hash-object', '-w', '--stdin'], note)).trim();
    const listing = (await git(['mktree'], `100644 blob ${blob}\t${branchFile}\n`)).trim();
    const message = `Checkpoint of ${checkpoint.size} records`;
    const commit = (await git(['commit-tree', listing, ...(parent === undefined ? [] : ['-p', parent]), '-m', message])).trim();
    await git(['push', '-q', remote, `${commit}:refs/heads/${branch}`]);
    return commit;
  };
}

async function newest(git: (args: readonly string[]) => Promise<string>, remote: string, branch: string): Promise<string | undefined> {
  const [listed = ''] = (await git(['ls-remote', remote, `refs/heads/${branch}`])).split('\t');
  if (!/^[0-9a-f]{40,64}$/.test(listed)) return undefined;
  await git(['fetch', '-q', '--no-tags', remote, `refs/heads/${branch}`]);
  return listed;
}

const gitMs = 60_000;

async function runGit(args: readonly string[], signal: AbortSignal, input?: string): Promise<string> {
  const { exitCode, stdout, stderr, timedOut } = await programRunner.run(
    {
      program: 'git',
      args,
      cwd: '/',
      env: gitEnvironment(),
      timeoutMs: gitMs,
      keepBytes: 64 * 1024,
      ...(input === undefined ? {} : { input }),
    },
    signal,
  );
  if (exitCode === 0) return stdout;
  const why = timedOut ? `took longer than ${gitMs / 1000} s` : stderr.trim().slice(0, 500);
  throw new Fault('witness_failed', say`git ${args.find((word) => /^[a-z]/.test(word)) ?? ''}: ${why}`, { retryable: true });
}

/** SECURITY: no transport that runs a program of the URL's, and nobody is asked for a password. */
function gitEnvironment(): Record<string, string> {
  const { PATH = '/usr/bin:/bin', HOME = '/', SSH_AUTH_SOCK: agent } = process.env;
  const person = { NAME: 'Banksman', EMAIL: 'banksman@localhost' };
  const names = Object.entries(person).flatMap(([key, value]) => [
    [`GIT_AUTHOR_${key}`, value] as const,
    [`GIT_COMMITTER_${key}`, value] as const,
  ]);
  return {
    ...{ PATH, HOME, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh' },
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
    ...(agent === undefined ? {} : { SSH_AUTH_SOCK: agent }),
    ...Object.fromEntries(names),
  };
}

const sha256Oid = Buffer.from('0609608648016503040201', 'hex');
const mostStamp = 64 * 1024;

/**
 * A time stamp server (RFC 3161): a third party's signature that the checkpoint was there at a time. Its tokens are kept beside the store.
 *
 * LIMIT: what is looked at here is that the server granted a token for this very hash and this question; its signature is checked by
 * whoever uses the token (`openssl ts -verify -data N.note -in N.tsr -CAfile CA`).
 */
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
    const reply = await bodyOf(answer, mostStamp);
    if (reply.length > mostStamp) throw stampFailed(url, `answered with more than ${mostStamp} bytes`);
    if (!answer.ok) throw stampFailed(url, `answered ${answer.status} with ${reply.length} bytes`);
    const status = statusOf(reply);
    if (status === undefined || status > 1)
      throw stampFailed(url, status === undefined ? 'answered what is no time stamp' : `refused (status ${status})`);
    if (!reply.includes(hash) || !reply.includes(nonce)) throw stampFailed(url, 'answered with the time stamp of something else');
    await replacePrivateFile(folder, `${checkpoint.size}.note`, note);
    await replacePrivateFile(folder, `${checkpoint.size}.tsr`, reply);
    return join(folder, `${checkpoint.size}.tsr`);
  };
}

function stampFailed(url: string, why: string): Fault {
  return new Fault('witness_failed', say`${url} ${why}`, { retryable: true });
}

/** RFC 3161 §2.4.1: version 1, SHA-256, a nonce, and with the server's certificate in the answer. */
function timeStampRequest(hash: Uint8Array, nonce: Uint8Array): Buffer {
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

const mostCosignatures = 16 * 1024;

/**
 * A witness over HTTP (https://c2sp.org/tlog-witness): it checks that the trail goes on from what it saw, and says so with its own
 * signature.
 */
export function sendToWitness(url: string, verifierKey: string): Send {
  return async (sending) => {
    const key = parseVerifierKey(verifierKey);
    if (key === undefined) throw new Fault('bad_witness_key', say`the key of ${url} is no Ed25519 verifier key`, { audience: 'operator' });
    const lines = await submit(url, sending, sending.known);
    const cosigned = parseNote(`${sending.note}${lines}`);
    // What it says for itself is no witness's signature until the key says so.
    if (cosigned === undefined || isSignedBy(cosigned, key) !== true)
      throw new Fault('witness_failed', say`${url} answered without a signature of \`${key.name}\``, { retryable: true });
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
  if (has === undefined) throw witnessRefused(url, answer, { ...sending, known: old });
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

function witnessRefused(url: string, { status, text }: Answer, { known, other, checkpoint }: Sending): Fault {
  if (status === 422) return differs(`${url} says that the trail does not go on from what it saw (${known} records): it was rewritten`);
  if (status === 404 && other !== undefined)
    return differs(
      `${url} has cosigned \`${other}\`, and this is another trail (\`${checkpoint.origin}\`): the store was replaced, or deleted and made anew`,
    );
  const isUnknown = status === 404 || status === 403;
  const next = 'the witness has to know this log: give its operator what `banksman audit key` shows';
  return new Fault('witness_failed', say`${url} answered ${status} ${shortly(text)}`, {
    retryable: status >= 500,
    ...(isUnknown ? { next } : {}),
  });
}

async function post(url: string, { tree, checkpoint, note, signal }: Sending, old: number): Promise<Answer> {
  const path = old > checkpoint.size ? [] : await consistencyPath(readerOf(tree), old, checkpoint.size);
  const body = [`old ${old}`, ...path.map((hash) => hash.toString('base64')), '', note].join('\n');
  const answer = await fetch(`${url.replace(/\/$/, '')}/add-checkpoint`, { method: 'POST', body, signal, redirect: 'error' });
  return { status: answer.status, text: (await bodyOf(answer, mostCosignatures)).toString('utf8', 0, mostCosignatures) };
}

/** Nobody fills this process: where there is more than `most`, the rest is not read. */
async function bodyOf({ body }: Response, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > most) break;
  }
  return Buffer.concat(chunks);
}

function shortly(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200);
}
