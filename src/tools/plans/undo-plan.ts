import * as z from 'zod';
import { reasonArgument } from '#kernel/arguments';
import type { PlanStep, ProposedStep } from '#kernel/plans/plan';
import { planIn, undoOf } from '#kernel/plans/plan-progress';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { findPlan, planWords } from '../support/plan-view.ts';
import { requestIdArgument } from '../support/request-view.ts';
import { resultOf } from './propose-plan.ts';

export const undoPlan = defineTool({
  name: 'undo_plan',
  title: 'Propose how to undo a plan',
  description:
    'Propose a plan that takes back the steps of an earlier plan that are done, in reverse order: started guests are shut down, configuration goes back, guests migrate back, what was made is deleted. It is rehearsed and a person approves it like any plan; the answer says what has no way back. It changes nothing itself.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  // Each step is held to what its own tool needs.
  permission: 'data:read',
  rare: true,
  input: z.strictObject({ plan_id: requestIdArgument, reason: reasonArgument }),
  touches: () => [],
  headline: ({ plan_id: id }) => say`Propose how to undo plan ${id}`,
  run: async ({ plan_id: id }, context) => {
    const found = await findPlan(id, context);
    if ('ok' in found) return found;
    const record = await context.requests.get(id);
    const plan = record && planIn(record);
    if (plan === undefined || found.standing === 'running' || found.standing === 'paused')
      return { ok: false, code: 'plan_running', message: planWords(found), next: 'wait until it has ended, or ask the user to stop it' };
    const ways = undoOf(found, plan);
    const steps = ways.flatMap(({ step }) => stepsBack(step));
    const kept = ways.flatMap(({ number, step: { title, undo } }) => ('none' in undo ? [{ number, title, no_way_back: undo.none }] : []));
    if (steps.length === 0)
      return {
        ok: false,
        code: 'nothing_to_undo',
        message: `nothing of plan ${id} can be taken back`,
        result: { kept },
        next: 'tell the user',
      };
    const result = resultOf(await context.plans.rehearse(steps, { undoes: id, cluster: plan.cluster }));
    if (!result.ok || kept.length === 0) return result;
    const others = kept.map(({ number, no_way_back: why }) => `step ${number} stays (${why})`).join('; ');
    return { ...result, message: `${result.message}; ${others}`, result: { ...(result.result as object), kept } };
  },
});

/** A rollback leaves a guest stopped that ran before. */
function stepsBack({ undo, before, targets }: PlanStep): readonly ProposedStep[] {
  if ('none' in undo) return [];
  const back = { tool: undo.tool, arguments: undo.input };
  const [guest] = before;
  if (undo.tool !== 'rollback_snapshot' || guest?.status !== 'running') return [back];
  return [back, { tool: targets[0]?.['guestType'] === 'lxc' ? 'start_container' : 'start_vm', arguments: { vmid: guest.vmid } }];
}
