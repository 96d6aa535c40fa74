/** The path of a call, and whose files it is about. */
import { Fault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import type { FileScope } from '#kernel/ports/workspace';
import type { PathResource } from '#kernel/resource';
import type { ToolContext } from '#kernel/tool';

export interface FileTarget {
  readonly path: string;
  readonly scope: FileScope;
}

/** @throws {Fault} `internal_error` where the pipeline handed in no path */
export function fileTarget({ agent, targets }: Pick<ToolContext, 'agent' | 'targets'>): FileTarget {
  const target = targets.find((entry): entry is PathResource => entry.kind === 'path');
  if (target === undefined) throw new Fault('internal_error', 'internal error: the path was not checked', { audience: 'bug' });
  const { path, real, agreed } = target;
  return { path, scope: { agentId: agent.id, ...(agreed === true && real !== undefined ? { agreed: real } : {}) } };
}

/** Runs a write, and has it known what becomes of the file when it does not end well: one that fails leaves what was there. */
export async function writing<Written>(context: Pick<ToolContext, 'noteEffect'>, write: () => Promise<Written>): Promise<Written> {
  const what = 'the file is as it was, or wholly the new one';
  context.noteEffect({ state: 'sent', what, next: 'read the file before writing it again' });
  try {
    return await write();
  } catch (thrown) {
    throw thrown instanceof Fault ? thrown.with({ effect: notSent }) : thrown;
  }
}
