import { describe, expect, it } from 'vitest';
import { chatAgent, cliAgent, paletteAgent } from '#identity/agents';
import { modelTierOf } from '#identity/model-tier';
import { lowestTierWith, permits } from '#identity/permissions';
import { modelTiers, permissions } from '#kernel/tiers';

describe('the tier of a model name', () => {
  it.each([
    // The seed's own table.
    ['llama3.2:3b', 'basic'],
    ['phi', 'basic'],
    ['gemma:2b', 'basic'],
    ['tinyllama', 'basic'],
    ['qwen2.5:7b', 'intermediate'],
    ['mistral:7b', 'intermediate'],
    ['llama3.1:8b', 'intermediate'],
    ['neural-chat', 'intermediate'],
    ['deepseek:7b', 'intermediate'],
    ['openchat', 'intermediate'],
    ['claude-3-5-sonnet', 'advanced'],
    ['claude-3-opus', 'advanced'],
    ['gpt-4', 'advanced'],
    ['gpt-4-turbo', 'advanced'],
    ['grok-2', 'advanced'],
    ['deepseek-r1', 'advanced'],
    ['qwen2.5:72b', 'advanced'],
    ['llama3.1:70b', 'advanced'],
    // Its relatives.
    ['claude-3-5-sonnet-20241022', 'advanced'],
    ['openrouter/anthropic/Claude-3-Opus', 'advanced'],
    ['qwen2.5:72b-instruct-q4_K_M', 'advanced'],
    ['deepseek-r1:70b', 'advanced'],
    ['neural-chat:7b-v3.3', 'intermediate'],
    ['openchat:7b', 'intermediate'],
    ['mistral:7b-instruct', 'intermediate'],
    // Smaller ones behind a known name.
    ['gpt-4-mini', 'basic'],
    ['gpt-4-turbo-nano', 'basic'],
    ['deepseek-r1:1.5b', 'basic'],
    ['deepseek-r1:14b', 'basic'],
    ['deepseek-r1-distill-llama', 'basic'],
    ['openchat:3b', 'basic'],
    // Names that only contain a known one.
    ['dolphin', 'basic'],
    ['not-gpt-4', 'basic'],
    ['gpt-4o', 'basic'],
    ['gpt-40', 'basic'],
    ['my-claude-3-opus', 'basic'],
    ['gpt-4/evil', 'basic'],
    ['qwen2.5', 'basic'],
    ['llama3.1', 'basic'],
    ['', 'basic'],
    ['/', 'basic'],
    ['constructor', 'basic'],
    ['__proto__', 'basic'],
  ])('`%s` is %s', (model, tier) => {
    expect(modelTierOf(model)).toBe(tier);
  });
});

describe('permissions by model tier', () => {
  it('are those of design §5', () => {
    const table = Object.fromEntries(modelTiers.map((tier) => [tier, permissions.filter((permission) => permits(tier, permission))]));
    const basic = ['file:read', 'code:search', 'data:read', 'ui:screenshot'];
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
