/** The file itself: made private before SQLite sees it, and recognized later. */
import { chmodSync, closeSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '#kernel/errors';
import { makeFolder } from '../make-folder.ts';
import { corruptFault } from './sqlite-faults.ts';

/** https://sqlite.org/fileformat.html#the_database_header */
const magic = 'SQLite format 3\0';

/**
 * Makes the folder (0700) and an empty file (0600) where they are missing, and takes others' rights off an existing file. SQLite gives
 * its `-wal` and `-shm` files the same mode. On Windows modes mean nothing; there the user's profile folder protects the file.
 * @throws the file system's own error; {Fault} `store_unavailable`, `store_corrupt`
 */
export function prepareFile(file: string): void {
  makeFolder(dirname(file));
  // Opening follows links, so a link is looked at first: one that another user made could point anywhere.
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found) requireDatabase(file, found);
  // Opening for writing finds a read-only file or file system here, with a clear error.
  closeSync(openSync(file, 'a', 0o600));
  if (process.platform !== 'win32' && found && (found.mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/** Which file this path is now; undefined where there is none. */
export function fileIdentity(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

function requireDatabase(file: string, found: Stats): void {
  if (!found.isFile()) {
    throw new Fault('store_unavailable', `the store \`${file}\` is not a plain file`, {
      next: 'move away what stands there, or choose another folder with `--state`',
    });
  }
  // SQLite takes a file that is shorter than a page for an empty one and writes over it.
  if (found.size > 0 && headOf(file) !== magic) throw corruptFault(file, 'it does not start like a database');
}

function headOf(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(magic.length);
    return head.toString('latin1', 0, readSync(descriptor, head));
  } finally {
    closeSync(descriptor);
  }
}
