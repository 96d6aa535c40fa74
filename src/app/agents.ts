/** Agents, for hosts: they may import nothing of `identity/` itself. */
export { chatAgent, cliAgent, mcpAgent, paletteAgent } from '#identity/agents';
export { modelTierOf } from '#identity/model-tier';
