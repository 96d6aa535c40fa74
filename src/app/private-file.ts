/** Files that only this user may read: whole or not at all, and never over an existing one. */
import { randomBytes } from 'node:crypto';
import { chmod, link, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '#stores/make-folder';

/** Written beside, synced, then linked to its name; the folder is made 0700. False: there is one of that name already. */
export async function writePrivateFile(folder: string, name: string, text: string): Promise<boolean> {
  const temporary = join(folder, `.${name}-${randomBytes(6).toString('hex')}.tmp`);
  makeFolder(folder);
  await chmod(folder, 0o700);
  try {
    await writeSynced(temporary, text);
    await link(temporary, join(folder, name));
    return true;
  } catch (thrown) {
    if (hasErrorCode(thrown, 'EEXIST')) return false;
    throw thrown;
  } finally {
    await rm(temporary, { force: true });
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
