/** The file itself: made private before SQLite sees it, and recognized later. */
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '#kernel/errors';

/**
 * Makes the folder (0700) and an empty file (0600) where they are missing, and takes others' rights off an existing file. SQLite gives
 * its `-wal` and `-shm` files the same mode. On Windows modes mean nothing; there the user's profile folder protects the file.
 * @throws the file system's own error; {Fault} `store_unavailable` where the path is not a plain file
 */
export function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // `r+` and `a` follow links, so a link is looked at first: another user's link could point anywhere.
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found && !found.isFile()) {
    throw new Fault('store_unavailable', `the store \`${file}\` is not a plain file`, { next: 'move away what stands there, or choose another folder with `--state`' });
  }
  // Opening for writing finds a read-only file or file system here, with a clear error.
  closeSync(openSync(file, 'a', 0o600));
  if (process.platform !== 'win32' && found && (found.mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/** Which file this path is now; undefined where there is none. */
export function fileIdentity(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
