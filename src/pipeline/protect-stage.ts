import { classify as classifyTier, effectiveTier } from '#policy/classify';
import type { CallDeps } from './deps.ts';
import { protect } from './protect.ts';
import { type Resolved, refuseBy, type Step, type Validated } from './stage.ts';

/** Protection; black is refused whether or not its target can be found. */
export async function protectStage(state: Validated, deps: CallDeps, signal: AbortSignal): Promise<Step<Resolved>> {
  const tier = effectiveTier(state.tool.name, state.tool.tier, deps.settings.tiers);
  if (tier !== 'black') return protect(state, deps, signal);
  const resolved = await protect(state, deps, signal).catch(() => undefined);
  return resolved?.ok || (resolved !== undefined && resolved.refusal.status === 'denied')
    ? resolved
    : refuseBy(classifyTier(state.tool.name, tier, deps.settings.securityLevel));
}
