/** Replacing a file in one step: a reader, and a crash, see the old content or the new one, never a part. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, fchmod, fchown, fsync, lstatSync, openSync, renameSync, type Stats, unlinkSync, write } from 'node:fs';
import { promisify } from 'node:util';
import type { DirectoryPin } from './directory-pin.ts';
import { errnoOf } from './file-faults.ts';

const [setMode, setOwner, flush, writeChunk] = [promisify(fchmod), promisify(fchown), promisify(fsync), promisify(write)];
const { O_CREAT, O_EXCL, O_WRONLY, O_RDONLY, O_NOFOLLOW, O_DIRECTORY } = constants;
const newFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

/** Names that `write_file` makes for a moment; one that stays behind after a crash may be deleted. */
export const temporaryPrefix = '.banksman-write-';

/**
 * Writes `bytes` as `name` in `directory`. A file that is there keeps its mode and, where possible, its owner; a hard link to it keeps the
 * old content, a link is replaced. On the disk when it resolves; on failure everything is as before.
 * @param check the last look before the new content counts; what it throws stops the write
 * @throws the file system's error
 */
export async function writeAtomically(
  directory: DirectoryPin,
  name: string,
  bytes: Buffer,
  check: () => void = () => undefined,
): Promise<void> {
  const before = lstatSync(`${directory.at}/${name}`, { throwIfNoEntry: false });
  const old = before?.isFile() ? before : undefined;
  const temporary = `${directory.at}/${temporaryPrefix}${randomBytes(8).toString('hex')}`;
  // A new file gets what the umask leaves; one that replaces a private file must not be readable by others, not even for a moment.
  const descriptor = openSync(temporary, newFile, old === undefined ? 0o666 : 0o600);
  try {
    await fill(descriptor, bytes, old);
    // Without descriptors to pin by, this is the last look before the name counts.
    directory.confirm();
    check();
    renameSync(temporary, `${directory.at}/${name}`);
  } catch (thrown) {
    remove(temporary);
    throw thrown;
  }
  await flushDirectory(directory);
}

async function fill(descriptor: number, bytes: Buffer, old: Stats | undefined): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await writeChunk(descriptor, bytes, done, bytes.length - done, done);
      done += bytesWritten;
    }
    if (old !== undefined) {
      await keepOwner(descriptor, old);
      // Without set-user-id and its like: what they stood for was the old content.
      await setMode(descriptor, old.mode & 0o777);
    }
    await flush(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

async function keepOwner(descriptor: number, { uid, gid }: Stats): Promise<void> {
  try {
    await setOwner(descriptor, uid, gid);
  } catch (thrown) {
    // Only root may give a file away; then it is the writer's own.
    if (!['EPERM', 'EINVAL', 'ENOSYS'].includes(errnoOf(thrown))) throw thrown;
  }
}

function remove(temporary: string): void {
  try {
    unlinkSync(temporary);
  } catch {
    // The failure that led here is the one to report.
  }
}

/** The new name is on the disk only once its directory is. Windows cannot open one, and needs it less. */
async function flushDirectory(directory: DirectoryPin): Promise<void> {
  if (process.platform === 'win32') return;
  const descriptor = openSync(`${directory.at}/.`, O_RDONLY | O_DIRECTORY);
  try {
    await flush(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
