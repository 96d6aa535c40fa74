/** What the status bar says. */
import type { App } from '#app/app';
import type { StateName } from './approvals-view/pending-feed.ts';
import { escapeMarkdown } from './markdown.ts';

export interface StatusFacts {
  readonly state: StateName;
  readonly pending: number;
  /** undefined while there is no App. */
  readonly app?: Pick<App, 'securityLevel' | 'sandboxState' | 'storeLocation'>;
  /** Editor settings that switch its own confirmations off. */
  readonly bypasses: readonly string[];
}

export interface StatusText {
  /** With codicons. */
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly spoken: string;
  readonly attention: 'none' | 'warning' | 'error';
}

export function statusText(facts: StatusFacts): StatusText {
  const warning = facts.bypasses.length > 0 ? ' $(warning)' : '';
  if (facts.state === 'bad_config' || facts.state === 'failed') {
    const spoken = facts.state === 'bad_config' ? 'Banksman: the settings have an error' : 'Banksman could not start';
    return { text: `$(error) Banksman${warning}`, tooltip: tooltip(facts, spoken), spoken, attention: 'error' };
  }
  if (!facts.app)
    return { text: '$(loading~spin) Banksman', tooltip: 'Banksman is starting', spoken: 'Banksman is starting', attention: 'none' };
  const level = facts.app.securityLevel;
  const waiting = facts.pending === 0 ? '' : ` $(bell-dot) ${facts.pending}`;
  return {
    text: `$(shield) Banksman: ${level}${waiting}${warning}`,
    tooltip: tooltip(facts, pendingWords(facts.pending)),
    spoken: `Banksman: security level ${level}, ${pendingWords(facts.pending)}, sandbox ${facts.app.sandboxState().state}${facts.bypasses.length > 0 ? ', editor confirmations are bypassed' : ''}`,
    attention: facts.pending > 0 ? 'warning' : 'none',
  };
}

function pendingWords(count: number): string {
  if (count === 0) return 'no pending approvals';
  return count === 1 ? '1 pending approval' : `${count} pending approvals`;
}

function tooltip(facts: StatusFacts, headline: string): string {
  const { app } = facts;
  const rows = app
    ? [
        `| Level | ${app.securityLevel} |`,
        `| Approvals | ${pendingWords(facts.pending)} |`,
        `| Sandbox | ${app.sandboxState().state}: ${escapeMarkdown(app.sandboxState().reason)} |`,
        `| Store | ${escapeMarkdown(app.storeLocation)} |`,
      ]
    : [];
  const table = rows.length === 0 ? '' : ['| | |', '|:--|:--|', ...rows].join('\n');
  const bypass =
    facts.bypasses.length === 0
      ? ''
      : `$(warning) The editor's own confirmations are bypassed (${facts.bypasses.map(escapeMarkdown).join(', ')}). Banksman still asks in its own dialog.`;
  return [app ? '**Banksman**' : `**${headline}**`, table, bypass, 'Select to show the pending approvals.']
    .filter((part) => part !== '')
    .join('\n\n');
}
