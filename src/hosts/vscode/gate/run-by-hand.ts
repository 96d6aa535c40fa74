/** `Approve and Run`: the call of a request that its agent no longer waits for, run for the person who approved it. */
import type { RequestRecord } from '#kernel/request';
import { showPlainly } from '#kernel/text';
import type { ToolDescription } from '#kernel/tool';
import type { AppSession } from '../app-session.ts';
import { type OutcomeDeps, offerLog, showOutcome } from '../commands/cluster-actions.ts';
import { abortOnCancel } from '../tools/abort-on-cancel.ts';
import { showCallProgress } from '../tools/call-progress.ts';
import { workspaceRestriction } from '../tools/run-tool.ts';

export interface RunByHandDeps extends OutcomeDeps {
  readonly session: AppSession;
  readonly tools: readonly ToolDescription[];
  /** `user:alice`. */
  readonly person: string;
}

/** Never rejects: what goes wrong is told. Nobody is asked any more, so there is no gate. */
export async function runByHand(record: RequestRecord, deps: RunByHandDeps): Promise<void> {
  const tool = deps.tools.find(({ name }) => name === record.action.tool);
  const call = abortOnCancel();
  const progress = showCallProgress(`Banksman: ${showPlainly(record.title, 160)}`, { ask: () => undefined }, () => call.abort());
  try {
    const outcome = await deps.session.use((app) =>
      app.runApproved(record.id, { by: deps.person, signal: call.signal, ...workspaceRestriction(), onProgress: progress.onProgress }),
    );
    progress.end();
    if (tool !== undefined) await showOutcome(tool, outcome, deps);
  } catch (thrown) {
    await offerLog('error', `${showPlainly(record.title, 160)}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  } finally {
    progress.end();
    call.dispose();
  }
}
