/** A pending request as a row of the tree. */
import type { RequestRecord } from '#kernel/request';
import { showPlainly } from '#kernel/text';
import type { Impact } from '#kernel/tiers';
import { codeSpan, escapeMarkdown } from '../markdown.ts';
import { agentName } from './agent-name.ts';
import { countdown } from './countdown.ts';

export interface ApprovalRow {
  readonly id: string;
  readonly label: string;
  /** `42m left · Chat 1a2b3c`: in a narrow view the end is cut off first. */
  readonly description: string;
  /** Markdown in which everything from outside is escaped. */
  readonly tooltip: string;
  /** All of it in words, for screen readers. */
  readonly spoken: string;
  readonly icon: string;
  readonly iconColor: string;
}

/** Shape and colour, and the word is in the tooltip and the spoken label: never colour alone. */
const icons: Record<Impact, { readonly icon: string; readonly iconColor: string }> = {
  none: { icon: 'question', iconColor: 'charts.blue' },
  reversible: { icon: 'play-circle', iconColor: 'charts.blue' },
  disruptive: { icon: 'warning', iconColor: 'list.warningForeground' },
  irreversible: { icon: 'flame', iconColor: 'list.errorForeground' },
};

/** @param now ms since the epoch */
export function approvalRow(record: RequestRecord, now: number): ApprovalRow {
  const label = showPlainly(record.title, 120).replace(/\?$/, '');
  const agent = agentName(record.agent);
  const left = countdown(record.expiresAt, now);
  return {
    id: record.id,
    label,
    description: `${left} · ${agent}`,
    tooltip: tooltip(record, agent, left),
    spoken: `${label}, ${record.impact}, asked by ${agent}, ${left}`,
    ...icons[record.impact],
  };
}

function tooltip(record: RequestRecord, agent: string, left: string): string {
  const risk = record.risk.map((fact) => `- ${escapeMarkdown(fact)}`).join('\n');
  const claim = record.claim === undefined ? '' : `*The agent says:* ${escapeMarkdown(record.claim)}`;
  const facts = [
    `| Asked by | ${escapeMarkdown(agent)}${record.agent.model === undefined ? '' : `, ${escapeMarkdown(record.agent.model)}`} |`,
    `| Call | ${cell(`${record.action.tool} ${JSON.stringify(record.action.arguments)}`)} |`,
    ...(record.action.cluster === null ? [] : [`| Cluster | ${escapeMarkdown(record.action.cluster)} |`]),
    `| Impact | ${record.impact}, ${record.tier} |`,
    `| Why it asks | ${escapeMarkdown(record.reason)} |`,
    `| Request | ${cell(record.id)}, ${left} |`,
  ];
  const table = ['| | |', '|:--|:--|', ...facts].join('\n');
  return [`**${escapeMarkdown(record.title)}**`, risk, claim, table].filter((part) => part !== '').join('\n\n');
}

/** In a table even a code span ends at a pipe; `\|` is the one escape that holds there (GFM tables). */
function cell(text: string): string {
  return codeSpan(text).replaceAll('|', '\\|');
}
