/** Reading, writing and listing files of the workspace and of the agents' own sandboxes. */

import { Fault } from '#kernel/errors';
import type { FileText, Listing, WorkspaceFiles } from '#kernel/ports/workspace';
import { say } from '#kernel/text/message';
import { type ChangeGround, editPath, hashOf, segmentsOf, writePath } from './change-path.ts';
import { notFound } from './file-faults.ts';
import { parseGlob } from './glob.ts';
import { ignoreFilesAbove } from './ignore-rules.ts';
import { type FilePlaces, type OpenedPath, showPath, withPath } from './open-path.ts';
import { decodeText, lineRange, readBytes } from './read-text.ts';
import { type ListingLimits, listEntries, usualListingLimits } from './walk-entries.ts';
import { removeUnfinished } from './write-atomically.ts';

export interface WorkspaceFilesOptions extends FilePlaces, ChangeGround {
  /** Largest file that is read or written, in bytes. */
  readonly mostBytes: number;
  readonly listing?: ListingLimits;
}

export function createWorkspaceFiles(options: WorkspaceFilesOptions): WorkspaceFiles {
  const turns = new Map<string, Promise<unknown>>();
  // What killed processes left beside the places of their files, where no journal could take it.
  removeUnfinished(options.notes);
  return {
    read: (path, lines, scope, signal) =>
      withPath(options, { path, use: 'read', scope }, (opened) => read(opened, { path, lines, mostBytes: options.mostBytes }, signal)),
    write: async (path, content, { createDirs, signal }, scope) => {
      const bytes = bytesOf(content, options.mostBytes);
      const job = { path, bytes, createDirs, signal, agentId: scope.agentId, missing: new Set<string>() };
      return withPath(options, { path, use: 'write', scope }, (opened) => writePath(opened, job, options));
    },
    edit: (path, edits, { ifUnchanged, signal }, scope) => {
      const job = { path, edits, mostBytes: options.mostBytes, ifUnchanged, signal, agentId: scope.agentId };
      return withPath(options, { path, use: 'write', scope }, (opened) =>
        inTurn(turns, `${opened.root} ${opened.root === 'persona' ? scope.agentId : ''} ${segmentsOf(opened).join('/')}`, () =>
          editPath(opened, job, options),
        ),
      );
    },
    notKept: async (path) => {
      const placed = options.rules.place(path);
      if (placed.ok && placed.root === 'persona') return 'it is in the agent’s own sandbox, of which nothing is kept';
      const journal = await options.journal();
      return typeof journal === 'string' ? journal : undefined;
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

function bytesOf(content: string, mostBytes: number): Buffer {
  // A lone surrogate has no UTF-8 form: what would be written is not what was sent.
  if (!content.isWellFormed()) throw new Fault('CONTENT_NOT_TEXT', 'the content is not well-formed Unicode text', { audience: 'user' });
  const bytes = Buffer.from(content, 'utf8');
  if (bytes.length <= mostBytes) return bytes;
  throw new Fault('FILE_TOO_LARGE', say`the content has ${bytes.length} bytes, more than ${mostBytes}`, { audience: 'user' });
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
