/** A call as it was asked, run once by a person’s hand because the agent no longer waits. */

import type { Stakes } from '#approval/card';
import { agentOf } from '#identity/agents';
import type { App, ByHandRun } from '#kernel/app';
import type { EffectiveAction, RequestRecord } from '#kernel/approval/request';
import { reasonArgument } from '#kernel/arguments';
import { applyHeldTool } from '#kernel/effects';
import type { Outcome } from '#kernel/outcome';
import type { Target } from '#kernel/resource';
import type { Message } from '#kernel/text/message';
import type { ModelTier } from '#kernel/tiers';
import { impactOf } from '#kernel/tool';
import type { PipelineDeps } from '#pipeline/deps';
import { runCall } from '#pipeline/run-call';
import { allTools } from '../catalog.ts';
import type { HeldAnswers } from './held.ts';

/** Through every stage, like the agent's own call; what is not the approved action to the last digit does not run. Never rejects. */
export async function runApproved(
  record: RequestRecord,
  run: ByHandRun,
  { deps, defaultTier }: { readonly deps: PipelineDeps; readonly defaultTier: ModelTier },
): Promise<Outcome> {
  const { by, signal, restrict, onProgress } = run;
  const { tool, arguments: input } = record.action;
  return runCall(
    {
      tool,
      input: { ...input, ...claimArgument(record, deps) },
      agent: agentOf(record, defaultTier),
      signal,
      waitMs: 0,
      byHand: { requestId: record.id, by },
      ...(restrict === undefined ? {} : { restrict }),
      ...(onProgress === undefined ? {} : { onProgress }),
    },
    deps,
  );
}

/** Taken out of the arguments when it was asked, and put back for the record. */
function claimArgument({ action, claim }: RequestRecord, { tools }: PipelineDeps): { readonly reason?: string } {
  const tool = tools.find(({ name }) => name === action.tool);
  return claim !== undefined && tool?.input.shape['reason'] === reasonArgument ? { reason: claim.slice(0, 500) } : {};
}

/** Why this process cannot run the call of a request; undefined: it can try. Looking this up first spares a person an approval for nothing. */
export async function whyNotHere(record: RequestRecord, deps: PipelineDeps): Promise<string | undefined> {
  const elsewhere = whyElsewhere(record, deps);
  if (elsewhere !== undefined) return elsewhere;
  const settings = await deps.settings();
  if (settings.unavailable !== undefined) return `the security level cannot be read: ${settings.unavailable}`;
  const isSame = settings.version === record.action.policyVersion;
  return isSame ? undefined : 'it was asked under another policy (configuration, security level or version) than the one that counts here';
}

/** What it touches is not within reach of this process. */
function whyElsewhere({ action, reported }: RequestRecord, deps: PipelineDeps): string | undefined {
  const tool = deps.tools.find(({ name }) => name === action.tool);
  if (tool === undefined || reported !== undefined) return 'there is no such call here';
  if (tool.internal === 'hook') return 'its agent does it itself: it asks for the same thing again';
  if (action.cluster !== null && !deps.clusters.has(action.cluster)) return `the cluster ${action.cluster} is not configured here`;
  if (tool.group !== 'workspace' || (action.workspace !== undefined && action.workspace === deps.workspacePlace)) return undefined;
  return `it belongs to the workspace ${action.workspace ?? '(not named)'}, which is not open here`;
}

/** SECURITY: run by hand it would use the approval up and do nothing. */
const onlyItsAgent: Outcome = {
  status: 'error',
  code: 'not_here',
  message: 'this is a tool of the agent’s own, which only the agent can use; the approval is there for it, and nothing was done',
};

/** The two, as an App has them. */
export function byHand(
  deps: PipelineDeps,
  defaultTier: ModelTier,
  held: Pick<HeldAnswers, 'apply'>,
): Pick<App, 'runApproved' | 'whyNotHere'> {
  return {
    runApproved: async (id, run) => {
      const record = await deps.requests.get(id).catch(() => undefined);
      if (record?.action.tool === applyHeldTool) return held.apply(record, run);
      const tool = deps.tools.find(({ name }) => name === record?.action.tool);
      if (tool?.internal === 'hook') return onlyItsAgent;
      if (record !== undefined) return runApproved(record, run, { deps, defaultTier });
      return { status: 'error', code: 'not_found', message: `there is no request ${id} that can be read; nothing was done` };
    },
    whyNotHere: (record) => whyNotHere(record, deps),
  };
}

/**
 * The title, tier and impact that the catalog gives an action. A stored title that differs was not written by the pipeline.
 * undefined for a tool this version does not know, or an action its schema refuses.
 */
export function describeAction(action: EffectiveAction): ({ readonly title: Message } & Stakes) | undefined {
  const tool = allTools.find((entry) => entry.name === action.tool);
  const input = tool?.input.safeParse(action.arguments);
  if (tool === undefined || !input?.success) return undefined;
  try {
    const targets = action.targets as unknown as readonly Target[];
    return { title: tool.headline(input.data, targets), tier: tool.tier, impact: impactOf(tool, targets, input.data) };
  } catch {
    // Targets of another shape than the tool's own: not an action that the pipeline made.
    return undefined;
  }
}
