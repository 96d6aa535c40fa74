import * as z from 'zod';
import type { RunHistory, RunRecord } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import { say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { defineTool, type ToolContext } from '#kernel/tool';
import { changeCounts, namedPaths } from '../support/changes.ts';

export const undoRun = defineTool({
  name: 'undo_run',
  title: 'Undo a run',
  description:
    'Take back what one of your own earlier calls changed in the workspace, byte for byte. The `run_id` is in its answer, of a command in `changes`. Refused where a file was changed since; what such a run sent over a network, or started elsewhere, is not taken back.',
  group: 'workspace',
  tier: 'yellow',
  impact: 'reversible',
  permission: 'system:execute:readonly',
  input: z.strictObject({
    run_id: z
      .string()
      .regex(/^[a-z0-9-]{1,60}$/, 'must be the `run_id` of an answer')
      .meta({ description: 'The `run_id` of an earlier answer.' }),
  }),
  touches: () => [],
  headline: ({ run_id: id }) => say`Undo run ${id} in the workspace`,
  preview: async ({ run_id: id }, context) => {
    const { record } = await ownRun(id, context);
    return [
      say`It was: ${showPlainly(record.title, 200)}`,
      say`It takes back what it did: ${changeCounts(record)}.`,
      say`Undoing it is not undone again.`,
    ];
  },
  run: async ({ run_id: id }, context) => {
    const { record, history } = await ownRun(id, context);
    context.noteEffect({
      state: 'sent',
      what: 'the run was taken back, or will be by the next start',
      next: 'look at the files before going on',
    });
    const undone = await history.undo(id, { force: false }).catch((thrown: unknown) => {
      throw inTheWay(thrown);
    });
    return {
      ok: true,
      message: `undone: ${changeCounts(undone)}, by \`${showPlainly(record.title, 100)}\``,
      result: { undone: id, ...namedPaths(undone) },
    };
  },
});

async function ownRun(id: string, context: ToolContext): Promise<{ readonly record: RunRecord; readonly history: RunHistory }> {
  const history = await context.workspace().runner.history?.();
  const record = (await history?.list())?.find((run) => run.id === id && run.agentId === context.agent.id);
  // SECURITY: of other agents' runs not even that they are there.
  if (history === undefined || record === undefined)
    throw refusal('no_such_run', `you have no run \`${id}\` that is kept`, 'use the `run_id` of an answer of yours; old runs are not kept');
  if (record.state === 'held')
    throw refusal('not_undoable', 'these changes are held: nothing of them was applied', 'deny or leave their request');
  return { record, history };
}

function refusal(code: string, message: string, next: string): Fault {
  return new Fault(code, message, { next, effect: notSent });
}

/** Setting aside what is there now is for people. */
function inTheWay(thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || !['undo_in_the_way', 'not_undoable', 'no_such_run'].includes(thrown.code)) return thrown;
  const next =
    'undo your later runs first; where somebody else changed it, ask the user, who can set it aside: `banksman runs undo ID --set-aside`';
  return thrown.with({ effect: notSent, ...(thrown.code === 'undo_in_the_way' ? { next } : {}) });
}
