/** Which tools a model may use at all, by its tier (docs/design.md#who-may-do-what). */

import type { Agent } from '#kernel/agent';
import type { ModelTier, Permission } from '#kernel/tiers';

const basic: readonly Permission[] = ['file:read', 'code:search', 'data:read'];
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

// How much of a result its reader can take.

const contextTokens: Readonly<Record<ModelTier, number>> = { basic: 8_000, intermediate: 32_000, advanced: 128_000 };

/**
 * An estimate: English prose and code have 3.5 to 4.5 characters a token with the tokenizers in use, JSON and other scripts fewer. Nobody
 * here knows which tokenizer the model has.
 */
const charactersPerToken = 4;

/** The editor's chat hands over longer results as a file (`github.copilot.chat.agent.largeToolResultsToDisk`). */
const chatCharacters = 8_000;

/** Most characters (UTF-16 code units) of one result as JSON. By the model's own tier: standing does not change what fits into its context. */
export function resultBudget(agent: Agent): number {
  const characters = contextTokens[agent.classifiedTier ?? agent.modelTier] * charactersPerToken;
  return agent.host === 'chat' ? Math.min(characters, chatCharacters) : characters;
}
