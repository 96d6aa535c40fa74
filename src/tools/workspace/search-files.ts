import * as z from 'zod';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { fileTarget, pathArgument } from '../support/file-target.ts';

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
