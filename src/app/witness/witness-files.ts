/**
 * What a witness keeps, in a folder of its own below the state directory: its key, the logs that a person named, and for each log the last
 * checkpoint that was cosigned (its head). Commands write logs, the serving process alone writes heads.
 */

import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { cosignatureType, ed25519Type, parseVerifierKey, verifierKey } from '#audit/signed-note';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { holdLock } from '#stores/sqlite/hold-lock';
import { readPrivateFile, replacePrivateFile, syncFolder, writePrivateFile } from '../config/private-file.ts';
import { signingKeyIn } from '../store/trail-log.ts';

const keyName = 'witness.key';
/** For a moment, by commands. */
const editLock = 'witness-logs';
const mostKeys = 8;

const logSchema = z.strictObject({ origin: z.string(), keys: z.array(z.string()) });
const headSchema = z.strictObject({
  size: z.int().min(0),
  root: z.base64(),
  /** The checkpoint with the log's signature and the cosignature; absent before the first. */
  note: z.string().exactOptional(),
  at: z.iso.datetime().exactOptional(),
});

/** A log that is known here, by its origin. */
export interface WitnessedLog {
  readonly origin: string;
  /** Verifier keys, any of which may sign for it; none: a person removed it. */
  readonly keys: readonly string[];
}

/** The last checkpoint of a log that was cosigned. */
export type WitnessHead = z.output<typeof headSchema>;

/** RFC 6962 §2.1: the root of an empty tree. */
const nothingYet: WitnessHead = { size: 0, root: createHash('sha256').digest('base64') };

export interface WitnessKey {
  readonly name: string;
  readonly privateKey: KeyObject;
  /** `NAME+ID+KEY`: what a log's operator configures. */
  readonly verifier: string;
}

export type WitnessFiles = ReturnType<typeof witnessFiles>;

/** Makes nothing before it is asked for. */
export function witnessFiles(stateDir: string) {
  const folder = join(stateDir, 'witness');
  const read = async <T>(name: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    const text = await readPrivateFile(join(folder, name));
    return text === undefined ? undefined : parsed(text, schema, join(folder, name));
  };
  const log = (origin: string): Promise<WitnessedLog | undefined> => read(`${idOf(origin)}.log`, logSchema);
  return {
    key: () => keyIn(folder),
    log,
    logs: async (): Promise<readonly WitnessedLog[]> => {
      const names = (await namesIn(folder)).filter((name) => name.endsWith('.log'));
      const found = await Promise.all(names.map((name) => read(name, logSchema)));
      return found.filter((one) => one !== undefined).toSorted((left, right) => (left.origin < right.origin ? -1 : 1));
    },
    /** INVARIANT: a head that is gone is no empty one: from that, any tree would be cosigned anew. */
    head: async (origin: string): Promise<WitnessHead> => {
      const found = await read(`${idOf(origin)}.head`, headSchema);
      if (found === undefined) throw lost(`what was cosigned of \`${origin}\` is gone`);
      return found;
    },
    /** On the disk once it resolves, whatever becomes of process or power. */
    keepHead: async (origin: string, head: WitnessHead): Promise<void> => {
      await replacePrivateFile(folder, `${idOf(origin)}.head`, JSON.stringify(head));
      await syncFolder(folder);
    },
    /** The first signed checkpoint that did not go on from the head: evidence. Later ones do not take its place. */
    keepRefused: (origin: string, note: string): Promise<boolean> => writePrivateFile(folder, `${idOf(origin)}.refused`, note),
    refused: (origin: string): Promise<string | undefined> => readPrivateFile(join(folder, `${idOf(origin)}.refused`)),
    /** The same origin's second key is one more that may sign for it. @throws {Fault} `bad_log_key` */
    addLog: (text: string): Promise<WitnessedLog> => editing(folder, () => add(folder, text, log)),
    /** Its head stays: named again, it goes on from there. @throws {Fault} `not_found` */
    removeLog: (origin: string): Promise<void> =>
      editing(folder, async () => {
        if (((await log(origin))?.keys.length ?? 0) === 0) throw new Fault('not_found', 'there is no such log here', { audience: 'user' });
        await keepLog(folder, { origin, keys: [] });
      }),
    /** One process at a time. @throws {Fault} `already_running` */
    hold: () => holdLock(folder, 'witness'),
    /** What a process that was killed while it wrote left behind. For who holds the lock. */
    sweep: async (): Promise<void> => {
      const left = (await namesIn(folder)).filter((name) => /^\.[0-9a-f]{64}\.head-.*\.tmp$/.test(name));
      await editing(folder, () => Promise.all(left.map((name) => rm(join(folder, name), { force: true }))));
    },
  };
}

/** @throws {Fault} `bad_log_key` */
export function logKeyFrom(text: string) {
  const key = parseVerifierKey(text);
  if (key?.type === ed25519Type) return key;
  throw new Fault('bad_log_key', 'this is no verifier key of a log (`NAME+ID+KEY`, Ed25519)', {
    audience: 'user',
    next: '`banksman audit key` shows it, where the log is',
  });
}

async function add(folder: string, text: string, known: (origin: string) => Promise<WitnessedLog | undefined>): Promise<WitnessedLog> {
  const { name: origin } = logKeyFrom(text);
  const keys = new Set([...((await known(origin))?.keys ?? []), text.trim()]);
  if (keys.size > mostKeys) throw new Fault('too_many_keys', say`a log has at most ${mostKeys} keys`, { audience: 'user' });
  // Before it is known: from then on a head must be there.
  await writePrivateFile(folder, `${idOf(origin)}.head`, JSON.stringify(nothingYet));
  const log = { origin, keys: [...keys] };
  await keepLog(folder, log);
  return log;
}

async function keepLog(folder: string, log: WitnessedLog): Promise<void> {
  await replacePrivateFile(folder, `${idOf(log.origin)}.log`, JSON.stringify(log));
  await syncFolder(folder);
}

async function editing<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const release = holdLock(folder, editLock);
  try {
    return await work();
  } finally {
    release();
  }
}

/** Named by what it is, so that a witness with a new key is another witness. */
async function keyIn(folder: string): Promise<WitnessKey> {
  const file = join(folder, keyName);
  const bad = () =>
    new Fault('bad_witness_key', say`${file} holds no Ed25519 key`, {
      next: 'move it away: a new one is made, and is another witness to whoever knew this one',
    });
  const place = { read: () => readPrivateFile(file), keep: async (pem: string) => void (await writePrivateFile(folder, keyName, pem)) };
  const privateKey = await signingKeyIn(place, bad);
  const publicKey = createPublicKey(privateKey);
  const print = createHash('sha256')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest('hex');
  const name = `banksman/witness/${print.slice(0, 32)}`;
  return { name, privateKey, verifier: verifierKey(name, publicKey, cosignatureType) };
}

function parsed<T>(text: string, schema: z.ZodType<T>, file: string): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw lost(`${file} is damaged`, cause);
  }
}

function lost(why: string, cause?: unknown): Fault {
  return new Fault('witness_state_lost', say`${why}: nothing is cosigned for this log`, {
    next: 'this witness is over: make another one with a new key (`--state`), and give it to the logs’ operators',
    ...(cause === undefined ? {} : { cause }),
  });
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch {
    // Nothing was kept yet.
    return [];
  }
}

function idOf(origin: string): string {
  return createHash('sha256').update(origin).digest('hex');
}
