/** Replacing pieces of a file that is there: read, edited and put back in one step, or refused with the reason. */
import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { Fault } from '#kernel/errors';
import type { EditedFile } from '#kernel/ports/workspace';
import { type EditedText, editText, type TextEdit } from '#kernel/text-edits';
import { type DecodedText, decodeText, encodeText } from './decode-text.ts';
import type { DirectoryPin } from './directory-pin.ts';
import { notFound } from './file-faults.ts';
import type { OpenedPath } from './open-path.ts';
import { showPath } from './path-rules.ts';
import { readBytes } from './read-bytes.ts';
import { writeAtomically } from './write-atomically.ts';

export interface EditJob {
  /** As the caller wrote it. */
  readonly path: string;
  readonly edits: readonly TextEdit[];
  readonly mostBytes: number;
  readonly ifUnchanged: string | undefined;
}

/** The first 16 hex digits of SHA-256: enough to notice a change, short enough for a model to carry. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

/** @throws {Fault} as `WorkspaceFiles.edit` */
export async function editPath({ fact, directory, names, root, room }: OpenedPath, job: EditJob): Promise<EditedFile> {
  const [name] = names;
  if (fact.kind !== 'file' || name === undefined) throw notFound(job.path);
  const stampBefore = stampOf(directory, name);
  // Not cut short by a caller who gives up: it is one step, and quick.
  const before = await readBytes(directory.openFile(name), job.mostBytes, new AbortController().signal);
  if (job.ifUnchanged !== undefined && hashOf(before) !== job.ifUnchanged) throw changed(job.path, 'since it was read');
  const { bytes, replacements } = editedBytes(before, job);
  const reservation = await room?.reserve(fact.path.join('/'), bytes.length);
  let written = false;
  try {
    await writeAtomically(directory, name, bytes, () => {
      if (stampOf(directory, name) !== stampBefore) throw changed(job.path, 'while it was being edited');
    });
    written = true;
  } finally {
    await reservation?.settle(written);
  }
  return { path: showPath(root, fact.path), bytes: bytes.length, replacements, hash: hashOf(bytes) };
}

function editedBytes(before: Buffer, { path, edits, mostBytes }: EditJob): { readonly bytes: Buffer; readonly replacements: number } {
  const decoded = decodeText(before);
  // A text that does not come back as the same bytes would be changed where nobody asked for it.
  if (encodeText(decoded)?.equals(before) !== true) {
    throw new Fault('BINARY_FILE', `\`${path}\` holds bytes that are no well-formed ${decoded.encoding}`, {
      audience: 'user',
      next: 'change it with run_command and a program that works on bytes',
    });
  }
  const edited = editText(decoded.text, edits);
  if (!edited.ok) throw refusal(path, edited);
  const bytes = encoded({ ...decoded, text: edited.text }, path);
  if (bytes.length > mostBytes)
    throw new Fault('FILE_TOO_LARGE', `the file would have ${bytes.length} bytes, more than ${mostBytes}`, { audience: 'user' });
  return { bytes, replacements: edited.replacements };
}

function encoded(text: DecodedText, path: string): Buffer {
  const bytes = encodeText(text);
  if (bytes !== undefined) return bytes;
  throw new Fault('ENCODING_CANNOT_HOLD', `\`${path}\` is ${text.encoding}, which has no form for a character of the new text`, {
    audience: 'user',
    next: 'leave that character out, or convert the file first, for example with `iconv`',
  });
}

type Refused = Extract<EditedText, { ok: false }>;

function refusal(path: string, { edit, why, lines }: Refused): Fault {
  const where = lines.length === 1 ? `line ${lines.join()}` : `lines ${lines.join(', ')}`;
  switch (why) {
    case 'not_found':
      return new Fault('OLD_TEXT_NOT_FOUND', `edit ${edit}: its old text is not in \`${path}\`; nothing was changed`, {
        audience: 'user',
        next: 'read the file again and copy the text exactly, blanks and tabs included, without the line numbers',
      });
    case 'not_unique':
      return new Fault(
        'OLD_TEXT_NOT_UNIQUE',
        `edit ${edit}: its old text is in \`${path}\` more than once (${where}); nothing was changed`,
        {
          audience: 'user',
          next: 'add lines around it until there is one such place, or set `all` for every one',
        },
      );
    case 'no_change':
      return new Fault('NOTHING_TO_CHANGE', `edit ${edit}: its old and its new text are the same; nothing was changed`, {
        audience: 'user',
        next: 'leave that edit out',
      });
  }
}

function changed(path: string, when: string): Fault {
  return new Fault('FILE_CHANGED', `\`${path}\` was changed by somebody else ${when}; nothing was written`, {
    audience: 'user',
    next: 'read it again, then edit what is there now',
  });
}

/** Another value: another file, or a changed one. */
function stampOf({ at }: DirectoryPin, name: string): string {
  const stats = lstatSync(`${at}/${name}`, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? 'none' : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join();
}
