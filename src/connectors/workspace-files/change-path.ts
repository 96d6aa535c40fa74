/** Changing a file at a pinned path: whole new content, or pieces of it; through the journal where there is one, else in one step of its own. */

import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { type DirectoryPin, pathChanged } from '#files/directory-pin';
import { Fault } from '#kernel/errors';
import type { FileJournal } from '#kernel/ports/file-journal';
import type { Segments } from '#kernel/ports/path-facts';
import type { ChangedFile, EditedFile, WrittenFile } from '#kernel/ports/workspace';
import { type Message, say } from '#kernel/text/message';
import { type EditedText, editText, type TextEdit } from '#kernel/text/text-edits';
import { errnoOf, notFound } from './file-faults.ts';
import { type OpenedPath, showPath } from './open-path.ts';
import { type DecodedText, decodeText, encodeText, readBytes } from './read-text.ts';
import { removeUnfinished, writeAtomically } from './write-atomically.ts';

export interface ChangeGround {
  /** Absolute, links resolved. */
  readonly workspaceRoot: string;
  /** Where changes of the workspace are kept for undo; a reason where they are not. */
  readonly journal: () => Promise<FileJournal | string>;
  /** A directory for the names of unfinished files, outside of the workspace; needed where there is no journal. */
  readonly notes: string;
}

interface Job {
  /** As the caller wrote it. */
  readonly path: string;
  readonly agentId: string;
  readonly signal: AbortSignal | undefined;
}

export interface WriteJob extends Job {
  readonly bytes: Buffer;
  readonly createDirs: boolean;
  /** Real paths that an earlier try of this call found missing. */
  readonly missing: Set<string>;
}

/** Names below a sandbox's own directory; deeper ones would cost more than their bytes. */
const mostPersonaDepth = 16;

/** @throws {Fault} as `WorkspaceFiles.write` */
export async function writePath(opened: OpenedPath, job: WriteJob, ground: ChangeGround): Promise<WrittenFile> {
  const { path, bytes, createDirs, missing } = job;
  const { fact, names, root, room, directory } = opened;
  if (fact.kind !== 'file' && fact.kind !== 'missing') throw notFound(path);
  const real = fact.path;
  if (names.length > 1 && !createDirs) {
    throw new Fault('FILE_NOT_FOUND', say`the directory \`${showPath(root, real.slice(0, -1))}\` does not exist`, {
      audience: 'user',
      next: 'call again with `create_dirs` true, or name a directory that exists',
    });
  }
  if (room !== undefined && real.length > mostPersonaDepth) {
    throw new Fault('PATH_TOO_DEEP', say`a path below \`/tmp\` has at most ${mostPersonaDepth} names`, { audience: 'user' });
  }
  const key = real.join('/');
  if (fact.kind === 'missing') missing.add(key);
  else if (missing.has(key)) throw changed(path, say`while it was being written`);
  const seen = stampOf(directory, names[0] ?? '');
  const done = await put(opened, { ...job, title: `write_file ${key}`, seen, doing: 'written' }, ground);
  return { path: showPath(root, real), bytes: bytes.length, created: fact.kind === 'missing', ...done };
}

export interface EditJob extends Job {
  readonly edits: readonly TextEdit[];
  readonly mostBytes: number;
  readonly ifUnchanged: string | undefined;
}

/** The first 16 hex digits of SHA-256: enough to notice a change, short enough for a model to carry. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

/** @throws {Fault} as `WorkspaceFiles.edit` */
export async function editPath(opened: OpenedPath, job: EditJob, ground: ChangeGround): Promise<EditedFile> {
  const { fact, directory, names, root } = opened;
  const [name] = names;
  if (fact.kind !== 'file' || name === undefined) throw notFound(job.path);
  const seen = stampOf(directory, name);
  // Not cut short by a caller who gives up: it is one step, and quick.
  const before = await readBytes(directory.openFile(name), job.mostBytes, new AbortController().signal);
  if (job.ifUnchanged !== undefined && hashOf(before) !== job.ifUnchanged) throw changed(job.path, say`since it was read`);
  const { bytes, replacements } = editedBytes(before, job);
  const done = await put(opened, { ...job, bytes, title: `edit_file ${fact.path.join('/')}`, seen, doing: 'edited' }, ground);
  return { path: showPath(root, fact.path), bytes: bytes.length, replacements, hash: hashOf(bytes), ...done };
}

interface Put extends Job {
  readonly bytes: Buffer;
  /** For the list of runs. */
  readonly title: string;
  /** `stampOf` the outermost name when it was decided what to put there. */
  readonly seen: string;
  readonly doing: 'written' | 'edited';
}

async function put(opened: OpenedPath, job: Put, ground: ChangeGround): Promise<Omit<ChangedFile, 'path' | 'bytes'>> {
  const otherNames = otherNamesOf(opened);
  if (opened.root === 'persona') {
    await putInStep(opened, job, ground);
    return otherNames;
  }
  const journal = await ground.journal();
  if (typeof journal === 'string') {
    await putInStep(opened, job, ground);
    return { notKept: journal, ...otherNames };
  }
  try {
    return { runId: await putInJournal(opened, job, journal), ...otherNames };
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EXDEV') throw thrown;
  }
  await putInStep(opened, job, ground);
  return { notKept: 'it lies on another file system than the journal', ...otherNames };
}

function otherNamesOf({ fact, directory, names }: OpenedPath): Pick<ChangedFile, 'otherNames'> {
  const stats = fact.kind === 'file' ? lstatSync(`${directory.at}/${names[0] ?? ''}`, { throwIfNoEntry: false }) : undefined;
  return stats === undefined || stats.nlink < 2 ? {} : { otherNames: stats.nlink - 1 };
}

/** Throws where what was looked at is something else by now. */
function confirmSeen({ directory, names }: OpenedPath, { path, seen, doing }: Put): void {
  directory.confirm();
  if (stampOf(directory, names[0] ?? '') === seen) return;
  // Of new directories somebody made one: what is to be done is decided anew.
  throw names.length > 1
    ? pathChanged()
    : changed(path, doing === 'written' ? say`while it was being written` : say`while it was being edited`);
}

function putInJournal(opened: OpenedPath, job: Put, journal: FileJournal): Promise<string> {
  const { directory, names, fact } = opened;
  const { bytes, title, agentId, signal } = job;
  // A directory by its descriptor is a link: with the dot it is itself.
  const held = () => `${directory.at}/./${names[0] ?? ''}`;
  const place = (): string => {
    confirmSeen(opened, job);
    return held();
  };
  return journal.change({
    path: segmentsOf(opened).join('/'),
    newNames: fact.kind === 'file' ? 0 : names.length,
    bytes,
    title,
    agentId,
    signal,
    place,
    held,
  });
}

async function putInStep(opened: OpenedPath, job: Put, { workspaceRoot, notes }: ChangeGround): Promise<void> {
  const { names, directory, room } = opened;
  const real = segmentsOf(opened);
  if (room === undefined) removeUnfinished(notes);
  const aside = room === undefined ? { notes, above: [workspaceRoot, ...real.slice(0, -1)].join('/') } : { directory: room.writing };
  const reservation = await room?.reserve(real.join('/'), job.bytes.length);
  let written = false;
  try {
    await inDirectories(directory, names.slice(0, -1), (inner) => {
      // Directories that were made here are nobody else's.
      const check = () => (inner === directory ? confirmSeen(opened, job) : inner.confirm());
      return writeAtomically(inner, names.at(-1) ?? '', { bytes: job.bytes, aside, check });
    });
    written = true;
  } finally {
    await reservation?.settle(written);
  }
}

/** Real names, from the root on. */
export function segmentsOf({ fact }: OpenedPath): Segments {
  return 'path' in fact ? fact.path : [];
}

/** Makes and enters the directories one by one, each through the one before it. */
async function inDirectories(top: DirectoryPin, names: readonly string[], work: (directory: DirectoryPin) => Promise<void>): Promise<void> {
  const [name, ...rest] = names;
  if (name === undefined) return work(top);
  try {
    mkdirSync(`${top.at}/${name}`);
  } catch (thrown) {
    // Somebody else was faster; if it is not a directory, entering it says so.
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
  }
  const below = enterMade(top, name);
  try {
    return await inDirectories(below, rest, work);
  } finally {
    below.close();
  }
}

function enterMade(top: DirectoryPin, name: string): DirectoryPin {
  try {
    return top.enter(name);
  } catch (thrown) {
    // A link or a file stands there by now: decide anew.
    throw ['ENOTDIR', 'ELOOP', 'ENOENT'].includes(errnoOf(thrown)) ? pathChanged() : thrown;
  }
}

function editedBytes(before: Buffer, { path, edits, mostBytes }: EditJob): { readonly bytes: Buffer; readonly replacements: number } {
  const decoded = decodeText(before);
  // A text that does not come back as the same bytes would be changed where nobody asked for it.
  if (encodeText(decoded)?.equals(before) !== true) {
    throw new Fault('BINARY_FILE', say`\`${path}\` holds bytes that are no well-formed ${decoded.encoding}`, {
      audience: 'user',
      next: 'change it with run_command and a program that works on bytes',
    });
  }
  const edited = editText(decoded.text, edits);
  if (!edited.ok) throw refusal(path, edited);
  const bytes = encoded({ ...decoded, text: edited.text }, path);
  if (bytes.length > mostBytes)
    throw new Fault('FILE_TOO_LARGE', say`the file would have ${bytes.length} bytes, more than ${mostBytes}`, { audience: 'user' });
  return { bytes, replacements: edited.replacements };
}

function encoded(text: DecodedText, path: string): Buffer {
  const bytes = encodeText(text);
  if (bytes !== undefined) return bytes;
  throw new Fault('ENCODING_CANNOT_HOLD', say`\`${path}\` is ${text.encoding}, which has no form for a character of the new text`, {
    audience: 'user',
    next: 'leave that character out, or convert the file first, for example with `iconv`',
  });
}

type Refused = Extract<EditedText, { ok: false }>;

function refusal(path: string, { edit, why, lines }: Refused): Fault {
  const where = lines.length === 1 ? `line ${lines.join()}` : `lines ${lines.join(', ')}`;
  switch (why) {
    case 'not_found':
      return new Fault('OLD_TEXT_NOT_FOUND', say`edit ${edit}: its old text is not in \`${path}\`; nothing was changed`, {
        audience: 'user',
        next: 'read the file again and copy the text exactly, blanks and tabs included, without the line numbers',
      });
    case 'not_unique':
      return new Fault(
        'OLD_TEXT_NOT_UNIQUE',
        say`edit ${edit}: its old text is in \`${path}\` more than once (${where}); nothing was changed`,
        {
          audience: 'user',
          next: 'add lines around it until there is one such place, or set `all` for every one',
        },
      );
    case 'no_change':
      return new Fault('NOTHING_TO_CHANGE', say`edit ${edit}: its old and its new text are the same; nothing was changed`, {
        audience: 'user',
        next: 'leave that edit out',
      });
  }
}

function changed(path: string, when: Message): Fault {
  return new Fault('FILE_CHANGED', say`\`${path}\` was changed by somebody else ${when}; nothing was written`, {
    audience: 'user',
    next: 'read it again, then edit what is there now',
  });
}

/** Another value: another file, or a changed one. */
function stampOf({ at }: DirectoryPin, name: string): string {
  const stats = lstatSync(`${at}/${name}`, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? 'none' : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join();
}
