/** The requests of one list as they are now: newest first, as many pages as a person asked for, filtered. */

import type { AgentHost } from '#kernel/agent';
import type { Approvals } from '#kernel/app';
import type { RequestRecord, RequestStatus } from '#kernel/approval/request';
import type { RequestPage } from '#kernel/ports/request-store';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from '../app-session.ts';
import { t } from '../l10n.ts';
import { hostNames, statusNames } from '../request-words.ts';
import { Rereader } from './rereader.ts';

/** Rows that `Load More` adds. */
export const pageRows = 100;
/** A filter that hardly anything passes must not read a whole store with each change. */
const maxPagesRead = 50;
const rereadMs = 30_000;

interface RequestFeedOptions {
  readonly session: AppSession;
  /** The list's own; a filter can only narrow them. */
  readonly statuses: readonly RequestStatus[];
  /** Rows at first; default: one page. */
  readonly rows?: number;
  onError(error: unknown): void;
}

export class RequestFeed {
  readonly #statuses: readonly RequestStatus[];
  readonly #rows: number;
  readonly #listeners = new Set<() => void>();
  readonly #rereader: Rereader;
  #filter: RequestFilter = noFilter;
  #wanted: number;
  #records: readonly RequestRecord[] = [];
  #hasMore = false;
  #isRead = false;

  constructor({ session, statuses, rows = pageRows, onError }: RequestFeedOptions) {
    this.#statuses = statuses;
    this.#rows = rows;
    this.#wanted = rows;
    this.#rereader = new Rereader({
      session,
      onError,
      everyMs: rereadMs,
      follow: (app, changed) => app.approvals.onChange(changed),
      read: async (app) => {
        const page = app === undefined ? { records: [] } : await this.#read(app.approvals);
        this.#isRead = app !== undefined;
        this.#publish(page);
      },
    });
  }

  /** Newest first. */
  get records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Whether `records` is what the store holds: not while Banksman starts, nor with a problem. */
  get isRead(): boolean {
    return this.#isRead;
  }

  get hasMore(): boolean {
    return this.#hasMore;
  }

  get filter(): RequestFilter {
    return this.#filter;
  }

  /** Starts again with what is read at first. */
  set filter(filter: RequestFilter) {
    this.#filter = filter;
    this.#wanted = this.#rows;
    this.#rereader.again();
  }

  loadMore(): void {
    this.#wanted += pageRows;
    this.#rereader.again();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispose(): void {
    this.#rereader.dispose();
  }

  async #read(approvals: Approvals): Promise<RequestPage> {
    const { search, statuses: chosen } = this.#filter;
    const statuses = chosen.length === 0 ? this.#statuses : this.#statuses.filter((status) => chosen.includes(status));
    const query = { statuses, limit: pageRows, ...(search === '' ? {} : { search }) };
    const records: RequestRecord[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < maxPagesRead + this.#wanted / pageRows; pages += 1) {
      const page = await approvals.list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
      records.push(...page.records.filter((record) => passes(record, this.#filter)));
      cursor = page.cursor;
      if (cursor === undefined || records.length >= this.#wanted) break;
    }
    const shown = records.slice(0, this.#wanted);
    return cursor === undefined && shown.length === records.length ? { records: shown } : { records: shown, cursor: cursor ?? '' };
  }

  #publish({ records, cursor }: RequestPage): void {
    this.#records = records;
    this.#hasMore = cursor !== undefined;
    for (const listener of [...this.#listeners]) listener();
  }
}

// Which requests a list shows.

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
