import * as z from 'zod';
import { clusterArgument, reasonArgument, text } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { applyPlanTool, endOf, foretoldWords, mostSteps, type Plan, type ProposedStep, type Rehearsal } from '#kernel/plans/plan';
import { english, say } from '#kernel/text/message';
import { defineTool, type ToolResult } from '#kernel/tool';

/** Longest pause before a step, in s. */
const longestWait = 600;

export const proposePlan = defineTool({
  name: 'propose_plan',
  title: 'Propose a plan',
  description:
    'Several changes to Proxmox VE guests as one plan, which a person approves once and can take back. Its steps start, stop, shut down, snapshot, back up, migrate, clone, resize, configure, delete. The steps are rehearsed on a copy of the cluster first; one that would be refused or fail there refuses the plan, with its number. They run in their order, each after the task of the one before has ended, and stop at the first that fails or whose guest is not as foretold. Use it for two or more changes that belong together. It opens a request and changes nothing: then check_plan, and once it is approved run_plan.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  // Each step is held to what its own tool needs.
  permission: 'data:read',
  input: z.strictObject({
    steps: z
      .array(
        z.strictObject({
          tool: text('Tool that changes a guest, for example `shutdown_vm`.'),
          arguments: z.record(z.string(), z.unknown()).meta({ description: 'Its arguments, as for a call of its own.' }),
          wait_seconds: z.number().int().min(1).max(longestWait).optional().meta({ description: 'Pause before it.' }),
          snapshot_first: z.boolean().optional().meta({ description: 'Snapshot its guest first, as a way back.' }),
        }),
      )
      .min(1)
      .max(mostSteps)
      .meta({ description: `In their order, ${mostSteps} at most.` }),
    cluster: clusterArgument,
    reason: reasonArgument,
  }),
  touches: () => [],
  headline: ({ steps }) => say`Propose a plan of ${steps.length} steps`,
  run: async ({ steps }, { plans }) => resultOf(await plans.rehearse(steps as readonly ProposedStep[])),
});

/** A rehearsal as an answer: the question that a person is asked next, or the step that will not go. */
export function resultOf(rehearsal: Rehearsal): ToolResult {
  if (!rehearsal.ok) {
    const { step, refusal, status } = rehearsal;
    const denied = status === 'denied' ? { denied: true as const } : {};
    return {
      ok: false,
      ...denied,
      ...refusal,
      message: `${step === undefined ? '' : `step ${step}: `}${refusal.message}; no plan was proposed`,
    };
  }
  const { plan } = rehearsal;
  const { steps, unknown } = plan;
  return {
    ok: true,
    message: `${steps.length} step${steps.length === 1 ? ' was' : 's were'} rehearsed on a copy of the cluster, and went well there`,
    result: {
      steps: steps.map(({ title, undo }, index) => ({ number: index + 1, title, ...wayBack(undo) })),
      end: endOf(steps).map((guest) => english(foretoldWords(guest))),
      ...(unknown.length === 0 ? {} : { not_foretold: unknown }),
    },
    asks: { tool: applyPlanTool, input: plan as unknown as JsonObject, as: 'plan' },
  };
}

function wayBack(undo: Plan['steps'][number]['undo']): JsonObject {
  return 'none' in undo ? { no_way_back: undo.none } : { undo: undo.tool };
}
