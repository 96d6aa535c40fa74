import * as z from 'zod';
import { faultMessage } from '#kernel/errors';
import { type Message, plural, say } from '#kernel/text/message';
import { editText } from '#kernel/text/text-edits';
import { defineTool, type ToolContext } from '#kernel/tool';
import { changeFacts, refuseCopiedMarks } from '../support/change-facts.ts';
import { changeResult, fileTarget, pathArgument, undoFacts, wholeText, writing } from '../support/file-target.ts';

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
      ? [...changeFacts(before, edited.text), ...undoFacts(context)]
      : [say`As the file is now, the edits do not fit: the call will fail.`];
  },
  run: async ({ edits, if_unchanged: ifUnchanged }, context) => {
    const { path, scope } = fileTarget(context);
    await refuseCopiedMarks(edits.map(({ new_text: text }) => text).join('\n'), () => wholeText(context));
    context.signal.throwIfAborted();
    const options = ifUnchanged === undefined ? {} : { ifUnchanged };
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
