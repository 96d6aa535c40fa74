/** What a host may say before a call runs, from the literal arguments alone: a courtesy, never a decision. */
import type { Resource, Target } from '#kernel/resource';
import type { Tool } from '#kernel/tool';
import type { PolicySettings } from '#pipeline/deps';
import { effectiveTier } from '#policy/classify';

export function announce(
  name: string,
  input: unknown,
  deps: { readonly tools: readonly Tool[]; readonly settings: Pick<PolicySettings, 'tiers' | 'securityLevel'> },
): { readonly title: string; readonly asks: boolean } | undefined {
  const tool = deps.tools.find((entry) => entry.name === name);
  const parsed = tool?.input.safeParse(input ?? {});
  if (tool === undefined || !parsed?.success) return undefined;
  const tier = effectiveTier(tool.name, tool.tier, deps.settings.tiers);
  const asks = tier === 'red' || (tier === 'yellow' && deps.settings.securityLevel === 'strict');
  const targets = tool.touches(parsed.data).map(literalTarget);
  return { title: tool.headline(parsed.data, targets), asks };
}

/** The resource as named, in the shape of a target; a node that is not known yet is left out of its name. */
function literalTarget(resource: Resource): Target {
  switch (resource.kind) {
    case 'guest':
      return { ...resource, cluster: '', node: resource.node ?? '', guestType: resource.guestType ?? 'qemu', addresses: [] };
    case 'node':
      return { ...resource, cluster: '', online: false, addresses: [] };
    case 'service':
      return { ...resource, cluster: '' };
    case 'command':
    case 'path':
    case 'destination':
      return resource;
  }
}
