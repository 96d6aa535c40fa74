/** Folders for files that only this user may read. */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes `folder` and the ones above it where they are missing, each 0700. One level at a time: with `recursive`, Node's `mkdir` never
 * comes back where the parent is there and making a folder in it says ENOENT (as in `/proc`), and on a read-only disk it says ENOENT.
 * @throws the file system's own error
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  makeFolder(parent);
  accessSync(parent, constants.W_OK);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (thrown) {
    // Another process was faster.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw thrown;
  }
}
