/** The tools of plans; `apply_plan` no caller can name. */
import type { Tool } from '#kernel/tool';
import { applyPlan, checkPlan, proposePlan, runPlan, undoPlan } from './plans.ts';

export const planTools: readonly Tool[] = [proposePlan, checkPlan, runPlan, undoPlan];

export const internalPlanTools: readonly Tool[] = [applyPlan];
