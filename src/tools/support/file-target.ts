/** The path of a call, and whose files it is about. */
import { Fault } from '#kernel/errors';
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
