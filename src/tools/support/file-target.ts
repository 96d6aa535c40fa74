/** The path of a call, and whose files it is about. */

import * as z from 'zod';
import { Fault, toFault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { notSent } from '#kernel/known-effect';
import type { ChangedFile, FileScope } from '#kernel/ports/workspace';
import type { PathResource } from '#kernel/resource';
import { asListed, type Message, say } from '#kernel/text/message';
import type { ToolContext } from '#kernel/tool';

interface FileTarget {
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

/** For the person who is asked. */
export async function undoFacts(context: Pick<ToolContext, 'agent' | 'targets' | 'workspace'>): Promise<readonly Message[]> {
  const why = await context.workspace().files.notKept(fileTarget(context).path);
  return why === undefined ? [] : [say`It cannot be undone afterwards: ${asListed(why)}.`];
}

/** What a caller gets to know of a change: how to take it back, or why that cannot be, and which names still have the old content. */
export function changeResult({ runId, notKept, otherNames }: ChangedFile): { readonly said: string; readonly result: JsonObject } {
  const links =
    otherNames === undefined ? '' : `; ${otherNames} other hard ${otherNames === 1 ? 'link keeps' : 'links keep'} the old content`;
  return {
    said: `${links}${notKept === undefined ? '' : `; it cannot be undone: ${notKept}`}`,
    result: {
      ...(runId === undefined ? {} : { run_id: runId }),
      ...(notKept === undefined ? {} : { not_undoable: notKept }),
      ...(otherNames === undefined ? {} : { other_hard_links: otherNames }),
    },
  };
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

// A path as an argument: taken as it is, since a cleaned one would name another file. The path policy refuses what hides or controls.

export function pathArgument(description: string) {
  return z.string().min(1).max(4_096).meta({ description });
}

// A file as it is, for comparing and for telling what a model was shown.

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
