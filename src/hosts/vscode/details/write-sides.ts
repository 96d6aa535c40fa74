/** The two sides of a write that waits: what is in the file now, and what would be. */
import { readFile, realpath, stat } from 'node:fs/promises';
import * as path from 'node:path';
import type { RequestRecord } from '#kernel/request';

/** The editor compares no more than that in a useful time. */
const maxBytes = 2_000_000;

export type Side = 'now' | 'proposed';

/** The file after links, as the policy found it: `src/a.ts`, `/tmp/a.ts`. undefined for a request of another kind. */
export function writtenFile({ action }: Pick<RequestRecord, 'action'>): string | undefined {
  if (action.tool !== 'write_file') return undefined;
  const target = action.targets.find((entry) => entry['kind'] === 'path');
  const file = target?.['real'] ?? target?.['path'];
  return typeof file === 'string' && file !== '' ? file : undefined;
}

/** @param root the workspace of this window. A request of another window may mean another one: then what stands here may differ */
export async function sideText(record: Pick<RequestRecord, 'action'>, side: Side, root: string): Promise<string> {
  const file = writtenFile(record);
  if (file === undefined) return '';
  if (side === 'now') return currentText(file, root);
  const { content } = record.action.arguments;
  return typeof content === 'string' ? content : '';
}

async function currentText(file: string, root: string): Promise<string> {
  // An agent's own sandbox is its own: nobody else's path leads there.
  if (file.startsWith('/tmp/')) return '';
  try {
    const base = await realpath(root);
    const real = await realpath(path.resolve(base, file));
    // SECURITY: shown to a person only, but the path comes out of the store: nothing outside the workspace is read.
    if (!real.startsWith(base + path.sep)) return '(not in this workspace)';
    const found = await stat(real);
    if (!found.isFile()) return '(not a file)';
    return found.size > maxBytes ? `(${found.size} bytes: too long to compare)` : await readFile(real, 'utf8');
  } catch {
    // No such file yet.
    return '';
  }
}
