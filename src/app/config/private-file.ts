/** Files that only this user may read and write: whole or not at all. */

import { randomBytes } from 'node:crypto';
import { constants, statSync } from 'node:fs';
import { chmod, link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '#files/make-folder';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';

/** Written beside, synced, then linked to its name; the folder is made 0700. False: there is one of that name already. */
export async function writePrivateFile(folder: string, name: string, text: string): Promise<boolean> {
  try {
    await place(folder, name, text, link);
    return true;
  } catch (thrown) {
    if (hasErrorCode(thrown, 'EEXIST')) return false;
    throw thrown;
  }
}

/** As `writePrivateFile`, in the place of one that is there: readers see the old text or the new one. */
export async function replacePrivateFile(folder: string, name: string, text: string | Uint8Array): Promise<void> {
  await place(folder, name, text, rename);
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

async function place(folder: string, name: string, text: string | Uint8Array, put: typeof rename): Promise<void> {
  const temporary = join(folder, `.${name}-${randomBytes(6).toString('hex')}.tmp`);
  makeFolder(folder);
  await chmod(folder, 0o700);
  try {
    await writeSynced(temporary, text);
    await put(temporary, join(folder, name));
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * The text of such a file; undefined where there is none.
 * @throws {Fault} `not_private` where it is a link, or somebody else owns it or may write it: then it says what others want
 */
export async function readPrivateFile(file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const { uid, mode } = await handle.stat();
      // Windows has neither; its profile folder is the user's own.
      const foreign = process.geteuid !== undefined && (uid !== process.geteuid() || (mode & 0o022) !== 0);
      if (foreign) throw new Fault('not_private', say`${file} belongs to another user or may be written by others`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return undefined;
    throw hasErrorCode(thrown, 'ELOOP') ? new Fault('not_private', say`${file} is a link`) : thrown;
  }
}

/**
 * Does `work` as the user to whom `folder` (or the nearest directory above it) belongs, where root calls: root then neither leaves files that the
 * service cannot read, nor follows a link that the service's user made with root's rights. For one thing at a time: it is the process that changes.
 */
export async function asOwnerOf<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const owner = ownerOf(folder);
  if (owner === undefined || process.seteuid === undefined || process.setegid === undefined) return work();
  process.setegid(owner.gid);
  process.seteuid(owner.uid);
  try {
    return await work();
  } finally {
    process.seteuid(0);
    process.setegid(0);
  }
}

/** Within `asOwnerOf`: does `work` as who called it, for what lies among the caller's own files. Else the same as `work`. */
export async function asCaller<T>(work: () => T | Promise<T>): Promise<T> {
  const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  if (uid === 0 || process.getuid?.() !== 0 || process.seteuid === undefined || process.setegid === undefined) return work();
  process.seteuid(0);
  process.setegid(0);
  try {
    return await work();
  } finally {
    process.setegid(gid);
    process.seteuid(uid);
  }
}

/** Whether root works here for a service that runs as another user. */
export function isForService(stateDir: string): boolean {
  return ownerOf(stateDir) !== undefined;
}

/** undefined: nobody but who calls. */
function ownerOf(folder: string): { readonly uid: number; readonly gid: number } | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return dirname(folder) === folder ? undefined : ownerOf(dirname(folder));
  return found.uid === 0 ? undefined : { uid: found.uid, gid: found.gid };
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
