/** How a request stands, and what its call does, each in a word for people. */

import type { AgentHost } from '#kernel/agent';
import type { AnswerResult } from '#kernel/approval/answer';
import { type RequestRecord, type RequestStatus, requestTitle } from '#kernel/approval/request';
import { plainly, wordsOf } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { Impact } from '#kernel/tiers';
import { inWords, t } from './l10n.ts';

/** `Stop VM 100 (web) on pve`. */
export function titleOfRequest(record: Pick<RequestRecord, 'title' | 'words'>, most = 300): string {
  return inWords(plainly(requestTitle(record), most)).replace(/\?$/, '');
}

/** What came of an answer. */
export function answerText({ message, words }: Pick<AnswerResult, 'message' | 'words'>): string {
  return inWords(wordsOf(message, words));
}

export const statusNames: Record<RequestStatus, string> = {
  pending: t('pending'),
  approved: t('approved'),
  consumed: t('consumed'),
  denied: t('denied'),
  revoked: t('revoked'),
  cancelled: t('cancelled'),
  expired: t('expired'),
};

export const impactNames: Record<Impact, string> = {
  none: t('none'),
  reversible: t('reversible'),
  disruptive: t('disruptive'),
  irreversible: t('irreversible'),
};

// An agent for people. The host is ours; the label is the caller's own word and only ever stands beside it.

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
