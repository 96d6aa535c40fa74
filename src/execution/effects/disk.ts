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
  /** Of the entry itself, never through a link in its place. */
  chmod(entry: string, mode: number): void;
  /** Of an empty directory; one that is not stays. */
  removeEmpty(directory: string): void;
  /** The whole file: a process that ends leaves the old one or the new one. `flush`: so does a machine, but which is not known before a `sync`. */
  write(file: string, text: string, options?: { readonly flush: boolean }): void;
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
  chmod,
  removeEmpty: (directory) => {
    try {
      fs.rmdirSync(directory);
    } catch (thrown) {
      if (!['ENOTEMPTY', 'EEXIST'].includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown;
    }
  },
  write,
  writeSafely: (file, text) => {
    write(file, text, { flush: true });
    sync(file.slice(0, file.lastIndexOf('/')));
  },
  sync,
  remove: (entry) => remove(entry),
};

/** open(2): a descriptor that names an entry without opening it. */
const nameOnly = 0o10000000;

/** `fchmodat(2)` has no way to leave links alone, and Node would not offer it: what is named is looked at, and then changed by its descriptor. */
function chmod(entry: string, mode: number): void {
  const named = fs.openSync(entry, nameOnly | fs.constants.O_NOFOLLOW);
  try {
    if (fs.fstatSync(named).isSymbolicLink()) throw Object.assign(new Error(`\`${entry}\` is a link by now`), { code: 'ELOOP' });
    fs.chmodSync(`/proc/self/fd/${named}`, mode);
  } finally {
    fs.closeSync(named);
  }
}

function write(file: string, text: string, { flush } = { flush: false }): void {
  const fresh = `${file}.new`;
  fs.writeFileSync(fresh, text, { mode: 0o600, flush });
  fs.renameSync(fresh, file);
}

function sync(entry: string): void {
  const descriptor = fs.openSync(entry, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Beyond this a directory is brought up to where its path is short: the kernel takes no path of more than 4,096 bytes. */
const longestPath = 3_500;

/** A command may have taken its own rights away; overlayfs makes a directory with mode 0. */
function remove(entry: string, top = entry): void {
  const stats = fs.lstatSync(entry, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) {
    fs.unlinkSync(entry);
    return;
  }
  if ((stats.mode & 0o700) !== 0o700) chmod(entry, 0o700);
  if (Buffer.byteLength(entry) > longestPath) {
    const raised = fs.mkdtempSync(`${top}/deep-`);
    fs.renameSync(entry, `${raised}/below`);
    remove(raised, top);
    return;
  }
  for (const name of fs.readdirSync(entry, 'buffer')) removeNamed(entry, name, top);
  fs.rmdirSync(entry);
}

/** A name that is no UTF-8 must go, too. */
function removeNamed(directory: string, name: Buffer, top: string): void {
  const text = name.toString('utf8');
  if (Buffer.from(text).equals(name)) {
    remove(`${directory}/${text}`, top);
    return;
  }
  const odd = Buffer.concat([Buffer.from(`${directory}/`), name]);
  const plain = `${directory}/odd-name`;
  fs.renameSync(odd, plain);
  remove(plain, top);
}
