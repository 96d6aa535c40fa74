/** Which tools a model may use at all, by its tier (docs/design.md#who-may-do-what). */
import type { ModelTier, Permission } from '#kernel/tiers';

const basic: readonly Permission[] = ['file:read', 'code:search', 'data:read', 'ui:screenshot'];
const intermediate: readonly Permission[] = [...basic, 'system:execute:readonly', 'cluster:operate'];
const advanced: readonly Permission[] = [...intermediate, 'file:write', 'system:execute', 'data:write'];

const permissionsByTier: Readonly<Record<ModelTier, readonly Permission[]>> = { basic, intermediate, advanced };

export function permits(tier: ModelTier, permission: Permission): boolean {
  return permissionsByTier[tier].includes(permission);
}

/** The lowest model tier that holds a permission. */
export function lowestTierWith(permission: Permission): ModelTier {
  if (basic.includes(permission)) return 'basic';
  return intermediate.includes(permission) ? 'intermediate' : 'advanced';
}
