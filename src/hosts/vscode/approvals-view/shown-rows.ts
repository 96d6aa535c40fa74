/** What the tree shows now, and what of it has to be drawn anew. */
import { type ApprovalRow, approvalRow } from './approval-row.ts';
import type { PendingFeed } from './pending-feed.ts';
import type { ProblemRow } from './problem-rows.ts';

/** An element of the tree. Commands that get one use its `id` and nothing else. */
export type ViewElement = { readonly kind: 'approval'; readonly id: string } | { readonly kind: 'problem'; readonly row: ProblemRow };

export type Shown = Pick<PendingFeed, 'records' | 'problems'>;

export interface ShownRows {
  elements(): ViewElement[];
  row(id: string): ApprovalRow | undefined;
  /** What has to be drawn anew: undefined for the whole tree. */
  update(feed: Shown, now: number): (ViewElement | undefined)[];
}

/**
 * The whole tree is drawn anew only when a row comes or goes: while that happens the editor has no element to hand to a command that a
 * person presses, and a countdown would make that happen every few seconds.
 */
export function createShownRows(): ShownRows {
  let elements: ViewElement[] = [];
  let rows = new Map<string, ApprovalRow>();
  const key = (element: ViewElement) => (element.kind === 'approval' ? element.id : JSON.stringify(element.row));
  return {
    elements: () => elements,
    row: (id) => rows.get(id),
    update(feed, now) {
      const before = { rows, keys: elements.map(key).join() };
      rows = new Map(feed.records.map((record) => [record.id, approvalRow(record, now)]));
      const next = elementsOf(feed);
      if (next.map(key).join() !== before.keys) {
        elements = next;
        return [undefined];
      }
      return elements.filter(
        (element) => element.kind === 'approval' && rows.get(element.id)?.spoken !== before.rows.get(element.id)?.spoken,
      );
    },
  };
}

function elementsOf(feed: Shown): ViewElement[] {
  const problems = feed.problems.map((row): ViewElement => ({ kind: 'problem', row }));
  return [...problems, ...feed.records.map((record): ViewElement => ({ kind: 'approval', id: record.id }))];
}
