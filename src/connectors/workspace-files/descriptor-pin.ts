/**
 * Pins by open descriptors (Linux). `/proc/self/fd/N/name` is resolved by the kernel from the directory that descriptor N holds, so each
 * step is what openat(2) with `O_NOFOLLOW` would be, which Node does not offer.
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync } from 'node:fs';
import { type DirectoryPin, pathChanged } from './directory-pin.ts';

/** open(2), the same on every Linux architecture; Node has no name for it. A descriptor that names a file without opening it. */
const nameOnly = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

export function pinByDescriptor(directory: string, root?: string): DirectoryPin {
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
    close: () => {
      // Closing twice would close whatever got the number since.
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

/** SECURITY: named first and opened afterwards through that name: opening a device or pipe to see what it is can hang or act. */
function openPlainFile(path: string): number {
  const named = openSync(path, nameOnly | O_NOFOLLOW);
  try {
    if (!fstatSync(named).isFile()) throw pathChanged();
    return openSync(`/proc/self/fd/${named}`, O_RDONLY | O_NONBLOCK);
  } finally {
    closeSync(named);
  }
}
