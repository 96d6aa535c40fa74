/** Who calls. */
import type { ModelTier } from './tiers.ts';

export const agentHosts = ['chat', 'mcp', 'cli', 'palette', 'hook'] as const;
/** The surface a call came through. */
export type AgentHost = (typeof agentHosts)[number];

export const callSources = ['llm', 'user', 'api'] as const;
/** What kind of caller is behind the host. */
export type CallSource = (typeof callSources)[number];

/** The caller of a tool. `id` lasts over restarts and leaves the model out (docs/design.md#words). */
export interface Agent {
  readonly id: string;
  readonly host: AgentHost;
  readonly modelTier: ModelTier;
  /** What `modelTier` was before repeated errors lowered it; absent where they have not. */
  readonly classifiedTier?: ModelTier;
  /** The model's name where the host knows it. Never raises what a person would have to approve. */
  readonly model?: string;
  /** A name for people to read (an MCP client's name, a chat title). Never an identity. */
  readonly label?: string;
}

/**
 * The OS user that the service knows an agent to be of, by whose socket it called through: `alice` of `alice/chat:0f3a`. It is in the id, and so
 * in every digest. undefined without a service.
 */
export function osUserOf(agentId: string): string | undefined {
  return /^([^/:]+)\//.exec(agentId)?.[1];
}

/** The agent as the service knows it: what it calls itself is only a label of that user. */
export function agentOfUser<A extends { readonly id: string }>(user: string, agent: A): A {
  return osUserOf(agent.id) === user ? agent : { ...agent, id: `${user}/${agent.id}` };
}

const sourceByHost: Record<AgentHost, CallSource> = { chat: 'llm', mcp: 'llm', hook: 'llm', palette: 'user', cli: 'api' };

export function sourceOf(host: AgentHost): CallSource {
  return sourceByHost[host];
}
