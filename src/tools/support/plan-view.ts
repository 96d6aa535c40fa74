/** How a plan stands, as an agent is told. */
import type { JsonObject } from '#kernel/json';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import { showPlainly } from '#kernel/text/text';
import type { ToolContext, ToolResult } from '#kernel/tool';
import { invalidRequestId, isRequestId } from './request-view.ts';

/** The plan, or why there is no answer about it. */
export async function findPlan(
  id: string,
  { plans }: Pick<ToolContext, 'plans'>,
): Promise<PlanProgress | Extract<ToolResult, { ok: false }>> {
  if (!isRequestId(id)) return { ok: false, code: 'invalid_plan_id', ...invalidRequestId(id) };
  const found = await plans.progress(id);
  if (found !== undefined && found.steps.length > 0) return found;
  return { ok: false, code: 'no_such_plan', message: `there is no plan \`${id}\``, next: 'use the `plan_id` of propose_plan' };
}

export function planData({ id, standing, message, steps, replacedBy, undoes, snapshots }: PlanProgress): JsonObject {
  return {
    ...{ plan_id: id, standing, message },
    steps: steps.map(({ number, title, state, message: said, upid }) => ({
      ...{ number, title: showPlainly(title, 200), state },
      ...(said === undefined ? {} : { message: showPlainly(said, 300) }),
      ...(upid === undefined ? {} : { upid }),
    })),
    ...(replacedBy === undefined ? {} : { replaced_by: replacedBy }),
    ...(undoes === undefined ? {} : { undoes }),
    ...(snapshots === undefined ? {} : { undo_snapshots: snapshots.map(({ vmid, name }) => ({ vmid, name })) }),
  };
}

/** `plan req-1a2b3c4d is stopped: 2 of 5 steps done, 1 failed; why`. */
export function planWords({ id, standing, message, steps }: PlanProgress): string {
  const count = (state: string) => steps.filter((step) => step.state === state).length;
  const others = (['running', 'failed', 'refused', 'unknown'] as const).flatMap((state) =>
    count(state) === 0 ? [] : [`${count(state)} ${state}`],
  );
  const told = [`${count('done')} of ${steps.length} steps done`, ...others].join(', ');
  return `plan ${id} is ${standing}: ${told}; ${showPlainly(message, 500)}`;
}

/** What to do next, by how it stands. */
export function planAdvice({ id, standing, replacedBy, steps }: PlanProgress): string | undefined {
  if (replacedBy !== undefined) return `a person made plan ${replacedBy} of it: use that one`;
  const follow = `check_plan with plan_id ${id} and wait_seconds follows it; do not make its calls yourself`;
  const told: Partial<Record<PlanProgress['standing'], string>> = {
    waiting: `tell the user; check_plan with plan_id ${id} and wait_seconds waits for the answer`,
    approved: `begin it with run_plan and plan_id ${id}`,
    running: follow,
    paused: follow,
    over: 'ask the user before proposing it again',
  };
  return told[standing] ?? adviceAfter({ id, standing, steps });
}

function adviceAfter({ id, standing, steps }: Pick<PlanProgress, 'id' | 'standing' | 'steps'>): string | undefined {
  const unsure = steps.some(({ state }) => state === 'unknown' || state === 'failed');
  const look = unsure ? 'look with get_guest at the guest of the step that failed or is not known; ' : '';
  if (!steps.some(({ state }) => state === 'done')) return standing === 'done' ? undefined : `${look}nothing of it is done`;
  return standing === 'done'
    ? `undo_plan with plan_id ${id} proposes how to take it back`
    : `${look}undo_plan with plan_id ${id} proposes how to take back what is done; or propose what is left as a new plan`;
}
