/** An agent for people. The host is ours; the label is the caller's own word and only ever stands beside it. */
import type { AgentHost } from '#kernel/agent';
import type { RequestRecord } from '#kernel/approval/request';
import { showPlainly } from '#kernel/text/text';
import { t } from '../l10n.ts';

export const hostNames: Record<AgentHost, string> = {
  chat: 'Chat',
  mcp: 'MCP',
  cli: 'CLI',
  palette: t('Palette'),
  hook: 'Hook',
};

/** `Chat`, `MCP “laptop”`: for a row, where a session's number says nothing. */
export function shortAgentName(agent: RequestRecord['agent']): string {
  return agent.label === undefined && agent.host === 'chat' ? hostNames.chat : agentName(agent);
}

/** `Chat 1a2b3c`, `MCP “laptop”`, `Palette alice`. */
export function agentName(agent: RequestRecord['agent']): string {
  const host = hostNames[agent.host];
  if (agent.label !== undefined) return `${host} “${showPlainly(agent.label, 40)}”`;
  const own = agent.id.slice(agent.id.indexOf(':') + 1);
  return `${host} ${showPlainly(own, /^[0-9a-f]{16,}$/.test(own) ? 6 : 40).replace(/….*$/, '')}`;
}
