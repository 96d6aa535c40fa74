import * as z from 'zod';
import type { JsonObject } from '#kernel/json';
import type { DirectoryEntry, Listing } from '#kernel/ports/workspace';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { fileTarget, pathArgument } from '../support/file-target.ts';

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
