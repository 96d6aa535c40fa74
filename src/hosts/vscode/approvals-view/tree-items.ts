/** Elements of the two lists as the editor draws them. */
import { MarkdownString, ThemeColor, ThemeIcon, TreeItem, TreeItemCollapsibleState } from 'vscode';
import type { ApprovalRow } from './approval-row.ts';
import type { ProblemRow } from './problem-rows.ts';
import type { ViewElement } from './shown-rows.ts';

/** @param moreCommand what `Load More` runs */
export function treeItem(element: ViewElement, rowOf: (id: string) => ApprovalRow | undefined, moreCommand: string): TreeItem {
  if (element.kind === 'problem') return problemItem(element.row);
  if (element.kind === 'more') return moreItem(moreCommand);
  const row = rowOf(element.id);
  const item = new TreeItem(row?.label ?? element.id, TreeItemCollapsibleState.None);
  item.id = element.id;
  item.contextValue = row?.kind ?? 'decided';
  if (!row) return item;
  item.description = row.description;
  item.iconPath = new ThemeIcon(row.icon, new ThemeColor(row.iconColor));
  item.accessibilityInformation = { label: row.spoken };
  // Neither trusted (no command links) nor HTML nor icons: a request's words come from a model.
  item.tooltip = new MarkdownString(row.tooltip, false);
  const waits = row.kind === 'approval' || row.kind === 'report';
  item.command = waits
    ? { command: 'banksman.review', title: 'Review', arguments: [element.id] }
    : { command: 'banksman.showDetails', title: 'Show Details', arguments: [element.id] };
  return item;
}

function moreItem(command: string): TreeItem {
  const item = new TreeItem('Load More…', TreeItemCollapsibleState.None);
  item.contextValue = 'more';
  item.iconPath = new ThemeIcon('ellipsis');
  item.command = { command, title: 'Load More' };
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
