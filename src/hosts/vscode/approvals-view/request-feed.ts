/** The requests of one list as they are now: newest first, as many pages as a person asked for, filtered. */
import type { Approvals } from '#kernel/app';
import type { RequestRecord, RequestStatus } from '#kernel/approval/request';
import type { RequestPage } from '#kernel/ports/request-store';
import type { AppSession } from '../app-session.ts';
import type { PlanUnderWay } from '../plans/plan-feed.ts';
import type { StepRow } from '../plans/step-rows.ts';
import { type ApprovalRow, approvalRow } from './approval-row.ts';
import type { EmptyRow } from './empty-rows.ts';
import type { ProblemRow } from './problem-rows.ts';
import { noFilter, passes, type RequestFilter } from './request-filter.ts';
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
  onError(error: unknown): void;
}

export class RequestFeed {
  readonly #statuses: readonly RequestStatus[];
  readonly #listeners = new Set<() => void>();
  readonly #rereader: Rereader;
  #filter: RequestFilter = noFilter;
  #wanted = pageRows;
  #records: readonly RequestRecord[] = [];
  #hasMore = false;

  constructor({ session, statuses, onError }: RequestFeedOptions) {
    this.#statuses = statuses;
    this.#rereader = new Rereader({
      session,
      onError,
      everyMs: rereadMs,
      follow: (app, changed) => app.approvals.onChange(changed),
      read: async (app) => this.#publish(app === undefined ? { records: [] } : await this.#read(app.approvals)),
    });
  }

  /** Newest first. */
  get records(): readonly RequestRecord[] {
    return this.#records;
  }

  get hasMore(): boolean {
    return this.#hasMore;
  }

  get filter(): RequestFilter {
    return this.#filter;
  }

  /** Starts again with one page. */
  set filter(filter: RequestFilter) {
    this.#filter = filter;
    this.#wanted = pageRows;
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

// What a list shows now, and what of it has to be drawn anew.

/** An element of the tree. Commands that get one use its `id` and nothing else. */
export type ViewElement =
  | { readonly kind: 'approval'; readonly id: string }
  /** A plan under way. */
  | { readonly kind: 'plan'; readonly id: string }
  /** One of a plan; `id` is the plan's, and a command takes `number` as well. */
  | { readonly kind: 'step'; readonly id: string; readonly number: number; readonly row: StepRow; readonly waits: boolean }
  | { readonly kind: 'problem'; readonly row: ProblemRow }
  /** Where there is nothing else. */
  | { readonly kind: 'empty'; readonly row: EmptyRow }
  /** Adds a page. */
  | { readonly kind: 'more' };

export interface Shown {
  readonly problems: readonly ProblemRow[];
  readonly plans: readonly PlanUnderWay[];
  readonly records: readonly RequestRecord[];
  readonly hasMore: boolean;
  /** Shown only where nothing else is. */
  readonly empty: readonly EmptyRow[];
}

export interface ShownRows {
  elements(): ViewElement[];
  row(id: string): ApprovalRow | undefined;
  plan(id: string): PlanUnderWay | undefined;
  /** What has to be drawn anew: undefined for the whole tree. */
  update(shown: Shown, now: number): (ViewElement | undefined)[];
}

/**
 * The whole tree is drawn anew only when a row comes or goes: while that happens the editor has no element to hand to a command that a
 * person presses, and a countdown would make that happen every few seconds.
 */
export function createShownRows(): ShownRows {
  let elements: ViewElement[] = [];
  let rows = new Map<string, ApprovalRow>();
  let plans = new Map<string, PlanUnderWay>();
  return {
    elements: () => elements,
    row: (id) => rows.get(id),
    plan: (id) => plans.get(id),
    update(shown, now) {
      const before = { rows, plans, keys: elements.map(keyOf).join() };
      rows = new Map(shown.records.map((record) => [record.id, approvalRow(record, now)]));
      plans = new Map(shown.plans.map((plan) => [plan.progress.id, plan]));
      const next = elementsOf(shown);
      if (next.map(keyOf).join() !== before.keys) {
        elements = next;
        return [undefined];
      }
      return elements.filter(
        (element) =>
          (element.kind === 'approval' && rows.get(element.id)?.spoken !== before.rows.get(element.id)?.spoken) ||
          (element.kind === 'plan' && !isSame(plans.get(element.id), before.plans.get(element.id))),
      );
    },
  };
}

function isSame(now: PlanUnderWay | undefined, before: PlanUnderWay | undefined): boolean {
  return JSON.stringify(now) === JSON.stringify(before);
}

function keyOf(element: ViewElement): string {
  if (element.kind === 'approval') return element.id;
  if (element.kind === 'plan' || element.kind === 'step') return `${element.kind} ${element.id}`;
  return element.kind === 'more' ? 'more' : JSON.stringify(element.row);
}

function elementsOf(shown: Shown): ViewElement[] {
  const { length } = [...shown.problems, ...shown.plans, ...shown.records];
  if (length === 0 && !shown.hasMore) return shown.empty.map((row) => ({ kind: 'empty', row }));
  return [
    ...shown.problems.map((row): ViewElement => ({ kind: 'problem', row })),
    ...shown.plans.map(({ progress: { id } }): ViewElement => ({ kind: 'plan', id })),
    ...shown.records.map((record): ViewElement => ({ kind: 'approval', id: record.id })),
    ...(shown.hasMore ? [{ kind: 'more' } as const] : []),
  ];
}
