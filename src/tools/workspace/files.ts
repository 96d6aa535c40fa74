/** Files of the workspace and of the agent’s own sandbox: read, written, edited, listed, searched. */
import * as z from 'zod';
import { Fault, faultMessage, toFault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { DirectoryEntry, Listing } from '#kernel/ports/workspace';
import { outsideMarksIn, redactionMarksIn } from '#kernel/text/marks';
import { type Message, plural, say } from '#kernel/text/message';
import { editText } from '#kernel/text/text-edits';
import { defineTool, type ToolContext } from '#kernel/tool';
import { changeResult, fileTarget, pathArgument, undoFacts, wholeText, writing } from '../support/file-target.ts';

const lineNumber = (description: string) => z.number().int().min(1).max(100_000_000).optional().meta({ description });

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read a text file of the workspace, or a part of it, with line numbers. Returns the lines, their total number, the encoding and a hash for edit_file. Binary files are refused. Paths below `/tmp` are your own sandbox. To find a place use search_files, for names list_directory.',
  group: 'workspace',
  tier: 'green',
  impact: 'none',
  permission: 'file:read',
  outsideText: ['content'],
  input: z.strictObject({
    path: pathArgument('File, relative to the workspace, or below `/tmp` for your own sandbox.'),
    start_line: lineNumber('First line to read, counted from 1; default the first.'),
    end_line: lineNumber('Last line to read; default the last.'),
  }),
  touches: ({ path }) => [{ kind: 'path', access: 'read', path, use: 'read' }],
  headline: ({ path }) => say`Read ${path}`,
  run: async ({ start_line: start, end_line: end }, context) => {
    if (start !== undefined && end !== undefined && end < start) {
      throw new Fault('invalid_input', '`end_line` is before `start_line`', { audience: 'user', next: 'swap them' });
    }
    const { path, scope } = fileTarget(context);
    const lines = { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
    const file = await context.workspace().files.read(path, lines, scope, context.signal);
    const cut = file.endLine < Math.min(end ?? file.totalLines, file.totalLines);
    return {
      ok: true,
      message: `${file.path}: ${rangeOf(file)} of ${file.totalLines}${cut ? '; the rest did not fit' : ''}`,
      result: {
        path: file.path,
        content: numbered(file.text, file),
        start_line: file.startLine,
        end_line: file.endLine,
        total_lines: file.totalLines,
        bytes: file.bytes,
        encoding: file.encoding,
        hash: file.hash,
        ...(cut ? { truncated: true } : {}),
      },
      ...(cut ? { next: `call again with start_line ${file.endLine + 1}` } : {}),
    };
  },
});

interface Lines {
  readonly startLine: number;
  readonly endLine: number;
}

function rangeOf({ startLine, endLine }: Lines): string {
  if (endLine < startLine) return 'no lines';
  return startLine === endLine ? `line ${startLine}` : `lines ${startLine} to ${endLine}`;
}

/** `12<tab>text`, as `cat -n` without its padding. */
function numbered(text: string, { startLine, endLine }: Lines): string {
  if (endLine < startLine) return '';
  return text
    .split('\n')
    .map((line, index) => `${startLine + index}\t${line}`)
    .join('\n');
}

export const writeFile = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Write a whole text file in the workspace (UTF-8). Replaces what is there in one step and makes missing directories unless create_dirs is false; mode, owner and attributes stay. Whatever you leave out is gone: for a change of a part use edit_file. `run_id` is for undo_run. A secret shown as `[redacted:…]` cannot be written back. Paths below `/tmp` are your own sandbox (100 MB, kept for 24 hours after its last use).',
  group: 'workspace',
  tier: 'yellow',
  impact: 'reversible',
  permission: 'file:write',
  input: z.strictObject({
    path: pathArgument('File, relative to the workspace, or below `/tmp` for your own sandbox.'),
    content: z.string().max(10_000_000).meta({ description: 'The whole new content of the file.' }),
    create_dirs: z.boolean().default(true).meta({ description: 'Make missing directories.' }),
  }),
  touches: ({ path }) => [{ kind: 'path', access: 'operate', path, use: 'write' }],
  headline: ({ path }) => say`Write ${path}`,
  preview: async ({ content }, context) => [...changeFacts(await currentText(context), content), ...(await undoFacts(context))],
  run: async ({ content, create_dirs: createDirs }, context) => {
    const { path, scope } = fileTarget(context);
    await refuseCopiedMarks(content, () => wholeText(context));
    // The write itself is not cut short: it is one step, and the old file or the new one is there afterwards.
    const { signal } = context;
    signal.throwIfAborted();
    const write = () => context.workspace().files.write(path, content, { createDirs, signal }, scope);
    const written = await writing(context, write);
    const { path: real, bytes, created } = written;
    const { said, result } = changeResult(written);
    return {
      ok: true,
      message: `${created ? 'created' : 'replaced'} ${real} (${bytes} bytes)${said}`,
      result: { path: real, bytes, created, ...result },
    };
  },
});

/** undefined where there is no text to compare with; then why. */
async function currentText(context: ToolContext): Promise<{ readonly text: string } | { readonly why: Message }> {
  const { path, scope } = fileTarget(context);
  try {
    const { text, endLine, totalLines } = await context.workspace().files.read(path, {}, scope, context.signal);
    return endLine < totalLines ? { why: say`The file there is too long to compare.` } : { text };
  } catch (thrown) {
    const isMissing = toFault(thrown).code === 'FILE_NOT_FOUND';
    return { why: isMissing ? say`There is no such file yet.` : say`What is there cannot be compared: ${faultMessage(thrown)}.` };
  }
}

const edit = z.strictObject({
  old_text: z.string().min(1).max(1_000_000).meta({ description: 'Text that is in the file now, exactly; no line numbers.' }),
  new_text: z.string().max(1_000_000).meta({ description: 'What stands there afterwards; empty deletes.' }),
  all: z.boolean().optional().meta({ description: 'Replace all; else it must be there once.' }),
});

export const editFile = defineTool({
  name: 'edit_file',
  title: 'Edit a file',
  description:
    'Replace exact pieces of a text file in the workspace: all edits of one call in their order, or none. Prefer it to write_file for a file that is there. An old text that is not there, or there more than once without `all`, is refused with the lines. Line ends, byte order mark, encoding, mode, owner and attributes stay. `run_id` is for undo_run. With if_unchanged a file that changed since is refused.',
  group: 'workspace',
  tier: 'yellow',
  impact: 'reversible',
  permission: 'file:write',
  input: z.strictObject({
    path: pathArgument('File, relative to the workspace, or below `/tmp` for your own sandbox.'),
    edits: z.array(edit).min(1).max(200).meta({ description: 'Each works on what the one before left.' }),
    if_unchanged: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .optional()
      .meta({ description: 'The `hash` that read_file returned for this file.' }),
  }),
  touches: ({ path }) => [{ kind: 'path', access: 'operate', path, use: 'write' }],
  headline: ({ path, edits: { length } }) => plural(length, say`Edit ${path} (1 replacement)`, say`Edit ${path} (${length} replacements)`),
  preview: async ({ edits }, context) => {
    const before = await textNow(context);
    if ('why' in before) return [before.why];
    const edited = editText(before.text, edits);
    return edited.ok
      ? [...changeFacts(before, edited.text), ...(await undoFacts(context))]
      : [say`As the file is now, the edits do not fit: the call will fail.`];
  },
  run: async ({ edits, if_unchanged: ifUnchanged }, context) => {
    const { path, scope } = fileTarget(context);
    await refuseCopiedMarks(edits.map(({ new_text: text }) => text).join('\n'), () => wholeText(context));
    const { signal } = context;
    signal.throwIfAborted();
    const options = { signal, ...(ifUnchanged === undefined ? {} : { ifUnchanged }) };
    const edited = await writing(context, () => context.workspace().files.edit(path, edits, options, scope));
    const { path: real, bytes, replacements, hash } = edited;
    const { said, result } = changeResult(edited);
    const message = `edited ${real}: ${replacements} ${replacements === 1 ? 'replacement' : 'replacements'}, ${bytes} bytes${said}`;
    return { ok: true, message, result: { path: real, bytes, replacements, hash, ...result } };
  },
});

async function textNow(context: ToolContext): Promise<{ readonly text: string } | { readonly why: Message }> {
  try {
    const { path, scope } = fileTarget(context);
    await context.workspace().files.read(path, { end: 1 }, scope, context.signal);
    return { text: await wholeText(context) };
  } catch (thrown) {
    return { why: say`What is there cannot be read: ${faultMessage(thrown)}.` };
  }
}

export const listDirectory = defineTool({
  name: 'list_directory',
  title: 'List a directory',
  description:
    'List a directory of the workspace, sorted by name: path, type, size of files. Use recursive=true for everything below, pattern for a glob such as `*.ts` or `src/**/*.json`. What .gitignore files hide is left out and counted; links are named, not followed; at most 1,000 entries. For text inside files use search_files.',
  group: 'workspace',
  tier: 'green',
  impact: 'none',
  permission: 'file:read',
  input: z.strictObject({
    path: pathArgument('Directory, relative to the workspace; `.` is the workspace itself. Or `/tmp` for your own sandbox.'),
    recursive: z.boolean().default(false).meta({ description: 'List everything below, too.' }),
    pattern: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ description: 'Glob to keep: without `/` it matches names at any depth, with `/` the path below the directory.' }),
  }),
  touches: ({ path }) => [{ kind: 'path', access: 'read', path, use: 'list' }],
  headline: ({ path }) => say`List ${path}`,
  run: async ({ recursive, pattern }, context) => {
    const { path, scope } = fileTarget(context);
    const options = { recursive, ...(pattern === undefined ? {} : { pattern }) };
    const listing = await context.workspace().files.list(path, options, scope, context.signal);
    return {
      ok: true,
      message: messageOf(path, listing),
      result: { entries: listing.entries.map(rowOf), omitted: listing.omitted, ignored: listing.ignored },
      ...(listing.omitted > 0 ? { next: 'name a directory further down, or a pattern' } : {}),
    };
  },
});

function messageOf(path: string, { entries, omitted, ignored }: Listing): string {
  const more = omitted > 0 ? `, ${omitted} more left out` : '';
  const hidden = ignored > 0 ? `, ${ignored} hidden by .gitignore` : '';
  return `${path}: ${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}${more}${hidden}`;
}

function rowOf({ path, type, bytes }: DirectoryEntry): JsonObject {
  return { path, type, ...(bytes === undefined ? {} : { bytes }) };
}

export const searchFiles = defineTool({
  name: 'search_files',
  title: 'Search in files',
  description:
    'Search the workspace for a regular expression, line by line: path, line number and text of each match. The expression is of the RE2 kind: no look-around, no back-references; case counts unless it starts with `(?i)`. Escape special characters to find them as they are: `foo\\(`. Binary files, files over 5 MB, secrets and what .gitignore files hide are left out. For file names use list_directory.',
  group: 'workspace',
  tier: 'green',
  impact: 'none',
  permission: 'code:search',
  outsideText: ['text'],
  input: z.strictObject({
    pattern: z.string().min(1).max(1_000).meta({ description: 'Regular expression, one line, for example `export function \\w+`.' }),
    path: pathArgument('Directory or file to search, relative to the workspace.').default('.'),
    file_pattern: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ description: 'Glob of files: `*.ts` at any depth, `src/**/*.{ts,js}` below the searched directory.' }),
    max_results: z.number().int().min(1).max(500).default(50).meta({ description: 'Most matching lines to return.' }),
  }),
  touches: ({ path }) => [{ kind: 'path', access: 'read', path, use: 'search' }],
  headline: ({ pattern, path }) => say`Search ${path} for ${JSON.stringify(pattern)}`,
  run: async ({ pattern, file_pattern: filePattern, max_results: maxResults }, context) => {
    const { path, scope } = fileTarget(context);
    const query = { pattern, path, maxResults, ...(filePattern === undefined ? {} : { filePattern }) };
    const { hits, truncated, engine } = await context.workspace().search.search(query, scope, context.signal);
    const files = new Set(hits.map((hit) => hit.path)).size;
    const found =
      hits.length === 0
        ? 'no match'
        : `${hits.length} ${hits.length === 1 ? 'match' : 'matches'} in ${files} ${files === 1 ? 'file' : 'files'}`;
    return {
      ok: true,
      message: `${found}${truncated ? ', there are more' : ''}`,
      result: { matches: hits.map((hit) => ({ path: hit.path, line: hit.line, text: hit.text })), truncated, engine },
      ...(truncated ? { next: 'narrow the pattern, the path or file_pattern' } : {}),
    };
  },
});

// What a write changes, in facts for the person who is asked.

/** Counts lines as multisets: a moved line counts as neither added nor removed, which a full diff (in the editor) shows. */
function changeFacts(before: { readonly text: string } | { readonly why: Message }, after: string): readonly Message[] {
  const lines = linesOf(after);
  const size = say`The new content has ${count(lines.length)} (${Buffer.byteLength(after)} bytes).`;
  if (!('text' in before)) return [before.why, size];
  const old = linesOf(before.text);
  if (old.join('\n') === lines.join('\n')) return [say`The content stays the same.`, size];
  const removed = beyond(old, lines).length;
  const added = beyond(lines, old).length;
  return [say`It removes ${count(removed)} of ${old.length} and adds ${count(added)}.`, size];
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** What stands more often in `all` than in `others`. */
function beyond(all: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1);
  return all.filter((one) => {
    const known = left.get(one) ?? 0;
    left.set(one, known - 1);
    return known <= 0;
  });
}

function count(lines: number): Message {
  return plural(lines, say`1 line`, say`${lines} lines`);
}

// What a model must not copy from a result into a file: placeholders of hidden secrets, marks around outside text.

/**
 * @param current the file as it is, '' where there is none; asked only when the content holds such marks at all
 * @throws {Fault} `REDACTED_CONTENT`, `MARKED_CONTENT`
 */
async function refuseCopiedMarks(content: string, current: () => Promise<string>): Promise<void> {
  const secrets = redactionMarksIn(content);
  const outside = outsideMarksIn(content);
  if (secrets.length + outside.length === 0) return;
  const before = await current();
  const [copied] = beyond(secrets, redactionMarksIn(before));
  if (copied !== undefined) {
    throw new Fault(
      'REDACTED_CONTENT',
      say`the content holds \`${copied}\`, which stands for a secret that you were not shown: the secret would be lost`,
      {
        audience: 'user',
        next: 'change only the other lines, for example with run_command and sed; or ask the user to make the change',
      },
    );
  }
  const [mark] = beyond(outside, outsideMarksIn(before));
  if (mark !== undefined) {
    throw new Fault('MARKED_CONTENT', say`the content holds \`${mark}\`, a mark of a tool's result and no part of any file`, {
      audience: 'user',
      next: 'leave the marks out',
    });
  }
}
