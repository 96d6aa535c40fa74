/**
 * Every change that the journal makes on the disk, one call each: a test ends the process before and after any of them.
 * INVARIANT: synchronous, so that nothing else of this process happens between a look and the act that rests on it.
 */
import * as fs from 'node:fs';

export interface Disk {
  rename(from: string, to: string): void;
  /** A second name for the same file, never over an existing one; of a symbolic link, for the link itself. */
  link(from: string, to: string): void;
  unlink(file: string): void;
  mkdir(directory: string): void;
  chmod(entry: string, mode: number): void;
  /** The whole file, on the disk when it returns; a crash leaves the old one or the new one. */
  writeSafely(file: string, text: string): void;
  /** Waits until the entry, and of a directory its names, are on the disk. */
  sync(entry: string): void;
  /** With everything in it, whatever its modes. Not there: nothing to do. */
  remove(entry: string): void;
}

export const disk: Disk = {
  rename: fs.renameSync,
  link: fs.linkSync,
  unlink: fs.unlinkSync,
  mkdir: (directory) => {
    fs.mkdirSync(directory, { mode: 0o700 });
  },
  chmod: fs.chmodSync,
  writeSafely: (file, text) => {
    const fresh = `${file}.new`;
    fs.writeFileSync(fresh, text, { mode: 0o600, flush: true });
    fs.renameSync(fresh, file);
    sync(file.slice(0, file.lastIndexOf('/')));
  },
  sync,
  remove,
};

function sync(entry: string): void {
  const descriptor = fs.openSync(entry, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** A command may have taken its own rights away; overlayfs makes a directory with mode 0. */
function remove(entry: string): void {
  const stats = fs.lstatSync(entry, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) {
    fs.unlinkSync(entry);
    return;
  }
  fs.chmodSync(entry, 0o700);
  for (const name of fs.readdirSync(entry, 'buffer')) removeNamed(entry, name);
  fs.rmdirSync(entry);
}

/** A name that is no UTF-8 must go, too. */
function removeNamed(directory: string, name: Buffer): void {
  const text = name.toString('utf8');
  if (Buffer.from(text).equals(name)) {
    remove(`${directory}/${text}`);
    return;
  }
  const odd = Buffer.concat([Buffer.from(`${directory}/`), name]);
  const plain = `${directory}/odd-name`;
  fs.renameSync(odd, plain);
  remove(plain);
}
