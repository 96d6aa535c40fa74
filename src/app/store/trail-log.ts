/** The trail as a log that others can check: its key, its signed checkpoints, and proofs for them. */

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { checkpointFlaw } from '#audit/compare-trail';
import { consistencyPath, inclusionPath, rootOf, type TreeHash } from '#audit/merkle';
import { checkpointText, signNote, verifierKey } from '#audit/signed-note';
import { readerOf } from '#audit/verify-tree';
import type { AuditTrail, SignedCheckpoint } from '#kernel/app';
import { Fault } from '#kernel/errors';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { AuditLog, TrailTree, TreeState } from '#kernel/ports/audit-log';
import { say } from '#kernel/text/message';
import { readPrivateFile, writePrivateFile } from '../config/private-file.ts';

const keyFileName = 'log.key';

/** Where the log's key is kept: the text is PEM (PKCS#8). */
export interface LogKeyPlace {
  read(): Promise<string | undefined>;
  /** Keeps it where there is none yet. */
  keep(pem: string): Promise<void>;
}

export interface LogKeyOptions {
  readonly stateDir: string;
  readonly logKey?: LogKeyPlace;
}

/**
 * A file of this account's. SECURITY: where agents run in the same account, they can sign with it, too: then only a checkpoint that somebody
 * else keeps proves anything. The service's key lies with the service's user.
 */
function logKeyFile(stateDir: string): LogKeyPlace {
  return {
    read: () => readPrivateFile(join(stateDir, keyFileName)),
    keep: async (pem) => void (await writePrivateFile(stateDir, keyFileName, pem)),
  };
}

function badLogKey(): Fault {
  return new Fault('bad_log_key', say`\`${keyFileName}\` holds no Ed25519 key`, {
    next: 'move it away: a new one is made, and the trail says so',
  });
}

/** What of the trail needs the tree. */
export function trailLog(
  audit: AuditLog,
  { stateDir, logKey = logKeyFile(stateDir) }: LogKeyOptions,
): Pick<AuditTrail, 'checkpoint' | 'prove' | 'proveSince'> {
  const sign = createSigner(logKey);
  const checkpoint = async (): Promise<SignedCheckpoint> => sign(treeOf(audit));
  return {
    checkpoint,
    prove: async (wanted) => {
      const tree = treeOf(audit);
      const { note, checkpoint: made } = await checkpoint();
      const index = await leafOf(tree, wanted, made.size);
      const [[leaf], [record], path] = await Promise.all([
        tree.hashes(0, index, 1),
        tree.records(index, 1),
        pathOf(tree, index, made.size),
      ]);
      if (leaf === undefined || path === undefined)
        throw new Fault(
          'not_kept',
          say`record ${wanted} has left the trail, and so has its hash: what is left proves it only as a part of the whole`,
          {
            audience: 'user',
            next: 'keep a proof of what has to be proven later, or an export',
          },
        );
      const text = record === undefined ? undefined : canonicalJson(record as unknown as JsonObject);
      return {
        banksman_proof: 1,
        ...(text === undefined ? {} : { record: text }),
        ...{ leaf, index, size: made.size, path: hexes(path), checkpoint: note },
      };
    },
    proveSince: async (seen) => {
      const tree = treeOf(audit);
      const flaw = await checkpointFlaw(tree, seen);
      if (flaw !== undefined) throw new Fault('not_continued', flaw, { audience: 'user' });
      const { note, checkpoint: made } = await checkpoint();
      const path = hexes(await consistencyPath(readerOf(tree), seen.size, made.size));
      return { banksman_proof: 1, from: seen.size, from_root: seen.root, size: made.size, path, checkpoint: note };
    },
  };
}

async function leafOf(tree: TrailTree, wanted: number | string, size: number): Promise<number> {
  const { first } = await tree.state();
  const index = typeof wanted === 'number' ? wanted - first : await tree.find(wanted);
  if (index !== undefined && index >= 0 && index < size) return index;
  throw new Fault('not_found', say`record ${wanted} is not in the tree, which has those from ${first} to ${first + size - 1}`, {
    audience: 'user',
  });
}

/** undefined: hashes of it are no longer kept one by one. */
async function pathOf(tree: TrailTree, index: number, size: number): Promise<readonly TreeHash[] | undefined> {
  try {
    return await inclusionPath(readerOf(tree), index, size);
  } catch (thrown) {
    if (thrown instanceof RangeError && index < (await tree.state()).kept) return undefined;
    throw thrown;
  }
}

function treeOf({ tree }: AuditLog): TrailTree {
  if (tree !== undefined) return tree;
  throw new Fault('no_tree', 'this trail has no tree: it gives neither checkpoints nor proofs', {
    audience: 'user',
    next: 'keep exports (`banksman audit export`), and compare with `audit verify --since EXPORT`',
  });
}

function createSigner(place: LogKeyPlace): (tree: TrailTree) => Promise<SignedCheckpoint> {
  let known: Promise<KeyObject> | undefined;
  return async (tree) => {
    known ??= signingKeyIn(place, badLogKey);
    const privateKey = await known.catch((thrown: unknown) => {
      known = undefined;
      throw thrown;
    });
    const { key, state } = await announced(tree, privateKey);
    const { origin, size, first, end } = state;
    if (size !== end - first + 1)
      throw new Fault(
        'audit_broken',
        say`the trail ends at record ${end}, and the tree of its hashes at ${first + size - 1}: nothing is signed`,
        {
          next: 'run `banksman audit verify`, and keep the file',
        },
      );
    await tree.pin?.(size);
    const root = (await rootOf(readerOf(tree), size)).toString('base64');
    const checkpoint = { origin, size, root };
    return { checkpoint, key, note: signNote(checkpointText(checkpoint), origin, privateKey) };
  };
}

/** A key signs for a name: the tree of a shared store without any record has none yet. */
async function announced(tree: TrailTree, privateKey: KeyObject): Promise<{ readonly key: string; readonly state: TreeState }> {
  if ((await tree.state()).origin === '') await tree.begin?.();
  const { origin } = await tree.state();
  const key = verifierKey(origin, createPublicKey(privateKey));
  await tree.announceKey(key);
  return { key, state: await tree.state() };
}

/** Made where there is none yet. @throws {Fault} `bad` where what is kept is no key */
export async function signingKeyIn(place: LogKeyPlace, bad: () => Fault): Promise<KeyObject> {
  const kept = await place.read();
  if (kept !== undefined) return parseKey(kept, bad);
  await place.keep(String(generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' })));
  // Another process may have been faster.
  const made = await place.read();
  if (made === undefined) throw new Fault('no_log_key', 'the key of the log could not be kept');
  return parseKey(made, bad);
}

function parseKey(pem: string, bad: () => Fault): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below: what is in the file is not repeated.
  }
  throw bad();
}

function hexes(path: readonly TreeHash[]): readonly string[] {
  return path.map((hash) => hash.toString('hex'));
}
