/** The requests of many agents as groups of one list, and what is said before all of a group are denied. */
import type { AgentHost } from '#kernel/agent';
import type { RequestRecord } from '#kernel/approval/request';
import { applyHeldTool } from '#kernel/effects';
import { planIn } from '#kernel/plans/plan-progress';
import { showPlainly } from '#kernel/text/text';
import type { Confirmation } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { agentName } from '../request-words.ts';

/** `plan`: plans, held changes, single calls and reports apart. */
export const groupings = ['agent', 'plan', 'none'] as const;
export type Grouping = (typeof groupings)[number];

export function isGrouping(word: unknown): word is Grouping {
  return groupings.some((grouping) => grouping === word);
}

export interface RequestGroup {
  readonly key: string;
  readonly label: string;
  /** `25 wait · 3 cannot be undone`. */
  readonly description: string;
  /** Plain text. */
  readonly tooltip: string;
  readonly spoken: string;
  /** A codicon. */
  readonly icon: string;
  /** In the order that they were given in. */
  readonly ids: readonly string[];
}

type Head = Pick<RequestGroup, 'key' | 'label' | 'icon'> & { readonly tells: string };

/** In the order of each group's first request; none for `none`. */
export function groupsOf(records: readonly RequestRecord[], grouping: Grouping): readonly RequestGroup[] {
  if (grouping === 'none') return [];
  const headOf = grouping === 'agent' ? agentHead : planHead;
  const found = Map.groupBy(records, (record) => headOf(record).key);
  return [...found.values()].flatMap((members) => {
    const [first] = members;
    return first === undefined ? [] : [groupOf(headOf(first), members)];
  });
}

function groupOf({ key, label, icon, tells }: Head, members: readonly RequestRecord[]): RequestGroup {
  const { length } = members;
  const lasting = members.filter(({ impact, reported }) => impact === 'irreversible' && reported === undefined).length;
  const ofThem = lasting === 0 ? [] : [t('{0} cannot be undone', lasting)];
  const count = length === 1 ? t('1 request waits') : t('{0} requests wait', length);
  return {
    ...{ key, label, icon },
    description: [length === 1 ? t('1 waits') : t('{0} wait', length), ...ofThem].join(' · '),
    tooltip: `${tells}\n${[count, ...ofThem].join(', ')}`,
    spoken: [label, count, ...ofThem].join(', '),
    ids: members.map(({ id }) => id),
  };
}

const hostIcons: Record<AgentHost, string> = { chat: 'comment-discussion', mcp: 'plug', cli: 'terminal', palette: 'person', hook: 'link' };

/** By its id, which the host gives; what it calls itself may be another's. */
function agentHead({ agent }: RequestRecord): Head {
  return {
    key: `agent ${agent.id}`,
    label: agentName(agent),
    icon: hostIcons[agent.host],
    tells: t('Asked by {0}', showPlainly(agent.id, 200)),
  };
}

function planHead({ reported, action }: RequestRecord): Head {
  if (reported !== undefined)
    return { key: 'reports', label: t('Reported blocks'), icon: 'report', tells: t('Settling one lets nothing through') };
  if (planIn({ action }) !== undefined)
    return { key: 'plans', label: t('Plans'), icon: 'list-ordered', tells: t('Several steps each, approved as one') };
  if (action.tool === applyHeldTool)
    return { key: 'held', label: t('Held changes'), icon: 'diff', tells: t('What commands changed, and what waits before it counts') };
  return { key: 'calls', label: t('Single calls'), icon: 'law', tells: t('Part of no plan') };
}

/** More lines would push the buttons out of a small window. */
const linesShown = 12;

interface DenyScope {
  /** The group's label; absent: all that the list shows. */
  readonly of?: string;
  /** What the list is narrowed to, in words. */
  readonly filter?: string;
}

/** @param records what stood in the list when the person asked: nothing else is denied */
export function denyQuestion(records: readonly RequestRecord[], { of, filter }: DenyScope): Confirmation {
  const { length } = records;
  // In the title already.
  const isNamed = of !== undefined && new Set(records.map(({ agent }) => agent.id)).size === 1;
  const lines = records
    .slice(0, linesShown)
    .map(({ title, agent }) => `· ${showPlainly(title, 100).replace(/\?$/, '')}${isNamed ? '' : ` (${agentName(agent)})`}`);
  const more = length > linesShown ? [t('(and {0} more)', length - linesShown)] : [];
  const narrowed = filter === undefined ? [] : ['', t('The list shows only {0}: what it hides is not denied.', filter)];
  const told = t('Nothing of it runs, and each agent is told. What is asked from now on is not denied.');
  return {
    key: `deny ${records.map(({ id }) => id).join()}`,
    title: denyTitle(length, of),
    detail: [told, '', ...lines, ...more, ...narrowed].join('\n'),
    proceed: t('Deny {0}', length),
    stay: t('Keep Waiting'),
    harmless: true,
  };
}

function denyTitle(count: number, of: string | undefined): string {
  if (of === undefined) return count === 1 ? t('Deny 1 request?') : t('Deny {0} requests?', count);
  return count === 1 ? t('Deny 1 request of {0}?', of) : t('Deny {0} requests of {1}?', count, of);
}

/** @param over how many had ended before */
export function deniedInWords(denied: number, over: number): string {
  const done = denied === 1 ? t('1 request was denied') : t('{0} requests were denied', denied);
  if (over === 0) return done;
  return `${done}; ${over === 1 ? t('1 was over already') : t('{0} were over already', over)}`;
}
