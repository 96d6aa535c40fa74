/** Agents by where they come from. Ids last over restarts and leave the model out (docs/design.md#words). */
import type { Agent } from '#kernel/agent';
import type { RequestRecord } from '#kernel/approval/request';
import type { ModelTier } from '#kernel/tiers';
import { modelTierOf } from './model-tier.ts';

/** A program on the command line: `cli:` + OS user. */
export function cliAgent(osUser: string, modelTier: ModelTier, model?: string): Agent {
  return { id: `cli:${osUser}`, host: 'cli', modelTier, ...(model === undefined ? {} : { model }) };
}

/** A coding agent that asks about its own tools before it uses them: `hook:`, the agent's name, and the OS user. */
export function hookAgent(name: string, osUser: string, modelTier: ModelTier, model?: string): Agent {
  return { id: `hook:${name}:${osUser}`, host: 'hook', modelTier, label: name, ...(model === undefined ? {} : { model }) };
}

/** A person at the command palette: no model is involved, so no model tier limits them. */
export function paletteAgent(osUser: string): Agent {
  return { id: `user:${osUser}`, host: 'palette', modelTier: 'advanced' };
}

/** A chat session of the editor, by a hash of the session (never by its title or model). */
export function chatAgent(sessionHash: string, modelTier: ModelTier): Agent {
  return { id: `chat:${sessionHash}`, host: 'chat', modelTier };
}

/**
 * An MCP client: `mcp:` + the token's name, over stdio the OS user. The label is what the client calls itself: for people to read, and no
 * part of the identity, since any client can claim any name.
 */
export function mcpAgent(name: string, modelTier: ModelTier, label?: string): Agent {
  return { id: `mcp:${name}`, host: 'mcp', modelTier, ...(label === undefined ? {} : { label }) };
}

/** A request of an older version does not say which tier the agent had: it is classified as a new call's would be. */
export function agentOf({ agent }: Pick<RequestRecord, 'agent'>, defaultTier: ModelTier): Agent {
  const tierByModel = agent.model === undefined ? defaultTier : modelTierOf(agent.model);
  return { ...agent, modelTier: agent.modelTier ?? (agent.host === 'palette' ? 'advanced' : tierByModel) };
}
