/** classify: the action tier at this security level, and what the policies for commands and units say. */
import { type Decision, strictest } from '#kernel/decision';
import type { CommandResource, Target } from '#kernel/resource';
import { classify as classifyTier } from '#policy/classify';
import { decideServiceUnit } from '#policy/service-units';
import type { PolicySettings } from './deps.ts';
import type { Classified, Resolved } from './stage.ts';

/** Replaces every command by its canonical text: what runs is what was checked. */
export function classify(state: Resolved, settings: PolicySettings): Classified {
  const byTier = classifyTier(state.tool.name, state.tier, settings.securityLevel);
  const byTarget = state.targets.map((target) => decideTarget(target, settings)).filter((decision) => decision !== undefined);
  const targets = state.targets.map((target) => (target.kind === 'command' ? canonical(target, settings) : target));
  return { ...state, targets, decision: strictest([byTier, ...byTarget]) };
}

/** What a target's own policy says; undefined where there is none. */
function decideTarget(target: Target, settings: PolicySettings): Decision | undefined {
  if (target.kind === 'command') return settings.decideCommand(target.surface, target.text).decision;
  if (target.kind === 'service' && target.access === 'operate') return decideServiceUnit(target.service);
  return undefined;
}

function canonical(target: CommandResource, settings: PolicySettings): Target {
  return { ...target, text: settings.decideCommand(target.surface, target.text).canonical ?? target.text };
}
