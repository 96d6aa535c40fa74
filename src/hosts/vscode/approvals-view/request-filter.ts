/** Which requests a list shows. */
import type { AgentHost } from '#kernel/agent';
import type { RequestRecord, RequestStatus } from '#kernel/approval/request';
import { showPlainly } from '#kernel/text/text';
import { t } from '../l10n.ts';
import { statusNames } from '../request-words.ts';
import { hostNames } from './agent-name.ts';

export interface RequestFilter {
  /** The store looks for it, in everything that it holds; `''` for no search. */
  readonly search: string;
  /** Empty: all of the list's own. */
  readonly statuses: readonly RequestStatus[];
  /** Empty: every surface. */
  readonly hosts: readonly AgentHost[];
  /** Only what interrupts something or cannot be undone. */
  readonly severe: boolean;
  /** Only blocks that agents reported. */
  readonly reported: boolean;
}

export const noFilter: RequestFilter = { search: '', statuses: [], hosts: [], severe: false, reported: false };

/** What the store cannot select by itself. */
export function passes(record: RequestRecord, filter: RequestFilter): boolean {
  if (filter.hosts.length > 0 && !filter.hosts.includes(record.agent.host)) return false;
  if (filter.severe && record.impact !== 'disruptive' && record.impact !== 'irreversible') return false;
  return !filter.reported || record.reported !== undefined;
}

/** `“vm 100” · MCP, CLI`; undefined where nothing is filtered. */
export function filterInWords(filter: RequestFilter): string | undefined {
  const parts = [
    filter.search === '' ? '' : `“${showPlainly(filter.search, 40)}”`,
    filter.statuses.map((status) => statusNames[status]).join(', '),
    filter.hosts.map((host) => hostNames[host]).join(', '),
    filter.severe ? t('severe') : '',
    filter.reported ? t('reported blocks') : '',
  ];
  return parts.filter((part) => part !== '').join(' · ') || undefined;
}
