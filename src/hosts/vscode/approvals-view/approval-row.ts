/** One request as a row of a list. */
import type { RequestRecord, RequestStatus } from '#kernel/request';
import { endInWords, isSettledReport } from '#kernel/request-end';
import { showPlainly } from '#kernel/text';
import type { Impact } from '#kernel/tiers';
import { agentName } from './agent-name.ts';
import { countdown } from './countdown.ts';
import { requestTooltip } from './request-tooltip.ts';

/** What menus can be offered on: a call or a report that waits, an approval that nobody used yet, and what is over. */
export type RowKind = 'approval' | 'report' | 'approved' | 'decided';

export interface ApprovalRow {
  readonly id: string;
  readonly kind: RowKind;
  readonly label: string;
  /** `42m left · Chat 1a2b3c`, `denied by alice · 14:02`: in a narrow view the end is cut off first. */
  readonly description: string;
  /** Markdown in which everything from outside is escaped. */
  readonly tooltip: string;
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
  cancelled: { icon: 'close', iconColor: 'disabledForeground' },
  expired: { icon: 'history', iconColor: 'disabledForeground' },
};

/** @param now ms since the epoch */
export function approvalRow(record: RequestRecord, now: number): ApprovalRow {
  const label = showPlainly(record.title, 120).replace(/\?$/, '');
  const agent = agentName(record.agent);
  const common = { id: record.id, label, tooltip: requestTooltip(record, now) };
  if (record.status === 'pending') {
    const left = countdown(record.expiresAt, now);
    return {
      ...common,
      kind: record.reported === undefined ? 'approval' : 'report',
      description: `${left} · ${agent}`,
      spoken: `${label}, ${record.reported === undefined ? record.impact : 'a reported block'}, asked by ${agent}, ${left}`,
      ...(record.reported === undefined ? icons[record.impact] : reportIcon),
    };
  }
  const ended = endOf(record, now);
  return {
    ...common,
    kind: record.status === 'approved' && record.reported === undefined ? 'approved' : 'decided',
    description: `${ended} · ${agent}`,
    spoken: `${label}, ${ended}, asked by ${agent}`,
    ...(isSettledReport(record) ? statusIcons.consumed : statusIcons[record.status]),
  };
}

/** `denied by alice · 14:02`; an approval that still counts says how long. */
function endOf(record: RequestRecord, now: number): string {
  const { status, grant } = record;
  if (status === 'approved' && !isSettledReport(record)) {
    return `${endInWords(record)}, not used yet, ${countdown(grant?.payload.expiresAt ?? record.expiresAt, now)}`;
  }
  return `${endInWords(record)} · ${clockTime(endedAt(record), now)}`;
}

function endedAt(record: RequestRecord): number {
  const { status, decision, grant, consumedAt, expiresAt, createdAt } = record;
  if (status === 'expired' && !isSettledReport(record)) return grant?.payload.expiresAt ?? expiresAt;
  return consumedAt ?? decision?.at ?? createdAt;
}

/** `14:02` today, `Nov 21, 14:02` before; in the reader's own time zone. */
function clockTime(at: number, now: number): string {
  const time = new Date(at);
  const clock = time.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hour12: false });
  if (time.toDateString() === new Date(now).toDateString()) return clock;
  return `${time.toLocaleDateString('en', { month: 'short', day: 'numeric' })}, ${clock}`;
}
