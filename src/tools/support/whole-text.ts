/** A file as it is, for comparing and for telling what a model was shown. */
import { toFault } from '#kernel/errors';
import type { ToolContext } from '#kernel/tool';
import { fileTarget } from './file-target.ts';

/** All of it, in as many answers as it takes; '' where there is none that could be read. */
export async function wholeText(context: ToolContext): Promise<string> {
  const { path, scope } = fileTarget(context);
  const { files } = context.workspace();
  const parts: string[] = [];
  try {
    for (let start = 1; ; ) {
      const { text, endLine, totalLines } = await files.read(path, { start }, scope, context.signal);
      parts.push(text);
      if (endLine >= totalLines || endLine < start) return parts.join('\n');
      start = endLine + 1;
    }
  } catch (thrown) {
    context.signal.throwIfAborted();
    // A secret file or none at all: then nothing of it was ever shown, and no mark can be its own.
    if (toFault(thrown).audience === 'bug') throw thrown;
    return '';
  }
}
