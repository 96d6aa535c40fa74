/** The view `Pending Approvals`: one row a request, a badge with their number, a countdown while somebody looks. */
import {
  commands,
  type Disposable,
  EventEmitter,
  MarkdownString,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  type TreeView,
  window,
} from 'vscode';
import { viewId } from '../contributes/views.ts';
import { createDisposableBag } from '../disposables.ts';
import { type ApprovalRow, approvalRow } from './approval-row.ts';
import type { PendingFeed } from './pending-feed.ts';
import type { ProblemRow } from './problem-rows.ts';

/** An element of the tree. Commands that get one use its `id` and nothing else. */
export type ViewElement = { readonly kind: 'approval'; readonly id: string } | { readonly kind: 'problem'; readonly row: ProblemRow };

const countdownMs = 5000;

/** Shows `feed`. Returns what to dispose. */
export function createApprovalsView(feed: PendingFeed): Disposable {
  const bag = createDisposableBag();
  const changed = bag.add(new EventEmitter<ViewElement | undefined>());
  let rows = new Map<string, ApprovalRow>();
  const readRows = () => {
    rows = new Map(feed.records.map((record) => [record.id, approvalRow(record, Date.now())]));
  };
  const view = bag.add(
    window.createTreeView<ViewElement>(viewId, {
      showCollapseAll: false,
      treeDataProvider: {
        onDidChangeTreeData: changed.event,
        getChildren: (element) => (element ? [] : elements(feed)),
        getTreeItem: (element) => treeItem(element, rows),
      },
    }),
  );
  const refresh = () => {
    readRows();
    showBadge(view, feed.pending);
    // Empty, not absent: only then do the welcome texts show.
    view.message = feed.headline ?? '';
    void commands.executeCommand('setContext', 'banksman.state', feed.stateName);
    changed.fire(undefined);
  };
  bag.add({ dispose: feed.onChange(refresh) });
  bag.add(
    refreshCountdown(view, () => {
      const before = [...rows.values()].map((row) => row.description).join();
      readRows();
      if ([...rows.values()].map((row) => row.description).join() !== before) changed.fire(undefined);
    }),
  );
  refresh();
  return bag;
}

function elements(feed: PendingFeed): ViewElement[] {
  const problems = feed.problems.map((row): ViewElement => ({ kind: 'problem', row }));
  return [...problems, ...feed.records.map((record): ViewElement => ({ kind: 'approval', id: record.id }))];
}

function treeItem(element: ViewElement, rows: ReadonlyMap<string, ApprovalRow>): TreeItem {
  if (element.kind === 'problem') return problemItem(element.row);
  const row = rows.get(element.id);
  const item = new TreeItem(row?.label ?? element.id, TreeItemCollapsibleState.None);
  item.id = element.id;
  item.contextValue = 'approval';
  if (!row) return item;
  item.description = row.description;
  item.iconPath = new ThemeIcon(row.icon, new ThemeColor(row.iconColor));
  item.accessibilityInformation = { label: row.spoken };
  // Neither trusted (no command links) nor HTML nor icons: a request's words come from a model.
  item.tooltip = new MarkdownString(row.tooltip, false);
  item.command = { command: 'banksman.review', title: 'Review', arguments: [element.id] };
  return item;
}

function problemItem(row: ProblemRow): TreeItem {
  const item = new TreeItem(row.label, TreeItemCollapsibleState.None);
  item.contextValue = 'problem';
  item.description = row.description;
  item.tooltip = row.tooltip;
  item.iconPath = new ThemeIcon('error', new ThemeColor('list.errorForeground'));
  item.accessibilityInformation = { label: `Problem: ${row.label}: ${row.description}` };
  item.command = { command: 'banksman.openSettings', title: 'Open Settings' };
  return item;
}

function showBadge(view: TreeView<ViewElement>, pending: number): void {
  view.badge =
    pending === 0 ? undefined : { value: pending, tooltip: pending === 1 ? '1 pending approval' : `${pending} pending approvals` };
}

/** Ticks only while somebody can see it. */
function refreshCountdown(view: TreeView<ViewElement>, tick: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const follow = () => {
    clearInterval(timer);
    timer = view.visible ? setInterval(tick, countdownMs) : undefined;
  };
  const listener = view.onDidChangeVisibility(follow);
  follow();
  return {
    dispose() {
      clearInterval(timer);
      listener.dispose();
    },
  };
}
