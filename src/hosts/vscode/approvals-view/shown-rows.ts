/** What a list shows now, and what of it has to be drawn anew. */
import type { RequestRecord } from '#kernel/request';
import { type ApprovalRow, approvalRow } from './approval-row.ts';
import type { ProblemRow } from './problem-rows.ts';

/** An element of the tree. Commands that get one use its `id` and nothing else. */
export type ViewElement =
  | { readonly kind: 'approval'; readonly id: string }
  | { readonly kind: 'problem'; readonly row: ProblemRow }
  /** Adds a page. */
  | { readonly kind: 'more' };

export interface Shown {
  readonly problems: readonly ProblemRow[];
  readonly records: readonly RequestRecord[];
  readonly hasMore: boolean;
}

export interface ShownRows {
  elements(): ViewElement[];
  row(id: string): ApprovalRow | undefined;
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
  return {
    elements: () => elements,
    row: (id) => rows.get(id),
    update(shown, now) {
      const before = { rows, keys: elements.map(keyOf).join() };
      rows = new Map(shown.records.map((record) => [record.id, approvalRow(record, now)]));
      const next = elementsOf(shown);
      if (next.map(keyOf).join() !== before.keys) {
        elements = next;
        return [undefined];
      }
      return elements.filter(
        (element) => element.kind === 'approval' && rows.get(element.id)?.spoken !== before.rows.get(element.id)?.spoken,
      );
    },
  };
}

function keyOf(element: ViewElement): string {
  if (element.kind === 'approval') return element.id;
  return element.kind === 'more' ? 'more' : JSON.stringify(element.row);
}

function elementsOf(shown: Shown): ViewElement[] {
  return [
    ...shown.problems.map((row): ViewElement => ({ kind: 'problem', row })),
    ...shown.records.map((record): ViewElement => ({ kind: 'approval', id: record.id })),
    ...(shown.hasMore ? [{ kind: 'more' } as const] : []),
  ];
}
