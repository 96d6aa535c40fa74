/** Approvers' locked keys on this machine: one 0600 file per name in a 0700 folder beside the configuration. */

import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { keyCost, openSealedKey, type SealedKey, signerFrom } from '#approval/keys';
import type { Signer } from '#kernel/approval/answer';
import { Fault, reasonMessage } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { hasErrorCode, writePrivateFile } from '../config/private-file.ts';

/** Also a file name, and the end of the approver's id `user:NAME`. */
const approverNamePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);
const fileSchema = z.strictObject({
  version: z.literal(1),
  name: z.string().regex(approverNamePattern),
  publicKey: z.string().regex(/^ed25519:[A-Za-z0-9_-]{43}$/),
  createdAt: z.iso.datetime(),
  scrypt: z.strictObject({ N: z.literal(keyCost.N), r: z.literal(keyCost.r), p: z.literal(keyCost.p), salt: base64url }),
  sealed: z.strictObject({ nonce: base64url, text: base64url, tag: base64url }),
});

export function keyFolderOf(configFile: string): string {
  return join(dirname(configFile), 'approver-keys');
}

/** @throws {Fault} `bad_approver_name` */
export function approverName(name: string): string {
  if (approverNamePattern.test(name)) return name;
  const allowed = '1 to 63 lower-case letters, digits, `-` or `_`, a letter or digit first';
  throw new Fault('bad_approver_name', say`\`${name}\` is no approver’s name: ${allowed}`, { audience: 'user' });
}

/** By name. What cannot be used is named with the reason. */
export async function listKeyFiles(
  folder: string,
): Promise<{ readonly keys: readonly SealedKey[]; readonly unusable: readonly { readonly file: string; readonly why: string }[] }> {
  const files = (await filesIn(folder)).filter((name) => name.endsWith('.json')).toSorted();
  const read = await Promise.all(files.map(async (name) => ({ file: join(folder, name), found: await readKeyFile(folder, name) })));
  return {
    keys: read.flatMap(({ found }) => (typeof found === 'string' ? [] : [found])),
    unusable: read.flatMap(({ file, found }) => (typeof found === 'string' ? [{ file, why: found }] : [])),
  };
}

/** @throws {Fault} `approver_exists`, `keys_not_writable` */
export async function writeKeyFile(folder: string, key: SealedKey): Promise<string> {
  const file = join(folder, `${key.name}.json`);
  const written = await writePrivateFile(folder, `${key.name}.json`, `${JSON.stringify(key, null, 2)}\n`).catch((thrown: unknown) => {
    throw new Fault('keys_not_writable', say`${folder}: cannot be changed: ${reasonMessage(thrown)}`, { cause: thrown });
  });
  if (written) return file;
  throw new Fault('approver_exists', say`${file} holds a key of that name already`, { audience: 'user', next: 'choose another name' });
}

/** Whether there was one. */
export async function removeKeyFile(folder: string, name: string): Promise<boolean> {
  try {
    await rm(join(folder, `${approverName(name)}.json`));
    return true;
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return false;
    throw new Fault('keys_not_writable', say`${folder}: cannot be changed: ${reasonMessage(thrown)}`, { cause: thrown });
  }
}

/** Signs as `user:NAME`; undefined where the passphrase is wrong or the file was changed. */
export async function unlockKey(key: SealedKey, passphrase: string): Promise<Signer | undefined> {
  const privateKey = await openSealedKey(key, passphrase);
  return privateKey === undefined ? undefined : signerFrom(privateKey, `user:${key.name}`);
}

/** The key, or why there is none. */
async function readKeyFile(folder: string, name: string): Promise<SealedKey | string> {
  const file = join(folder, name);
  try {
    const entry = await lstat(file);
    if (!entry.isFile()) return 'is no plain file';
    // As OpenSSH does: what others could copy, they can guess at in peace.
    if ((entry.mode & 0o077) !== 0) return 'can be read by other users: chmod 600 it, and change the passphrase by making a new key';
    const parsed = fileSchema.safeParse(JSON.parse(await readFile(file, 'utf8')));
    return parsed.success && `${parsed.data.name}.json` === name ? parsed.data : 'is no approver’s key';
  } catch {
    return 'is no approver’s key';
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return [];
    throw new Fault('keys_not_readable', say`${folder}: cannot be read: ${reasonMessage(thrown)}`, { cause: thrown });
  }
}
