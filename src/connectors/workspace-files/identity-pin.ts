/**
 * Pins by identity, where directories cannot be addressed through descriptors (macOS, Windows). Best effort: every directory on the way is
 * compared by device and inode before and after each use. Whoever swaps a directory away and back between two checks is not noticed.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs';
import path from 'node:path';
import { type DirectoryPin, pathChanged } from './directory-pin.ts';

/** The last two are undefined on Windows, which counts as 0; there links are refused by the check before and after. */
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

export function pinByIdentity(directory: string, confirmAbove: () => void = () => undefined): DirectoryPin {
  const identity = identityOf(directory);
  if (identity === undefined) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
  const confirm = (): void => {
    confirmAbove();
    if (identityOf(directory) !== identity) throw pathChanged();
  };
  const open = (name: string): number => {
    const descriptor = openPlainFile(path.join(directory, name));
    try {
      confirm();
      return descriptor;
    } catch (thrown) {
      closeSync(descriptor);
      throw thrown;
    }
  };
  return {
    at: directory,
    enter: (name) => {
      const entered = pinByIdentity(path.join(directory, name), confirm);
      confirm();
      return entered;
    },
    openFile: open,
    openListed: open,
    confirm,
    close: () => undefined,
  };
}

/** undefined: there is no directory (a link to one is none). */
function identityOf(directory: string): string | undefined {
  const stats = lstatSync(directory, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined;
}

function openPlainFile(file: string): number {
  const before = lstatSync(file, { bigint: true });
  if (!before.isFile()) throw pathChanged();
  const descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const after = fstatSync(descriptor, { bigint: true });
  if (after.isFile() && after.dev === before.dev && after.ino === before.ino) return descriptor;
  closeSync(descriptor);
  throw pathChanged();
}
