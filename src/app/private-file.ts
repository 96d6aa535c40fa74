/** Files that only this user may read and write: whole or not at all. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, link, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '#kernel/errors';
import { makeFolder } from '#stores/make-folder';

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
export async function replacePrivateFile(folder: string, name: string, text: string): Promise<void> {
  await place(folder, name, text, rename);
}

async function place(folder: string, name: string, text: string, put: typeof rename): Promise<void> {
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
      const foreign = process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0);
      if (foreign) throw new Fault('not_private', `${file} belongs to another user or may be written by others`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (hasErrorCode(thrown, 'ENOENT')) return undefined;
    throw hasErrorCode(thrown, 'ELOOP') ? new Fault('not_private', `${file} is a link`) : thrown;
  }
}

async function writeSynced(file: string, text: string): Promise<void> {
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
