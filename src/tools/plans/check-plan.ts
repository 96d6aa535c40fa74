import * as z from 'zod';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import { say } from '#kernel/text/message';
import { defineTool, type ToolContext } from '#kernel/tool';
import { findPlan, planAdvice, planData, planWords } from '../support/plan-view.ts';
import { requestIdArgument } from '../support/request-view.ts';

const longestWait = 50;
const lookMs = 1_000;

export const checkPlan = defineTool({
  name: 'check_plan',
  title: 'Check a plan',
  description:
    'How a plan and each of its steps stand. The plan: waiting for a person, approved, running, paused, stopped, done; a step: done, running, failed, refused, not done, or not known. With wait_seconds it waits until something changes. It changes nothing.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({
    plan_id: requestIdArgument,
    wait_seconds: z.number().int().min(0).max(longestWait).default(0).meta({ description: 'Wait so long for news.' }),
  }),
  touches: () => [],
  headline: ({ plan_id: id }) => say`Check plan ${id}`,
  limitMs: ({ wait_seconds: waits }) => waits * 1_000 + 30_000,
  run: async ({ plan_id: id, wait_seconds: waits }, context) => {
    const found = await findPlan(id, context);
    if ('ok' in found) return found;
    const plan = await waitForNews(found, waits * 1_000, context);
    const next = planAdvice(plan);
    return { ok: true, message: planWords(plan), result: planData(plan), ...(next === undefined ? {} : { next }) };
  },
});

async function waitForNews(first: PlanProgress, limitMs: number, { plans, clock, signal }: ToolContext): Promise<PlanProgress> {
  const before = JSON.stringify(first);
  const until = clock.now() + limitMs;
  let plan = first;
  while (['waiting', 'approved', 'running', 'paused'].includes(plan.standing) && JSON.stringify(plan) === before && clock.now() < until) {
    await clock.sleep(Math.min(lookMs, Math.max(1, until - clock.now())), signal);
    plan = (await plans.progress(first.id)) ?? plan;
  }
  return plan;
}
