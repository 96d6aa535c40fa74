import * as z from 'zod';
import { reasonArgument } from '#kernel/arguments';
import { changedSince } from '#kernel/guest-condition';
import { type applyPlanTool, foretold, mostSteps, type Plan } from '#kernel/plans/plan';
import type { Resource } from '#kernel/resource';
import { plural, say } from '#kernel/text/message';
import { type Impact, impacts } from '#kernel/tiers';
import { defineTool, type Obstacle, type ToolContext } from '#kernel/tool';
import { conditionsNow } from '../support/condition.ts';

/** Made by a rehearsal, digested and signed: nobody else writes one. */
const object = z.record(z.string(), z.json());
const guests = z.array(z.looseObject({ vmid: z.number().int(), exists: z.boolean() })).max(10);

const planSchema = z.strictObject({
  cluster: z.string(),
  steps: z
    .array(
      z.strictObject({
        ...{ tool: z.string(), input: object, wait_seconds: z.number().int().optional(), title: z.string() },
        ...{ impact: z.enum(impacts), targets: z.array(object), before: guests, after: guests },
        undo: z.union([
          z.strictObject({ tool: z.string(), input: object, loses: z.string().optional() }),
          z.strictObject({ none: z.string() }),
        ]),
      }),
    )
    .min(1)
    .max(mostSteps),
  ...{ touches: z.array(object), blast: z.array(z.string()), unknown: z.array(z.string()), undoes: z.string().optional() },
  reason: reasonArgument,
});
type Input = z.output<typeof planSchema>;

export const applyPlan = defineTool({
  name: 'apply_plan' satisfies typeof applyPlanTool,
  title: 'Run a plan',
  description: 'Runs the steps of a plan in their order, once a person has approved it.',
  group: 'cluster',
  tier: 'red',
  impact: 'disruptive',
  permission: 'cluster:operate',
  internal: true,
  input: planSchema,
  impactOf: (_targets, { steps }) => worst(steps),
  touches: ({ touches }) => touches as unknown as readonly Resource[],
  headline: ({ steps, cluster, undoes }) => {
    const { length } = steps;
    const size = plural(length, say`1 step on cluster ${cluster}`, say`${length} steps on cluster ${cluster}`);
    return undoes === undefined ? say`Run a plan of ${size}` : say`Undo plan ${undoes}: ${size}`;
  },
  precondition: async (input, { cluster, signal }) => conditionsNow(cluster().api, vmidsIn(input), signal),
  precheck: (input, context) => drifted(input, context),
  run: async ({ steps }, context) => {
    const id = context.requestId ?? '';
    context.plans.start();
    return {
      ok: true,
      message: `plan ${id} has begun: ${steps.length} step${steps.length === 1 ? '' : 's'}, one after the other`,
      result: { plan_id: id, standing: 'running' },
      next: `follow it with check_plan, plan_id ${id} and wait_seconds; do not make its calls yourself`,
    };
  },
});

function worst(steps: Input['steps']): Impact {
  return impacts[Math.max(...steps.map(({ impact }) => impacts.indexOf(impact)))] ?? 'irreversible';
}

function vmidsIn({ steps }: Pick<Input, 'steps'>): readonly number[] {
  return [...new Set(steps.flatMap(({ before }) => before.map(({ vmid }) => vmid)))].sort((a, b) => a - b);
}

/** The guests are not as the rehearsal found them: what it foretold is worth nothing then. */
async function drifted(input: Input, { cluster, signal }: Pick<ToolContext, 'cluster' | 'signal'>): Promise<Obstacle | undefined> {
  const now = foretold(await conditionsNow(cluster().api, vmidsIn(input), signal));
  const { steps } = input as unknown as Plan;
  const first = new Map(steps.flatMap(({ before }) => before.map((guest) => [guest.vmid, guest] as const)).toReversed());
  const what = changedSince([...first.values()], now);
  return what === undefined
    ? undefined
    : {
        code: 'plan_drift',
        message: `the cluster is not as the plan was rehearsed on (${what})`,
        next: 'look at it, then propose a plan anew',
      };
}
