/** What a list shows now, and what of it has to be drawn anew. */
import type { RequestRecord } from '#kernel/approval/request';
import type { PlanUnderWay } from '../plans/plan-feed.ts';
import type { StepRow } from '../plans/step-rows.ts';
import { type ApprovalRow, approvalRow, countdown } from './approval-row.ts';
import type { EmptyRow } from './empty-rows.ts';
import type { ProblemRow } from './problem-rows.ts';
import { type Grouping, groupsOf, type RequestGroup } from './request-groups.ts';

/** An element of the tree. Commands that get one use its `id` (of a group: its `key`) and nothing else. */
export type ViewElement =
  | { readonly kind: 'approval'; readonly id: string }
  /** A plan under way. */
  | { readonly kind: 'plan'; readonly id: string }
  /** One of a plan; `id` is the plan's, and a command takes `number` as well. */
  | { readonly kind: 'step'; readonly id: string; readonly number: number; readonly row: StepRow; readonly waits: boolean }
  /** Requests that belong together. */
  | { readonly kind: 'group'; readonly key: string }
  | { readonly kind: 'problem'; readonly row: ProblemRow }
  /** Where there is nothing else. */
  | { readonly kind: 'empty'; readonly row: EmptyRow }
  /** Adds a page. */
  | { readonly kind: 'more' };

export interface Shown {
  readonly problems: readonly ProblemRow[];
  readonly plans: readonly PlanUnderWay[];
  /** Newest first. */
  readonly records: readonly RequestRecord[];
  readonly hasMore: boolean;
  /** Shown only where nothing else is. */
  readonly empty: readonly EmptyRow[];
  /** Of the list that people answer from, where the oldest is first: what comes moves nothing above it. Absent: the newest first, no groups. */
  readonly grouping?: Grouping;
}

export interface ShownGroup extends RequestGroup {
  /** Unfolded where it was first seen. */
  readonly opens: boolean;
}

/** Where more than that wait, an overview comes first. */
const mostUnfolded = 24;

/**
 * The whole tree is drawn anew only when a row of its own comes or goes, a group when one of its rows does: while that happens the editor has no
 * element to hand to a command that a person presses, and a countdown would make that happen every few seconds.
 */
export class ShownRows {
  #elements: readonly ViewElement[] = [];
  #rows = new Map<string, ApprovalRow>();
  #plans = new Map<string, PlanUnderWay>();
  #groups = new Map<string, ShownGroup>();
  #groupOf = new Map<string, string>();
  #grouping: Grouping = 'none';
  /** The editor knows an element by the object that it was given. */
  #known = new Map<string, ViewElement>();

  elements(): ViewElement[] {
    return [...this.#elements];
  }

  /** Below a group. */
  members(key: string): ViewElement[] {
    return (this.#groups.get(key)?.ids ?? []).map((id) => this.#same({ kind: 'approval', id }));
  }

  /** What the element stands below. */
  parent(element: ViewElement): ViewElement | undefined {
    if (element.kind === 'step') return this.#known.get(`plan ${element.id}`) ?? this.#same({ kind: 'approval', id: element.id });
    const key = element.kind === 'approval' ? this.#groupOf.get(element.id) : undefined;
    return key === undefined ? undefined : this.#same({ kind: 'group', key });
  }

  row(id: string): ApprovalRow | undefined {
    return this.#rows.get(id);
  }

  plan(id: string): PlanUnderWay | undefined {
    return this.#plans.get(id);
  }

  group(key: string): ShownGroup | undefined {
    return this.#groups.get(key);
  }

  /** Asked before `id` is answered: where the eye goes then, once it is known what is left. */
  beside(id: string): () => ViewElement | undefined {
    const before = this.#inOrder();
    const at = Math.max(0, before.indexOf(id));
    const near = [...before.slice(at), ...before.slice(0, at).toReversed()];
    return () => {
      const next = near.find((one) => this.#rows.has(one));
      return next === undefined ? this.#elements[0] : this.#same({ kind: 'approval', id: next });
    };
  }

  /** What has to be drawn anew: undefined for the whole tree. */
  update(shown: Shown, now: number): (ViewElement | undefined)[] {
    const before = { rows: this.#rows, plans: this.#plans, groups: this.#groups, keys: this.#elements.map(keyOf).join() };
    this.#adopt(shown, now);
    if (this.#elements.map(keyOf).join() !== before.keys) return [undefined];
    const idsIn = (groups: ReadonlyMap<string, ShownGroup>, key: string) => groups.get(key)?.ids.join();
    const moved = [...this.#groups.keys()].filter((key) => idsIn(this.#groups, key) !== idsIn(before.groups, key));
    const changed = [...this.#known.values()].filter((element) => {
      if (element.kind === 'plan') return !isSame(this.#plans.get(element.id), before.plans.get(element.id));
      if (element.kind !== 'approval') return false;
      // Drawn together with its group.
      if (moved.includes(this.#groupOf.get(element.id) ?? '')) return false;
      return this.#rows.get(element.id)?.spoken !== before.rows.get(element.id)?.spoken;
    });
    return [...moved.map((key) => this.#same({ kind: 'group', key })), ...changed];
  }

  #adopt(shown: Shown, now: number): void {
    const { grouping = 'none' } = shown;
    const isOldestFirst = shown.grouping !== undefined;
    const records = isOldestFirst ? shown.records.toReversed() : shown.records;
    this.#groups = arranged(records, grouping, this.#grouping === grouping ? this.#groups : new Map<string, ShownGroup>());
    this.#grouping = grouping;
    this.#groupOf = new Map([...this.#groups.values()].flatMap(({ key, ids }) => ids.map((id) => [id, key] as const)));
    const isBelowAgent = this.#groups.size > 0 && grouping === 'agent';
    this.#rows = new Map(records.map((record) => [record.id, rowIn(record, now, isBelowAgent)]));
    this.#plans = new Map(shown.plans.map((plan) => [plan.progress.id, plan]));
    const approvals = this.#inOrder().map((id): ViewElement => this.#same({ kind: 'approval', id }));
    const groups = [...this.#groups.keys()].map((key): ViewElement => ({ kind: 'group', key }));
    this.#elements = elementsOf(shown, groups.length > 0 ? groups : approvals, isOldestFirst).map((element) => this.#same(element));
    this.#known = new Map([...this.#elements, ...approvals].map((element) => [keyOf(element), element]));
  }

  #inOrder(): readonly string[] {
    return this.#groups.size > 0 ? [...this.#groupOf.keys()] : [...this.#rows.keys()];
  }

  #same(element: ViewElement): ViewElement {
    return this.#known.get(keyOf(element)) ?? element;
  }
}

/** One group alone is no group; once there were two they stay until nothing waits, and each keeps its place. */
function arranged(records: readonly RequestRecord[], grouping: Grouping, old: ReadonlyMap<string, ShownGroup>): Map<string, ShownGroup> {
  const found = groupsOf(records, grouping);
  if (found.length < 2 && old.size === 0) return new Map();
  const opens = records.length <= mostUnfolded;
  const places = [...old.keys()];
  const placeOf = ({ key }: RequestGroup) => (places.includes(key) ? places.indexOf(key) : places.length);
  const placed = found.map((group): ShownGroup => ({ ...group, opens: old.get(group.key)?.opens ?? opens }));
  return new Map(placed.sort((a, b) => placeOf(a) - placeOf(b)).map((group) => [group.key, group]));
}

/** Below an agent's name it is not said again. */
function rowIn(record: RequestRecord, now: number, isBelowAgent: boolean): ApprovalRow {
  const row = approvalRow(record, now);
  return isBelowAgent ? { ...row, description: countdown(record.expiresAt, now) } : row;
}

function isSame(now: PlanUnderWay | undefined, before: PlanUnderWay | undefined): boolean {
  return JSON.stringify(now) === JSON.stringify(before);
}

function keyOf(element: ViewElement): string {
  if (element.kind === 'approval') return element.id;
  if (element.kind === 'group') return `group ${element.key}`;
  if (element.kind === 'plan' || element.kind === 'step') return `${element.kind} ${element.id}`;
  return element.kind === 'more' ? 'more' : JSON.stringify(element.row);
}

/** @param isOldestFirst then more are older ones, and so above */
function elementsOf(shown: Shown, listed: readonly ViewElement[], isOldestFirst: boolean): readonly ViewElement[] {
  const { length } = [...shown.problems, ...shown.plans, ...listed];
  if (length === 0 && !shown.hasMore) return shown.empty.map((row) => ({ kind: 'empty', row }));
  const more: readonly ViewElement[] = shown.hasMore ? [{ kind: 'more' }] : [];
  return [
    ...shown.problems.map((row): ViewElement => ({ kind: 'problem', row })),
    ...shown.plans.map(({ progress: { id } }): ViewElement => ({ kind: 'plan', id })),
    ...(isOldestFirst ? more : []),
    ...listed,
    ...(isOldestFirst ? [] : more),
  ];
}
