/** How much of a result its reader can take. */
import type { Agent } from '#kernel/agent';
import type { ModelTier } from '#kernel/tiers';

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
  return agent.host === 'chat' || agent.host === 'participant' ? Math.min(characters, chatCharacters) : characters;
}
