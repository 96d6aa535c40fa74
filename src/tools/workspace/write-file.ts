import * as z from 'zod';
import { faultMessage, toFault } from '#kernel/errors';
import { type Message, say } from '#kernel/text/message';
import { defineTool, type ToolContext } from '#kernel/tool';
import { changeFacts, refuseCopiedMarks } from '../support/change-facts.ts';
import { changeResult, fileTarget, pathArgument, undoFacts, wholeText, writing } from '../support/file-target.ts';

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
  preview: async ({ content }, context) => [...changeFacts(await currentText(context), content), ...undoFacts(context)],
  run: async ({ content, create_dirs: createDirs }, context) => {
    const { path, scope } = fileTarget(context);
    await refuseCopiedMarks(content, () => wholeText(context));
    // The write itself is not cut short: it is one step, and the old file or the new one is there afterwards.
    context.signal.throwIfAborted();
    const write = () => context.workspace().files.write(path, content, { createDirs }, scope);
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
