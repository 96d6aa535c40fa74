/** Who calls. */
import type { ModelTier } from './tiers.ts';

export const agentHosts = ['chat', 'participant', 'mcp', 'cli', 'palette', 'monitor'] as const;
/** The surface a call came through. */
export type AgentHost = (typeof agentHosts)[number];

export const callSources = ['llm', 'user', 'api', 'monitor'] as const;
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

const sourceByHost: Record<AgentHost, CallSource> = {
  chat: 'llm',
  participant: 'llm',
  mcp: 'llm',
  palette: 'user',
  cli: 'api',
  monitor: 'monitor',
};

export function sourceOf(host: AgentHost): CallSource {
  return sourceByHost[host];
}
