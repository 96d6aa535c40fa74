/** The tools of plans; `apply_plan` no caller can name. */
import type { Tool } from '#kernel/tool';
import { applyPlan } from './apply-plan.ts';
import { checkPlan } from './check-plan.ts';
import { proposePlan } from './propose-plan.ts';
import { runPlan } from './run-plan.ts';
import { undoPlan } from './undo-plan.ts';

export const planTools: readonly Tool[] = [proposePlan, checkPlan, runPlan, undoPlan];

export const internalPlanTools: readonly Tool[] = [applyPlan];
