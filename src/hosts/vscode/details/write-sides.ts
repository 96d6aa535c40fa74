/** The two sides of a write that waits: what is in the file now, and what would be. */
import { isUtf8 } from 'node:buffer';
import { readFile, realpath, stat } from 'node:fs/promises';
import * as path from 'node:path';
import type { RequestRecord } from '#kernel/approval/request';
import { isJsonObject } from '#kernel/json';
import { editText, type TextEdit } from '#kernel/text/text-edits';
import { t } from '../l10n.ts';

/** The editor compares no more than that in a useful time. */
const maxBytes = 2_000_000;

export type Side = 'now' | 'proposed';

/** Whether it writes one file: then there is something to compare. */
export function writes({ tool }: Pick<RequestRecord['action'], 'tool'>): boolean {
  return tool === 'write_file' || tool === 'edit_file';
}

/** The file after links, as the policy found it: `src/a.ts`, `/tmp/a.ts`. undefined for a request of another kind. */
export function writtenFile({ action }: Pick<RequestRecord, 'action'>): string | undefined {
  if (!writes(action)) return undefined;
  const target = action.targets.find((entry) => entry['kind'] === 'path');
  const file = target?.['real'] ?? target?.['path'];
  return typeof file === 'string' && file !== '' ? file : undefined;
}

/** @param root the workspace of this window. A request of another window may mean another one: then what stands here may differ */
export async function sideText(record: Pick<RequestRecord, 'action'>, side: Side, root: string): Promise<string> {
  const file = writtenFile(record);
  if (file === undefined) return '';
  if (side === 'now') return currentText(file, root);
  const { content, edits } = record.action.arguments;
  if (record.action.tool === 'write_file') return typeof content === 'string' ? content : '';
  const edited = editText(await currentText(file, root), editsOf(edits));
  return edited.ok ? edited.text : t('(edit {0} does not fit the file as it is now: the call would fail)', edited.edit);
}

/** As the store has them: another window may be of another version. */
function editsOf(value: unknown): readonly TextEdit[] {
  const edits: readonly unknown[] = Array.isArray(value) ? value : [];
  return edits.flatMap((edit) => {
    if (!isJsonObject(edit)) return [];
    const { old_text: oldText, new_text: newText, all } = edit;
    return typeof oldText === 'string' && typeof newText === 'string' ? [{ old_text: oldText, new_text: newText, all: all === true }] : [];
  });
}

/** As `edit_file` reads it: by the mark, else UTF-8, else Latin-1. */
function textOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  return isUtf8(bytes) ? new TextDecoder().decode(bytes) : bytes.toString('latin1');
}

async function currentText(file: string, root: string): Promise<string> {
  // An agent's own sandbox is its own: nobody else's path leads there.
  if (file.startsWith('/tmp/')) return '';
  try {
    const base = await realpath(root);
    const real = await realpath(path.resolve(base, file));
    // SECURITY: shown to a person only, but the path comes out of the store: nothing outside the workspace is read.
    if (!real.startsWith(base + path.sep)) return t('(not in this workspace)');
    const found = await stat(real);
    if (!found.isFile()) return t('(not a file)');
    return found.size > maxBytes ? `(${found.size} bytes: too long to compare)` : textOf(await readFile(real));
  } catch {
    // No such file yet.
    return '';
  }
}
