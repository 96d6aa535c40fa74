/** One request as a row of a list. */

import {
  lapsesAt,
  type RequestRecord,
  type RequestStatus,
  requestIdPattern,
  requestReason,
  requestRisk,
  requestTitle,
  waitState,
} from '#kernel/approval/request';
import { endInWords, isSettledReport } from '#kernel/approval/request-end';
import { planIn } from '#kernel/plans/plan-progress';
import { english, isMessage, type Message } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { Impact } from '#kernel/tiers';
import { inWords, t } from '../l10n.ts';
import { codeSpan, escapeMarkdown } from '../markdown.ts';
import { agentName, impactNames, shortAgentName, statusNames, titleOfRequest } from '../request-words.ts';

/** What menus can be offered on: a call or a report that waits, an approval that nobody used yet, and what is over. */
type RowKind = 'approval' | 'report' | 'approved' | 'decided';

export interface ApprovalRow {
  readonly id: string;
  readonly kind: RowKind;
  /** Its steps are rows below it. */
  readonly isPlan: boolean;
  /** Short enough that the description is seen beside it in a narrow view; the whole title is in the tooltip and the spoken label. */
  readonly label: string;
  /** `4:12 · Chat`, `14:02 · denied by alice · Chat 1a2b3c`: in a narrow view the end is cut off first. */
  readonly description: string;
  /** All of it in words, for screen readers. */
  readonly spoken: string;
  readonly icon: string;
  readonly iconColor: string;
}

type Icon = Pick<ApprovalRow, 'icon' | 'iconColor'>;

/** Shape and colour, and the word is in the tooltip and the spoken label: never colour alone. */
const icons: Record<Impact, Icon> = {
  none: { icon: 'question', iconColor: 'charts.blue' },
  reversible: { icon: 'play-circle', iconColor: 'charts.blue' },
  disruptive: { icon: 'warning', iconColor: 'list.warningForeground' },
  irreversible: { icon: 'flame', iconColor: 'list.errorForeground' },
};
const reportIcon: Icon = { icon: 'report', iconColor: 'list.warningForeground' };

const statusIcons: Record<RequestStatus, Icon> = {
  pending: { icon: 'question', iconColor: 'charts.blue' },
  approved: { icon: 'key', iconColor: 'charts.yellow' },
  consumed: { icon: 'pass', iconColor: 'charts.green' },
  denied: { icon: 'circle-slash', iconColor: 'charts.red' },
  revoked: { icon: 'discard', iconColor: 'charts.red' },
  cancelled: { icon: 'dash', iconColor: 'disabledForeground' },
  expired: { icon: 'history', iconColor: 'disabledForeground' },
};

/** @param now ms since the epoch */
export function approvalRow(record: RequestRecord, now: number): ApprovalRow {
  const title = titleOfRequest(record, 120);
  const agent = agentName(record.agent);
  const common = {
    id: record.id,
    isPlan: planIn(record) !== undefined,
    label: record.reported === undefined ? shortTitle(record) : t('Blocked: {0}', showPlainly(record.reported.destination, 40)),
  };
  if (record.status === 'pending') {
    return {
      ...common,
      kind: record.reported === undefined ? 'approval' : 'report',
      description: `${countdown(record.expiresAt, now)} · ${shortAgentName(record.agent)}`,
      spoken: t(
        '{0}, {1}, asked by {2}, {3}',
        title,
        record.reported === undefined ? impactNames[record.impact] : t('a reported block'),
        agent,
        timeLeft(record.expiresAt, now),
      ),
      ...(record.reported === undefined ? icons[record.impact] : reportIcon),
    };
  }
  const ended = endOf(record, now);
  return {
    ...common,
    kind: record.status === 'approved' && record.reported === undefined ? 'approved' : 'decided',
    description: `${ended} · ${agent}`,
    spoken: t('{0}, {1}, asked by {2}', title, ended, agent),
    ...(isSettledReport(record) ? statusIcons.consumed : statusIcons[record.status]),
  };
}

/** The side bar is 300 pixels wide by default: some forty characters, of which the countdown and the agent need fifteen. */
const labelLength = 20;

/** `Stop VM 100 (web)`: where the title is too long the place goes first, then the name beside a number, then its end. */
function shortTitle(record: RequestRecord): string {
  const title = titleOfRequest(record, 120);
  const without = (...keys: readonly string[]) => titleOfRequest(shortened(record, keys), 120).replace(/ on (?:node )?[\w.-]+$/, '');
  const placeless = without('{0} on {1}');
  const nameless = without('{0} on {1}', '{0} ({1})').replace(/ \([^()]*\)$/, '');
  const fits = [title, placeless, nameless].find((text) => text.length <= labelLength);
  return fits ?? `${nameless.slice(0, labelLength - 1).trimEnd()}…`;
}

/** The title without what texts of these keys add to their first value: `VM 100 (web)` of `VM 100 (web) on pve`, in any language. */
function shortened(record: Pick<RequestRecord, 'title' | 'words'>, dropped: readonly string[]): Pick<RequestRecord, 'title' | 'words'> {
  const title = firstOnly(requestTitle(record), dropped);
  return { title: english(title), words: { title } };
}

function firstOnly(message: Message, dropped: readonly string[]): Message {
  const [first = ''] = message.values ?? [];
  if (dropped.includes(message.text)) return isMessage(first) ? firstOnly(first, dropped) : { ...message, text: '{0}' };
  const { values, ...rest } = message;
  return values === undefined ? rest : { ...rest, values: values.map((value) => (isMessage(value) ? firstOnly(value, dropped) : value)) };
}

/** `14:02 · denied by alice`; an approval that still counts says how long. */
function endOf(record: RequestRecord, now: number): string {
  const { status } = record;
  if (status === 'approved' && !isSettledReport(record)) {
    return t('{0} · not used yet, {1}', timeLeft(lapsesAt(record), now), endInWords(record));
  }
  return `${clockTime(endedAt(record), now)} · ${inWords(endInWords(record))}`;
}

function endedAt(record: RequestRecord): number {
  const { status, decision, consumedAt, createdAt } = record;
  if (status === 'expired' && !isSettledReport(record)) return lapsesAt(record);
  return consumedAt ?? decision?.at ?? createdAt;
}

/** `14:02` today, `Nov 21, 14:02` before; in the reader's own time zone. */
function clockTime(at: number, now: number): string {
  const time = new Date(at);
  const clock = time.toLocaleTimeString(t('en'), { hour: '2-digit', minute: '2-digit', hour12: false });
  if (time.toDateString() === new Date(now).toDateString()) return clock;
  return `${time.toLocaleDateString(t('en'), { month: 'short', day: 'numeric' })}, ${clock}`;
}

/** Markdown in which everything from outside is escaped. */
export function requestTooltip(record: RequestRecord, now: number): string {
  const risk = requestRisk(record)
    .map((fact) => `- ${escapeMarkdown(inWords(fact))}`)
    .join('\n');
  const claim = record.claim === undefined ? '' : t('*The agent says:* {0}', escapeMarkdown(record.claim));
  const facts = [
    row(
      t('Asked by'),
      `${escapeMarkdown(agentName(record.agent))}${record.agent.model === undefined ? '' : `, ${escapeMarkdown(record.agent.model)}`}`,
    ),
    ...(record.reported === undefined ? callFacts(record) : reportFacts(record.reported)),
    // That a red tool asks is no reason, as on the card.
    ...(record.code === 'confirmation_required' ? [] : [row(t('Why it asks'), escapeMarkdown(inWords(requestReason(record))))]),
    ...decisionFacts(record),
    ...waitFacts(record, now),
    row(t('Request'), `${cell(record.id)}, ${record.status === 'pending' ? timeLeft(record.expiresAt, now) : statusNames[record.status]}`),
  ];
  const table = ['| | |', '|:--|:--|', ...facts].join('\n');
  return [`**${escapeMarkdown(titleOfRequest(record))}**`, risk, claim, table].filter((part) => part !== '').join('\n\n');
}

/** Only where it was asked for with the record: whether an answer would be heard. */
function waitFacts({ status, wait }: RequestRecord, now: number): readonly string[] {
  if (status !== 'pending' || wait === undefined) return [];
  const state = waitState(wait, now);
  if (state.waits) return [row(t('Waits'), t('a call, until {0}', clockTime(state.until, now)))];
  return [row(t('Waits'), state.since === undefined ? t('no call') : t('no call any more, since {0}', clockTime(state.since, now)))];
}

function callFacts(record: RequestRecord): readonly string[] {
  return [
    row(t('Call'), cell(`${record.action.tool} ${JSON.stringify(record.action.arguments)}`)),
    ...(record.action.cluster === null ? [] : [row(t('Cluster'), escapeMarkdown(record.action.cluster))]),
    row(t('Impact'), `${impactNames[record.impact]}, ${record.tier}`),
  ];
}

function reportFacts({ reason: claim, destination, pattern }: NonNullable<RequestRecord['reported']>): readonly string[] {
  return [
    row(t('Reported'), escapeMarkdown(claim)),
    row(t('Destination'), cell(destination)),
    ...(pattern === undefined ? [] : [row(t('Matched'), cell(pattern))]),
  ];
}

function decisionFacts({ decision }: RequestRecord): readonly string[] {
  if (decision === undefined) return [];
  const { by, via, at, message: words } = decision;
  const said = words === undefined || words === '' ? [] : [row(t('Message'), escapeMarkdown(words))];
  return [
    row(t('Answered by'), t('{0} in the {1}, {2}', escapeMarkdown(by), via, escapeMarkdown(new Date(at).toLocaleString(t('en'))))),
    ...said,
  ];
}

/** Of a Markdown table of two columns. */
function row(title: string, value: string): string {
  return `| ${title} | ${value} |`;
}

/** In a table even a code span ends at a pipe; `\|` is the one escape that holds there (GFM tables). */
function cell(text: string): string {
  return codeSpan(text).replaceAll('|', '\\|');
}

/** How long a request can still be answered, in few characters: `59m`, below ten minutes `4:12`, `expired`. */
export function countdown(expiresAt: number, now: number): string {
  const seconds = Math.floor((expiresAt - now) / 1000);
  if (seconds <= 0) return t('expired');
  const minutes = Math.floor(seconds / 60);
  return minutes >= 10 ? `${minutes}m` : `${minutes}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The same where it stands in a sentence: `4:12 left`, `expired`. */
export function timeLeft(expiresAt: number, now: number): string {
  return expiresAt - now < 1000 ? t('expired') : t('{0} left', countdown(expiresAt, now));
}

// The request id in a command's argument. Commands take an id at most, never a decision: any extension and any model can run them.

/** From an id or a row of the tree; undefined for anything else. */
export function requestIdFrom(argument: unknown): string | undefined {
  try {
    const id = typeof argument === 'object' && argument !== null && 'id' in argument ? argument.id : argument;
    return typeof id === 'string' && requestIdPattern.test(id) ? id : undefined;
  } catch {
    // A getter of whoever made the object.
    return undefined;
  }
}
