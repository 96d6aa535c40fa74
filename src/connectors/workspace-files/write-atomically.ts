/** Replacing a file in one step: a reader, and a crash, see the old content or the new one, never a part. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmod,
  fchown,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  type Stats,
  unlinkSync,
  write,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { DirectoryPin } from '#files/directory-pin';
import { isMissing, startOf } from '#files/process-life';
import { errnoOf } from './file-faults.ts';

const [setMode, setOwner, flush, writeChunk] = [promisify(fchmod), promisify(fchown), promisify(fsync), promisify(write)];
const { O_CREAT, O_EXCL, O_WRONLY, O_RDONLY, O_NOFOLLOW, O_DIRECTORY } = constants;
const newFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

export interface AtomicWrite {
  readonly bytes: Buffer;
  /**
   * Where the file is until it is whole: a directory of ours on the same file system, or beside its place (`above`, by its path), with a
   * note of that in `notes`.
   */
  readonly aside: { readonly directory: string } | { readonly notes: string; readonly above: string };
  /** The last look before the new content counts; what it throws stops the write. */
  readonly check: () => void;
}

const temporaryPrefix = '.banksman-write-';

/**
 * Writes `bytes` as `name` in `directory`. A file that is there keeps its mode and its owner; a hard link to it keeps the
 * old content, a link is replaced. On the disk when it resolves; on failure everything is as before.
 * @throws the file system's error
 */
export async function writeAtomically(directory: DirectoryPin, name: string, { bytes, aside, check }: AtomicWrite): Promise<void> {
  const before = lstatSync(`${directory.at}/${name}`, { throwIfNoEntry: false });
  const old = before?.isFile() ? before : undefined;
  const ownName = `${temporaryPrefix}${randomBytes(8).toString('hex')}`;
  const temporary = `${'notes' in aside ? directory.at : aside.directory}/${ownName}`;
  const note = 'notes' in aside ? noteDown(aside.notes, `${aside.above}/${ownName}`) : undefined;
  try {
    // A new file gets what the umask leaves; one that replaces a private file must not be readable by others, not even for a moment.
    const descriptor = openSync(temporary, newFile, old === undefined ? 0o666 : 0o600);
    await fill(descriptor, bytes, old);
    // Without descriptors to pin by, this is the last look before the name counts.
    check();
    renameSync(temporary, `${directory.at}/${name}`);
  } catch (thrown) {
    remove(temporary);
    throw thrown;
  } finally {
    if (note !== undefined) remove(note);
  }
  await flushDirectory(directory);
}

function noteDown(notes: string, temporary: string): string {
  mkdirSync(notes, { recursive: true, mode: 0o700 });
  const note = `${notes}/${process.pid}-${randomBytes(8).toString('hex')}`;
  writeFileSync(note, `${temporary}\n${startOf(process.pid) ?? ''}`, { mode: 0o600 });
  return note;
}

/** Removes what processes that ended left beside the places of their files. */
export function removeUnfinished(notes: string): void {
  for (const name of namesIn(notes)) {
    const pid = Number.parseInt(name, 10);
    const [temporary = '', started] = readNote(`${notes}/${name}`);
    // A note of an older version does not say when its process began.
    if (!isMissing(pid) && (started === undefined || started === (startOf(pid) ?? ''))) continue;
    if (path.basename(temporary).startsWith(temporaryPrefix)) remove(temporary);
    remove(`${notes}/${name}`);
  }
}

/** Empty where somebody else is faster. */
function readNote(note: string): readonly string[] {
  try {
    return readFileSync(note, 'utf8').split('\n');
  } catch {
    return [];
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
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
    // A system without owners. Elsewhere only root may give a file away, and nobody takes one by writing it.
    if (!['EINVAL', 'ENOSYS'].includes(errnoOf(thrown))) throw thrown;
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // It is gone already, or the failure that led here is the one to report.
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
