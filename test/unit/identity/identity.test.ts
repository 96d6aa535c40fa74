import { describe, expect, it } from 'vitest';
import { chatAgent, cliAgent, paletteAgent } from '#identity/agents';
import { lowestTierWith, permits } from '#identity/permissions';
import { modelTiers, permissions } from '#kernel/tiers';

describe('permissions by model tier', () => {
  it('are those of the table', () => {
    const table = Object.fromEntries(modelTiers.map((tier) => [tier, permissions.filter((permission) => permits(tier, permission))]));
    const basic = ['file:read', 'code:search', 'data:read'];
    const intermediate = [...basic, 'system:execute:readonly', 'cluster:operate'];
    expect(table).toEqual({ basic, intermediate, advanced: [...intermediate, 'file:write', 'system:execute', 'data:write'] });
  });

  it.each(permissions)('%s starts at the lowest tier that holds it', (permission) => {
    const lowest = lowestTierWith(permission);
    expect(permits(lowest, permission)).toBe(true);
    for (const tier of modelTiers.slice(0, modelTiers.indexOf(lowest))) expect(permits(tier, permission)).toBe(false);
  });
});

describe('agents', () => {
  it('have ids that leave the model out', () => {
    expect(cliAgent('ann', 'intermediate')).toEqual({ id: 'cli:ann', host: 'cli', modelTier: 'intermediate' });
    expect(cliAgent('ann', 'basic', 'phi')).toEqual({ id: 'cli:ann', host: 'cli', modelTier: 'basic', model: 'phi' });
    expect(chatAgent('abc', 'advanced')).toEqual({ id: 'chat:abc', host: 'chat', modelTier: 'advanced' });
  });

  it('at the palette are people, whom no model tier limits', () => {
    expect(paletteAgent('ann')).toEqual({ id: 'user:ann', host: 'palette', modelTier: 'advanced' });
  });
});
