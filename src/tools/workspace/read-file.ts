import * as z from 'zod';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { fileTarget, pathArgument } from '../support/file-target.ts';

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
