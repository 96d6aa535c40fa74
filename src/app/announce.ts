/** The title of a call before it runs, from what was literally asked. */

import type { Resource, Target } from '#kernel/resource';
import { english } from '#kernel/text/message';
import type { Tool } from '#kernel/tool';
import type { PolicySettings } from '#pipeline/deps';
import { effectiveTier } from '#policy/classify';

/** What a host may say before a call runs, from the literal arguments alone: a courtesy, never a decision. */
export function announce(
  name: string,
  input: unknown,
  deps: { readonly tools: readonly Tool[]; readonly settings: Pick<PolicySettings, 'tiers' | 'securityLevel'> },
): { readonly title: string; readonly asks: boolean } | undefined {
  const tool = deps.tools.find((entry) => entry.name === name);
  const parsed = tool?.input.safeParse(input ?? {});
  if (tool === undefined || !parsed?.success) return undefined;
  const tier = effectiveTier(tool.name, tool.tier, deps.settings.tiers);
  const asks = tier === 'red' || (tier === 'yellow' && deps.settings.securityLevel === 'strict' && tool.onGrant !== true);
  const targets = tool.touches(parsed.data).map(literalTarget);
  return { title: english(tool.headline(parsed.data, targets)), asks };
}

/** The resource as named, in the shape of a target; a node that is not known yet is left out of its name. */
function literalTarget(resource: Resource): Target {
  const unresolved = { cluster: '', node: '', guestType: 'qemu', addresses: [], online: false, shared: false, tags: [] };
  // Sound: whatever a target of the kind has besides what was named is here, and describing looks at nothing else.
  return { ...unresolved, ...resource } as unknown as Target;
}
