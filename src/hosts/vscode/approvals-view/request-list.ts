/** One list of requests in the side bar: its rows, filter, search, paging, and a countdown while somebody looks. */
import { commands, type Disposable, EventEmitter, type TreeView, window } from 'vscode';
import type { RequestStatus } from '#kernel/request';
import { createDisposableBag } from '../disposables.ts';
import { chooseFilter } from './choose-filter.ts';
import type { PendingFeed } from './pending-feed.ts';
import type { RequestFeed } from './request-feed.ts';
import { filterInWords, noFilter } from './request-filter.ts';
import { createShownRows, type ViewElement } from './shown-rows.ts';
import { treeItem } from './tree-items.ts';

const countdownMs = 5000;

export interface RequestListOptions {
  readonly viewId: string;
  /** Its commands are `banksman.<verb><Name>`, its context key is `banksman.filtered<Name>`. */
  readonly name: 'Pending' | 'History';
  readonly feed: RequestFeed;
  /** What a filter offers; one alone is not offered. */
  readonly statuses: readonly RequestStatus[];
  /** Shows problems and the badge; absent in the list that is not the first. */
  readonly state?: PendingFeed;
}

/** Shows `feed`. Returns what to dispose. */
export function createRequestList(options: RequestListOptions): Disposable {
  const { feed, state, name } = options;
  const bag = createDisposableBag();
  const changed = bag.add(new EventEmitter<ViewElement | undefined>());
  const shown = createShownRows();
  const view = bag.add(
    window.createTreeView<ViewElement>(options.viewId, {
      showCollapseAll: false,
      treeDataProvider: {
        onDidChangeTreeData: changed.event,
        getChildren: (element) => (element ? [] : shown.elements()),
        getTreeItem: (element) => treeItem(element, shown.row, `banksman.loadMore${name}`),
      },
    }),
  );
  const redraw = () => {
    const rows = { problems: state?.problems ?? [], records: feed.records, hasMore: feed.hasMore };
    for (const element of shown.update(rows, Date.now())) changed.fire(element);
  };
  const refresh = () => {
    describe(view, options);
    redraw();
  };
  bag.add({ dispose: feed.onChange(refresh) });
  if (state) bag.add({ dispose: state.onChange(refresh) });
  bag.add(whileVisible(view, redraw));
  for (const item of listCommands(options)) bag.add(item);
  refresh();
  return bag;
}

function describe(view: TreeView<ViewElement>, { feed, state, name }: RequestListOptions): void {
  const filter = filterInWords(feed.filter);
  view.description = filter ?? '';
  // Empty, not absent: only then do the welcome texts show.
  view.message = state?.headline ?? (filter !== undefined && feed.records.length === 0 ? `Nothing here fits ${filter}.` : '');
  void commands.executeCommand('setContext', `banksman.filtered${name}`, filter !== undefined);
  if (!state) return;
  showBadge(view, state.pending);
  void commands.executeCommand('setContext', 'banksman.state', state.stateName);
}

function listCommands({ feed, name, statuses }: RequestListOptions): Disposable[] {
  return [
    commands.registerCommand(`banksman.search${name}`, async () => {
      const search = await window.showInputBox({
        title: 'Search Requests',
        prompt: 'Request id, title, tool, agent, model or target. Empty shows all.',
        value: feed.filter.search,
      });
      if (search !== undefined) feed.filter = { ...feed.filter, search: search.trim() };
    }),
    commands.registerCommand(`banksman.filter${name}`, async () => {
      const filter = await chooseFilter(feed.filter, statuses);
      if (filter) feed.filter = filter;
    }),
    commands.registerCommand(`banksman.clearFilter${name}`, () => {
      feed.filter = noFilter;
    }),
    commands.registerCommand(`banksman.loadMore${name}`, () => feed.loadMore()),
  ];
}

function showBadge(view: TreeView<ViewElement>, pending: number): void {
  view.badge =
    pending === 0 ? undefined : { value: pending, tooltip: pending === 1 ? '1 pending approval' : `${pending} pending approvals` };
}

/** Ticks only while somebody can see it. */
function whileVisible(view: TreeView<ViewElement>, tick: () => void): Disposable {
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
