/** A directory held fast: names in it are addressed through `at`, so that what its own path leads to by now no longer matters. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '#kernel/errors';

export interface DirectoryPin {
  /** `${at}/${name}` is the entry `name` of this very directory. */
  readonly at: string;
  /** The directory `name` in this one, never through a link. @throws the file system's error; {Fault} `PATH_CHANGED` */
  enter(name: string): DirectoryPin;
  /** Opens the plain file `name` for reading, never through a link, never a device or pipe. Gives the descriptor. @throws as `enter` */
  openFile(name: string): number;
  /**
   * As `openFile`, for many names that a listing a moment ago called plain files: one step instead of four. What was put there since may be
   * opened (a pipe or socket does not wait for it); look at the descriptor before using what was read.
   */
  openListed(name: string): number;
  /** Throws {Fault} `PATH_CHANGED` where it shows that names addressed here may have been another directory's. */
  confirm(): void;
  /** Its path by now. */
  where(): string;
  close(): void;
}

/** Something was swapped between looking and opening. */
export function pathChanged(): Fault {
  return new Fault('PATH_CHANGED', 'the path was changed by another program while it was being opened', {
    audience: 'user',
    retryable: true,
    next: 'call again; if it goes on, ask the user what is changing the workspace',
  });
}

/** `descriptors` cannot be raced (Linux); `identity` checks before and after, and can be raced by whoever swaps twice in between. */
export type Pinning = 'descriptors' | 'identity';

export const usualPinning: Pinning = process.platform === 'linux' ? 'descriptors' : 'identity';

/** Pins `root`, an absolute path whose links are resolved. @throws the file system's error */
export function pinRoot(root: string, pinning: Pinning): DirectoryPin {
  return pinning === 'descriptors' ? pinByDescriptor(root) : pinByIdentity(root);
}

/** open(2), the same on every Linux architecture; Node has no name for it. A descriptor that names a file without opening it. */
const nameOnly = 0o10000000;
/** Undefined on Windows, but for the last, which counts as 0; there links are refused by the check before and after. */
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Pins by open descriptors (Linux). `/proc/self/fd/N/name` is resolved by the kernel from the directory that descriptor N holds, so each
 * step is what openat(2) with `O_NOFOLLOW` would be, which Node does not offer.
 */
function pinByDescriptor(directory: string, root?: string): DirectoryPin {
  const descriptor = openSync(directory, nameOnly | O_DIRECTORY | O_NOFOLLOW);
  const at = `/proc/self/fd/${descriptor}`;
  let open = true;
  return {
    at,
    enter: (name) => pinByDescriptor(`${at}/${name}`, root ?? at),
    openFile: (name) => openPlainFile(`${at}/${name}`),
    openListed: (name) => openSync(`${at}/${name}`, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
    // Links cannot lead a descriptor astray, but the directory itself may have been moved out of the root meanwhile.
    confirm: () => {
      if (root !== undefined && !readlinkSync(at).startsWith(`${readlinkSync(root)}/`)) throw pathChanged();
    },
    where: () => readlinkSync(at),
    close: () => {
      // Closing twice would close whatever got the number since.
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

/** SECURITY: named first and opened afterwards through that name: opening a device or pipe to see what it is can hang or act. */
function openPlainFile(file: string): number {
  const named = openSync(file, nameOnly | O_NOFOLLOW);
  try {
    if (!fstatSync(named).isFile()) throw pathChanged();
    return openSync(`/proc/self/fd/${named}`, O_RDONLY | O_NONBLOCK);
  } finally {
    closeSync(named);
  }
}

/**
 * Pins by identity, where directories cannot be addressed through descriptors (macOS, Windows). Best effort: every directory on the way is
 * compared by device and inode before and after each use. Whoever swaps a directory away and back between two checks is not noticed.
 */
function pinByIdentity(directory: string, confirmAbove: () => void = () => undefined): DirectoryPin {
  const identity = identityOf(directory);
  if (identity === undefined) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
  const confirm = (): void => {
    confirmAbove();
    if (identityOf(directory) !== identity) throw pathChanged();
  };
  const open = (name: string): number => {
    const descriptor = openComparedFile(path.join(directory, name));
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
    where: () => directory,
    close: () => undefined,
  };
}

/** undefined: there is no directory (a link to one is none). */
function identityOf(directory: string): string | undefined {
  const stats = lstatSync(directory, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined;
}

function openComparedFile(file: string): number {
  const before = lstatSync(file, { bigint: true });
  if (!before.isFile()) throw pathChanged();
  const descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const after = fstatSync(descriptor, { bigint: true });
  if (after.isFile() && after.dev === before.dev && after.ino === before.ino) return descriptor;
  closeSync(descriptor);
  throw pathChanged();
}
