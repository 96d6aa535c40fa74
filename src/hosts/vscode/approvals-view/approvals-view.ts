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
import type { ApprovalRow } from './approval-row.ts';
import type { PendingFeed } from './pending-feed.ts';
import type { ProblemRow } from './problem-rows.ts';
import { createShownRows, type ViewElement } from './shown-rows.ts';

const countdownMs = 5000;

/** Shows `feed`. Returns what to dispose. */
export function createApprovalsView(feed: PendingFeed): Disposable {
  const bag = createDisposableBag();
  const changed = bag.add(new EventEmitter<ViewElement | undefined>());
  const shown = createShownRows();
  const view = bag.add(
    window.createTreeView<ViewElement>(viewId, {
      showCollapseAll: false,
      treeDataProvider: {
        onDidChangeTreeData: changed.event,
        getChildren: (element) => (element ? [] : shown.elements()),
        getTreeItem: (element) => treeItem(element, shown.row),
      },
    }),
  );
  const refresh = () => {
    showBadge(view, feed.pending);
    // Empty, not absent: only then do the welcome texts show.
    view.message = feed.headline ?? '';
    void commands.executeCommand('setContext', 'banksman.state', feed.stateName);
    for (const element of shown.update(feed, Date.now())) changed.fire(element);
  };
  bag.add({ dispose: feed.onChange(refresh) });
  bag.add(
    refreshCountdown(view, () => {
      for (const element of shown.update(feed, Date.now())) changed.fire(element);
    }),
  );
  refresh();
  return bag;
}

function treeItem(element: ViewElement, rowOf: (id: string) => ApprovalRow | undefined): TreeItem {
  if (element.kind === 'problem') return problemItem(element.row);
  const row = rowOf(element.id);
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
