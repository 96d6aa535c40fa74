/** A request in full, as the markdown of a tooltip. */
import type { RequestRecord } from '#kernel/request';
import { codeSpan, escapeMarkdown } from '../markdown.ts';
import { agentName } from './agent-name.ts';
import { timeLeft } from './countdown.ts';

/** Everything from outside is escaped. */
export function requestTooltip(record: RequestRecord, now: number): string {
  const risk = record.risk.map((fact) => `- ${escapeMarkdown(fact)}`).join('\n');
  const claim = record.claim === undefined ? '' : `*The agent says:* ${escapeMarkdown(record.claim)}`;
  const facts = [
    `| Asked by | ${escapeMarkdown(agentName(record.agent))}${record.agent.model === undefined ? '' : `, ${escapeMarkdown(record.agent.model)}`} |`,
    ...(record.reported === undefined ? callFacts(record) : reportFacts(record.reported)),
    `| Why it asks | ${escapeMarkdown(record.reason)} |`,
    ...decisionFacts(record),
    `| Request | ${cell(record.id)}, ${record.status === 'pending' ? timeLeft(record.expiresAt, now) : record.status} |`,
  ];
  const table = ['| | |', '|:--|:--|', ...facts].join('\n');
  return [`**${escapeMarkdown(record.title)}**`, risk, claim, table].filter((part) => part !== '').join('\n\n');
}

function callFacts(record: RequestRecord): readonly string[] {
  return [
    `| Call | ${cell(`${record.action.tool} ${JSON.stringify(record.action.arguments)}`)} |`,
    ...(record.action.cluster === null ? [] : [`| Cluster | ${escapeMarkdown(record.action.cluster)} |`]),
    `| Impact | ${record.impact}, ${record.tier} |`,
  ];
}

function reportFacts({ reason, destination, pattern }: NonNullable<RequestRecord['reported']>): readonly string[] {
  return [
    `| Reported | ${escapeMarkdown(reason)} |`,
    `| Destination | ${cell(destination)} |`,
    ...(pattern === undefined ? [] : [`| Matched | ${cell(pattern)} |`]),
  ];
}

function decisionFacts({ decision }: RequestRecord): readonly string[] {
  if (decision === undefined) return [];
  const { by, via, at, message } = decision;
  const said = message === undefined || message === '' ? [] : [`| Message | ${escapeMarkdown(message)} |`];
  return [`| Answered by | ${escapeMarkdown(by)} in the ${via}, ${escapeMarkdown(new Date(at).toLocaleString('en'))} |`, ...said];
}

/** In a table even a code span ends at a pipe; `\|` is the one escape that holds there (GFM tables). */
function cell(text: string): string {
  return codeSpan(text).replaceAll('|', '\\|');
}
