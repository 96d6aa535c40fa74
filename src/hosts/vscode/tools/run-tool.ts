/** The one way from a surface of the editor into the App, and the rules that hold for all of them. */
import { workspace } from 'vscode';
import type { Agent } from '#kernel/agent';
import type { HumanGate } from '#kernel/app';
import { toFault } from '#kernel/errors';
import type { Outcome } from '#kernel/outcome';
import type { Log } from '#kernel/ports/log';
import type { ModelTier } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';
import type { AppSession } from '../app-session.ts';
import { titleOf } from '../l10n.ts';
import { type CallSignal, showCallProgress } from './call-progress.ts';

export interface ToolRunner {
  readonly session: AppSession;
  readonly gate: HumanGate;
  readonly log: Log;
}

export interface ToolRun {
  readonly tool: ToolDescription;
  readonly input: unknown;
  /** Who calls, given the tier that the configuration has for unknown models. */
  agent(defaultTier: ModelTier): Agent;
  readonly call: CallSignal;
  /** How long it waits for a person, in ms; absent: as configured. */
  readonly waitMs?: number;
  /** Where the call was made its progress stands, and a way to cancel it: no notification comes over that. */
  readonly isShownThere?: true;
}

/** Never rejects: what goes wrong is an outcome. Disposes `run.call`. */
export async function runTool(runner: ToolRunner, run: ToolRun): Promise<Outcome> {
  try {
    return await runner.session.use((app) => {
      const cancel = run.isShownThere === true ? undefined : () => run.call.abort();
      const progress = showCallProgress(`Banksman: ${titleOf(run.tool)}`, runner.gate, cancel);
      return app
        .call({
          tool: run.tool.name,
          input: run.input,
          agent: run.agent(app.config.defaultModelTier),
          signal: run.call.signal,
          waitMs: run.waitMs ?? app.config.approvalWait.editor,
          gate: progress.gate,
          ...workspaceRestriction(),
          onProgress: progress.onProgress,
        })
        .finally(() => progress.end());
    });
  } catch (thrown) {
    return outcomeOf(thrown);
  } finally {
    run.call.dispose();
  }
}

/** What the editor's word on the workspace does to calls that come through it. Only the host knows; the pipeline refuses and writes it down. */
export function workspaceRestriction(): { readonly restrict?: 'green_only' } {
  return workspace.isTrusted ? {} : { restrict: 'green_only' };
}

/** An App that could not be built: the code says why, and no tool runs. */
function outcomeOf(thrown: unknown): Outcome {
  const fault = toFault(thrown);
  return {
    status: 'error',
    code: fault.code,
    message: fault.message,
    next: fault.next ?? 'ask the user to open the Banksman view, which says what is wrong; do not retry before',
  };
}
