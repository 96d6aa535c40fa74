/** Files that only this user may read and write: whole or not at all. */

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { chmod, link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asOwnerNow, ownerOf } from '#files/folder-owner';
import { makeFolder } from '#files/make-folder';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';

/** Written beside, synced, then linked to its name; the folder is made 0700. False: there is one of that name already. */
export async function writePrivateFile(folder: string, name: string, text: string): Promise<boolean> {
  try {
    await place(folder, name, text, { now: linkSync, later: link });
    return true;
  } catch (thrown) {
    if (hasErrorCode(thrown, 'EEXIST')) return false;
    throw thrown;
  }
}

/** As `writePrivateFile`, in the place of one that is there: readers see the old text or the new one. */
export async function replacePrivateFile(folder: string, name: string, text: string | Uint8Array): Promise<void> {
  await place(folder, name, text, { now: renameSync, later: rename });
}

/** A name in a folder outlasts a loss of power only once the folder is on the disk, too. Windows opens no folders, and keeps names by itself. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** How a file gets its name. */
interface Put {
  now(from: string, to: string): void;
  later(from: string, to: string): Promise<void>;
}

async function place(folder: string, name: string, text: string | Uint8Array, put: Put): Promise<void> {
  const temporary = join(folder, `.${name}-${randomBytes(6).toString('hex')}.tmp`);
  const file = join(folder, name);
  if (ownerOf(folder) !== undefined) return asOwnerNow(folder, () => placeNow({ folder, temporary, file }, text, put));
  makeFolder(folder);
  await chmod(folder, 0o700);
  try {
    await writeSynced(temporary, text);
    await put.later(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}

interface Places {
  readonly folder: string;
  readonly temporary: string;
  readonly file: string;
}

/** By root in a service's folder: as its owner, and so that nothing else is done as that user meanwhile. */
function placeNow({ folder, temporary, file }: Places, text: string | Uint8Array, put: Put): void {
  makeFolder(folder);
  chmodSync(folder, 0o700);
  try {
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    put.now(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * The text of such a file; undefined where there is none. Root reads in another user's folder as that user.
 * @throws {Fault} `not_private` where it is a link, or somebody else owns it or may write it: then it says what others want
 */
export async function readPrivateFile(file: string): Promise<string | undefined> {
  try {
    return asOwnerNow(dirname(file), () => readOwn(file));
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return undefined;
    throw hasErrorCode(thrown, 'ELOOP') ? new Fault('not_private', say`${file} is a link`) : thrown;
  }
}

function readOwn(file: string): string {
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const { uid, mode } = fstatSync(descriptor);
    // Windows has neither; its profile folder is the user's own.
    const foreign = process.geteuid !== undefined && (uid !== process.geteuid() || (mode & 0o022) !== 0);
    if (foreign) throw new Fault('not_private', say`${file} belongs to another user or may be written by others`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

async function writeSynced(file: string, text: string | Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether an error of the operating system has this code (`ENOENT`). */
export function hasErrorCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code;
}

/** A small file that is needed over and over: looked at each time, read again only when it may have changed. */
export interface KeptText {
  /** The text as the file is now. Rejects as `readFile` does; what was read before is no answer then. */
  read(): Promise<string>;
}

/** A file that was changed this shortly before it was read may change again without its times showing it: they are as coarse as that. In ms. */
const settledMs = 1_000;

/** @param path absolute */
export function keepText(path: string, now: () => number = Date.now): KeptText {
  let kept: { readonly version: string; readonly text: string } | undefined;
  let looking: Promise<string> | undefined;

  async function look(): Promise<string> {
    const { mtimeMs, ctimeMs, size, ino, dev } = await stat(path);
    const version = [mtimeMs, ctimeMs, size, ino, dev].join(' ');
    if (kept?.version === version) return kept.text;
    const readAt = now();
    const text = await readFile(path, 'utf8');
    // The version is from before the reading: where the file changed in between, the next look sees that.
    kept = Math.abs(readAt - ctimeMs) > settledMs ? { version, text } : undefined;
    return text;
  }

  return {
    read() {
      // Those who ask together are answered together.
      looking ??= look().finally(() => {
        looking = undefined;
      });
      return looking;
    },
  };
}
