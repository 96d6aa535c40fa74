/** Reading, writing and listing files of the workspace and of the agents' own sandboxes. */
import { mkdirSync } from 'node:fs';
import { Fault } from '#kernel/errors';
import type { FileText, Listing, WorkspaceFiles, WrittenFile } from '#kernel/ports/workspace';
import { decodeText } from './decode-text.ts';
import { type DirectoryPin, pathChanged } from './directory-pin.ts';
import { editPath, hashOf } from './edit-path.ts';
import { errnoOf, notFound } from './file-faults.ts';
import { parseGlob } from './glob.ts';
import { lineRange } from './line-range.ts';
import { type ListingLimits, listEntries, usualListingLimits } from './list-entries.ts';
import { type FilePlaces, type OpenedPath, withPath } from './open-path.ts';
import { showPath } from './path-rules.ts';
import { readBytes } from './read-bytes.ts';
import { ignoreFilesAbove } from './read-ignore-file.ts';
import { writeAtomically } from './write-atomically.ts';

export interface WorkspaceFilesOptions extends FilePlaces {
  /** Largest file that is read or written, in bytes. */
  readonly mostBytes: number;
  readonly listing?: ListingLimits;
}

/** Names below a sandbox's own directory; deeper ones would cost more than their bytes. */
const mostPersonaDepth = 16;

export function createWorkspaceFiles(options: WorkspaceFilesOptions): WorkspaceFiles {
  const turns = new Map<string, Promise<unknown>>();
  return {
    read: (path, lines, scope, signal) =>
      withPath(options, { path, use: 'read', scope }, (opened) => read(opened, { path, lines, mostBytes: options.mostBytes }, signal)),
    write: async (path, content, { createDirs }, scope) => {
      const bytes = bytesOf(content, options.mostBytes);
      return withPath(options, { path, use: 'write', scope }, (opened) => write(opened, { path, bytes, createDirs }));
    },
    edit: (path, edits, { ifUnchanged }, scope) => {
      const job = { path, edits, mostBytes: options.mostBytes, ifUnchanged };
      return withPath(options, { path, use: 'write', scope }, (opened) =>
        inTurn(turns, `${opened.root} ${opened.root === 'persona' ? scope.agentId : ''} ${partsOf(opened).join('/')}`, () =>
          editPath(opened, job),
        ),
      );
    },
    list: async (path, { recursive, pattern }, scope, signal) => {
      const glob = pattern === undefined ? {} : { glob: parseGlob(pattern) };
      const limits = options.listing ?? usualListingLimits;
      return withPath(options, { path, use: 'list', scope }, (opened) => list(opened, { path, recursive, limits, ...glob }, signal));
    },
  };
}

interface ReadJob {
  readonly path: string;
  readonly lines: { readonly start?: number; readonly end?: number };
  readonly mostBytes: number;
}

async function read({ fact, directory, names, root }: OpenedPath, job: ReadJob, signal: AbortSignal): Promise<FileText> {
  const [name] = names;
  if (fact.kind !== 'file' || name === undefined) throw notFound(job.path);
  const bytes = await readBytes(directory.openFile(name), job.mostBytes, signal);
  directory.confirm();
  const { text, encoding } = decodeText(bytes);
  return { path: showPath(root, fact.path), ...lineRange(text, job.lines), bytes: bytes.length, encoding, hash: hashOf(bytes) };
}

/** One after the other for the same key, whatever the one before came to. */
async function inTurn<T>(turns: Map<string, Promise<unknown>>, key: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(key);
  const own = (before ?? Promise.resolve()).then(work, work);
  turns.set(key, own);
  try {
    return await own;
  } finally {
    if (turns.get(key) === own) turns.delete(key);
  }
}

function partsOf({ fact }: OpenedPath): readonly string[] {
  return 'path' in fact ? fact.path : [];
}

interface WriteJob {
  readonly path: string;
  readonly bytes: Buffer;
  readonly createDirs: boolean;
}

async function write(opened: OpenedPath, { path, bytes, createDirs }: WriteJob): Promise<WrittenFile> {
  const { fact, names, root, room } = opened;
  if (fact.kind !== 'file' && fact.kind !== 'missing') throw notFound(path);
  const real = fact.path;
  const name = names.at(-1) ?? '';
  const above = names.slice(0, -1);
  if (above.length > 0 && !createDirs) {
    throw new Fault('FILE_NOT_FOUND', `the directory \`${showPath(root, real.slice(0, -1))}\` does not exist`, {
      audience: 'user',
      next: 'call again with `create_dirs` true, or name a directory that exists',
    });
  }
  if (room !== undefined && real.length > mostPersonaDepth) {
    throw new Fault('PATH_TOO_DEEP', `a path below \`/tmp\` has at most ${mostPersonaDepth} names`, { audience: 'user' });
  }
  const reservation = await room?.reserve(real.join('/'), bytes.length);
  let written = false;
  try {
    await inDirectories(opened.directory, above, (directory) => writeAtomically(directory, name, bytes));
    written = true;
  } finally {
    await reservation?.settle(written);
  }
  return { path: showPath(root, real), bytes: bytes.length, created: fact.kind === 'missing' };
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

function bytesOf(content: string, mostBytes: number): Buffer {
  // A lone surrogate has no UTF-8 form: what would be written is not what was sent.
  if (!content.isWellFormed()) throw new Fault('CONTENT_NOT_TEXT', 'the content is not well-formed Unicode text', { audience: 'user' });
  const bytes = Buffer.from(content, 'utf8');
  if (bytes.length <= mostBytes) return bytes;
  throw new Fault('FILE_TOO_LARGE', `the content has ${bytes.length} bytes, more than ${mostBytes}`, { audience: 'user' });
}

interface ListJob {
  readonly path: string;
  readonly recursive: boolean;
  readonly limits: ListingLimits;
  readonly glob?: ReturnType<typeof parseGlob>;
}

async function list({ fact, directory, pins, root }: OpenedPath, job: ListJob, signal: AbortSignal): Promise<Listing> {
  if (fact.kind !== 'directory') throw notFound(job.path);
  return listEntries(
    directory,
    {
      recursive: job.recursive,
      ...(job.glob === undefined ? {} : { glob: job.glob }),
      segments: fact.path,
      ignoreFiles: ignoreFilesAbove(pins),
      show: (segments) => showPath(root, segments),
      limits: job.limits,
    },
    signal,
  );
}
