import * as z from 'zod';
import { reasonArgument } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { applyPlanTool, type Plan } from '#kernel/plans/plan';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { findPlan, planAdvice, planData, planWords } from '../support/plan-view.ts';
import { requestIdArgument } from '../support/request-view.ts';

export const runPlan = defineTool({
  name: 'run_plan',
  title: 'Run an approved plan',
  description:
    'Begin a plan within five minutes of its approval, once. It then runs in the background, and the answer comes at once. Each step runs only on a guest that is as it was approved or foretold; the plan stops at the first that is not, or that fails. Follow it with check_plan. It asks for nothing new: what no person approved does not run.',
  group: 'cluster',
  tier: 'yellow',
  impact: 'irreversible',
  permission: 'cluster:operate',
  onGrant: true,
  input: z.strictObject({ plan_id: requestIdArgument, reason: reasonArgument }),
  touches: () => [],
  headline: ({ plan_id: id }) => say`Run plan ${id}`,
  run: async ({ plan_id: id }, context) => {
    const found = await findPlan(id, context);
    if ('ok' in found) return found;
    const next = planAdvice(found);
    const told = { message: planWords(found), result: planData(found), ...(next === undefined ? {} : { next }) };
    if (found.replacedBy !== undefined || found.standing === 'over') return { ok: false, code: 'plan_over', ...told };
    if (found.standing !== 'waiting' && found.standing !== 'approved') return { ok: true, ...told };
    const record = await context.requests.get(id);
    const input = (record?.action.arguments ?? {}) as JsonObject & Partial<Plan>;
    return {
      ok: true,
      message: `plan ${id} was asked to begin`,
      result: {},
      asks: { tool: applyPlanTool, input, onGrantOf: id, as: 'plan' },
    };
  },
});
