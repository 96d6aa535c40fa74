/** One list of requests in the side bar: its rows, filter, search, paging, and a countdown while somebody looks. */
import {
  type Command,
  commands,
  EventEmitter,
  MarkdownString,
  type QuickPickItem,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  type TreeView,
  Uri,
  window,
  workspace,
} from 'vscode';
import { agentHosts } from '#kernel/agent';
import type { RequestStatus } from '#kernel/approval/request';
import type { JsonObject } from '#kernel/json';
import { planIn } from '#kernel/plans/plan-progress';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from '../app-session.ts';
import { toldCommand } from '../commands/told-command.ts';
import { historyViewId, viewId } from '../contributes/views.ts';
import { createDisposableBag, type Disposable } from '../disposables.ts';
import { t } from '../l10n.ts';
import { notify } from '../notify.ts';
import type { PlanFeed, PlanUnderWay } from '../plans/plan-feed.ts';
import { type StepRow, standingNames, stepRows } from '../plans/step-rows.ts';
import { hostNames, statusNames } from '../request-words.ts';
import { type ApprovalRow, requestTooltip } from './approval-row.ts';
import { type EmptyRow, emptyHistory, emptyPending } from './empty-rows.ts';
import { groupingIn, type PendingCommandDeps, registerPendingCommands } from './pending-commands.ts';
import type { PendingFeed } from './pending-feed.ts';
import type { ProblemRow } from './problem-rows.ts';
import { filterInWords, noFilter, RequestFeed, type RequestFilter } from './request-feed.ts';
import { type ShownGroup, ShownRows, type ViewElement } from './shown-rows.ts';

const countdownMs = 5000;

interface RequestListOptions {
  readonly viewId: string;
  /** Its commands are `banksman.<verb><Name>`, its context key is `banksman.filtered<Name>`. */
  readonly name: 'Pending' | 'History';
  readonly feed: RequestFeed;
  /** What a filter offers; one alone is not offered. */
  readonly statuses: readonly RequestStatus[];
  /** Shows problems and the badge; absent in the list that is not the first. */
  readonly state?: PendingFeed;
  /** Those under way, above the requests; absent there as well. */
  readonly plans?: PlanFeed;
  /** What can be done with all of it; absent there as well. */
  readonly acts?: PendingCommandDeps;
  readonly session: AppSession;
}

/** Shows `feed`. Returns what to dispose. */
function createRequestList(options: RequestListOptions): Disposable {
  const { feed, state, plans, name, acts } = options;
  const bag = createDisposableBag();
  const changed = bag.add(new EventEmitter<ViewElement | undefined>());
  const shown = new ShownRows();
  const view = bag.add(
    window.createTreeView<ViewElement>(options.viewId, {
      showCollapseAll: acts !== undefined,
      treeDataProvider: {
        onDidChangeTreeData: changed.event,
        getChildren: (element) => (element ? below(element, shown, options) : shown.elements()),
        getParent: (element) => shown.parent(element),
        resolveTreeItem: (item, element) => withTooltip(item, element, options.session),
        getTreeItem: (element) => treeItem(element, shown, `banksman.loadMore${name}`),
      },
    }),
  );
  const redraw = () => {
    const running = { problems: state?.problems ?? [], plans: plans?.plans ?? [] };
    const arranged = acts === undefined ? {} : { grouping: groupingIn(acts.memory) };
    const rows = { ...running, ...arranged, records: feed.records, hasMore: feed.hasMore, empty: emptyRows(options) };
    for (const element of shown.update(rows, Date.now())) changed.fire(element);
    acts?.focus.drawn();
  };
  const refresh = () => {
    describe(view, options);
    redraw();
  };
  bag.add({ dispose: feed.onChange(refresh) });
  if (state) bag.add({ dispose: state.onChange(refresh) });
  if (plans) bag.add({ dispose: plans.onChange(redraw) });
  bag.add(whileVisible(view, redraw));
  bag.add(workspace.onDidGrantWorkspaceTrust(refresh));
  for (const item of listCommands(options)) bag.add(item);
  acts?.focus.follow({ beside: (id) => revealBeside(id, view, shown) });
  const list = { shown, records: () => feed.records, filter: () => feed.filter, redraw };
  for (const item of acts === undefined ? [] : registerPendingCommands(acts, list)) bag.add(item);
  refresh();
  return bag;
}

function describe(view: TreeView<ViewElement>, { feed, state, name }: RequestListOptions): void {
  const filter = filterInWords(feed.filter);
  view.description = filter ?? '';
  // Empty, not absent: only then does the text of the start show.
  view.message = state?.headline ?? (filter !== undefined && feed.records.length === 0 ? t('Nothing here fits {0}.', filter) : '');
  void commands.executeCommand('setContext', `banksman.filtered${name}`, filter !== undefined);
  if (!state) return;
  showBadge(view, state.pending);
  const isReady = state.stateName === 'ready';
  const contexts = { 'banksman.state': state.stateName, 'banksman.looks': isReady, 'banksman.acts': isReady && workspace.isTrusted };
  for (const [key, value] of Object.entries(contexts)) void commands.executeCommand('setContext', key, value);
}

/** Only while somebody sees the list. */
function revealBeside(id: string, view: TreeView<ViewElement>, shown: ShownRows): () => boolean {
  const next = shown.beside(id);
  return () => {
    const element = shown.row(id) === undefined ? next() : undefined;
    if (element === undefined) return false;
    if (view.visible) void Promise.resolve(view.reveal(element, { select: false, focus: true })).catch(() => undefined);
    return true;
  };
}

function emptyRows({ feed, state }: RequestListOptions): readonly EmptyRow[] {
  if (filterInWords(feed.filter) !== undefined) return [];
  if (state) return emptyPending(state.stateName, workspace.isTrusted);
  return feed.isRead ? emptyHistory : [];
}

function listCommands({ feed, name, statuses, viewId: list }: RequestListOptions): Disposable[] {
  // From the palette: what it does is in a list that may not be in sight.
  const show = (filter: RequestFilter | undefined) => {
    if (filter === undefined) return undefined;
    feed.filter = filter;
    return commands.executeCommand(`${list}.focus`);
  };
  return [
    toldCommand(`banksman.search${name}`, async () => {
      const search = await window.showInputBox({
        title: t('Search Requests'),
        prompt: t('Request id, title, tool, agent, model or target. Empty shows all.'),
        value: feed.filter.search,
      });
      return show(search === undefined ? undefined : { ...feed.filter, search: search.trim() });
    }),
    toldCommand(`banksman.filter${name}`, async () => show(await chooseFilter(feed.filter, statuses))),
    toldCommand(`banksman.clearFilter${name}`, () => show(noFilter)),
    commands.registerCommand(`banksman.loadMore${name}`, () => {
      if (feed.hasMore) feed.loadMore();
      else notify.status(t('Banksman: there are no more requests.'));
    }),
  ];
}

function showBadge(view: TreeView<ViewElement>, pending: number): void {
  view.badge =
    pending === 0 ? undefined : { value: pending, tooltip: pending === 1 ? t('1 pending approval') : t('{0} pending approvals', pending) };
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

interface FilterItem extends QuickPickItem {
  add(filter: RequestFilter): RequestFilter;
}

/** undefined when the person gave up. The search stays as it was. */
async function chooseFilter(filter: RequestFilter, statuses: readonly RequestStatus[]): Promise<RequestFilter | undefined> {
  const chosen = await window.showQuickPick(filterItems(filter, statuses), {
    title: t('Filter Requests'),
    placeHolder: t('Nothing chosen shows all'),
    canPickMany: true,
  });
  const start: RequestFilter = { search: filter.search, statuses: [], hosts: [], severe: false, reported: false };
  return chosen?.reduce((made, item) => item.add(made), start);
}

function filterItems(filter: RequestFilter, statuses: readonly RequestStatus[]): FilterItem[] {
  const ofStatus = statuses.map(
    (status): FilterItem => ({
      label: statusNames[status],
      description: t('status'),
      picked: filter.statuses.includes(status),
      add: (made) => ({ ...made, statuses: [...made.statuses, status] }),
    }),
  );
  const ofHost = agentHosts.map(
    (host): FilterItem => ({
      label: hostNames[host],
      description: t('asked from'),
      picked: filter.hosts.includes(host),
      add: (made) => ({ ...made, hosts: [...made.hosts, host] }),
    }),
  );
  return [
    ...(statuses.length > 1 ? ofStatus : []),
    { label: t('Disruptive or irreversible'), description: t('impact'), picked: filter.severe, add: (made) => ({ ...made, severe: true }) },
    { label: t('Reported blocks'), description: t('kind'), picked: filter.reported, add: (made) => ({ ...made, reported: true }) },
    ...ofHost,
  ];
}

/** What a group holds; the steps of a plan, as they are when they are looked at; of one under way they are in the feed. */
async function below(element: ViewElement, shown: ShownRows, { feed, session, state }: RequestListOptions): Promise<ViewElement[]> {
  if (element.kind === 'group') return shown.members(element.key);
  if (element.kind !== 'plan' && element.kind !== 'approval') return [];
  const waits = element.kind === 'approval' && state !== undefined;
  const rows = element.kind === 'plan' ? shown.plan(element.id)?.steps : await readSteps(element.id, waits);
  return (rows ?? []).map((row) => ({ kind: 'step', id: element.id, number: row.number, row, waits }));

  async function readSteps(id: string, isPending: boolean): Promise<readonly StepRow[]> {
    const plan = feed.records.filter((record) => record.id === id).map(planIn)[0];
    if (plan === undefined) return [];
    const progress = isPending ? undefined : await session.use(({ plans }) => plans.get(id)).catch(() => undefined);
    return stepRows(plan as unknown as JsonObject, progress);
  }
}

/** @param moreCommand what `Load More` runs */
function treeItem(element: ViewElement, shown: ShownRows, moreCommand: string): TreeItem {
  if (element.kind === 'problem') return problemItem(element.row);
  if (element.kind === 'more') return moreItem(moreCommand);
  if (element.kind === 'empty') return emptyItem(element.row);
  if (element.kind === 'step') return stepItem(element);
  if (element.kind === 'group') return groupItem(element.key, shown.group(element.key));
  if (element.kind === 'plan') return planItem(element.id, shown.plan(element.id));
  return requestItem(element.id, shown.row(element.id));
}

function groupItem(key: string, group: ShownGroup | undefined): TreeItem {
  const { Collapsed, Expanded } = TreeItemCollapsibleState;
  const item = new TreeItem(group?.label ?? key, group?.opens === false ? Collapsed : Expanded);
  item.id = `group ${key}`;
  if (group === undefined) return item;
  item.contextValue = 'bm-group';
  item.description = group.description;
  item.tooltip = group.tooltip;
  item.iconPath = new ThemeIcon(group.icon);
  item.accessibilityInformation = { label: group.spoken };
  return item;
}

function planItem(id: string, plan: PlanUnderWay | undefined): TreeItem {
  const { title = id, standing = 'running', message = '', steps = [] } = plan?.progress ?? {};
  const done = t('{0} of {1} done', steps.filter(({ state }) => state === 'done').length, steps.length);
  const item = new TreeItem(showPlainly(title, 120).replace(/\?$/, ''), TreeItemCollapsibleState.Expanded);
  const isPaused = standing === 'paused';
  item.id = `plan ${id}`;
  item.contextValue = `bm-plan-${standing}`;
  item.description = `${standingNames[standing]} · ${done}`;
  item.tooltip = `${title}\n${standingNames[standing]}, ${done}${message === '' ? '' : `: ${showPlainly(message, 500)}`}`;
  item.iconPath = new ThemeIcon(isPaused ? 'debug-pause' : 'sync~spin', new ThemeColor(isPaused ? 'charts.yellow' : 'charts.blue'));
  item.accessibilityInformation = { label: t('{0}, plan, {1}, {2}', showPlainly(title, 120), standingNames[standing], done) };
  item.command = { command: 'banksman.showPlan', title: t('Show Plan'), arguments: [id] };
  return item;
}

function stepItem({ id, number, row, waits }: Extract<ViewElement, { readonly kind: 'step' }>): TreeItem {
  const item = new TreeItem(row.label, TreeItemCollapsibleState.None);
  item.id = `step ${id} ${number}`;
  item.contextValue = waits ? 'bm-step' : 'bm-over';
  item.description = row.description;
  item.tooltip = row.tooltip;
  item.iconPath = new ThemeIcon(row.icon, row.iconColor === undefined ? undefined : new ThemeColor(row.iconColor));
  item.accessibilityInformation = { label: row.spoken };
  item.command = { command: 'banksman.showPlan', title: t('Show Plan'), arguments: [id] };
  return item;
}

function requestItem(id: string, row: ApprovalRow | undefined): TreeItem {
  const { Collapsed, None } = TreeItemCollapsibleState;
  const isPlan = row?.isPlan === true;
  const item = new TreeItem(row?.label ?? id, isPlan ? Collapsed : None);
  item.id = id;
  if (!row) return item;
  const waits = row.kind === 'approval' || row.kind === 'report';
  item.contextValue = `${waits ? 'bmw' : 'bm'}-${row.kind}${isPlan ? '+' : ''}`;
  item.description = row.description;
  item.iconPath = new ThemeIcon(row.icon, new ThemeColor(row.iconColor));
  item.accessibilityInformation = { label: row.spoken };
  // The row itself: it has the focus again afterwards.
  item.command = waits
    ? { command: 'banksman.review', title: t('Review'), arguments: [{ kind: 'approval', id }] }
    : { command: 'banksman.showDetails', title: t('Show Details'), arguments: [id] };
  return item;
}

/** Read when somebody points at it: whether a call waits still is known then, and two hundred rows cost none of it. */
async function withTooltip(item: TreeItem, element: ViewElement, session: AppSession): Promise<TreeItem> {
  if (element.kind !== 'approval') return item;
  const record = await session.use(({ approvals }) => approvals.get(element.id)).catch(() => undefined);
  // Neither trusted (no command links) nor HTML nor icons: a request's words come from a model.
  if (record !== undefined) item.tooltip = new MarkdownString(requestTooltip(record, Date.now()), false);
  return item;
}

function moreItem(command: string): TreeItem {
  const item = new TreeItem(t('Load More…'), TreeItemCollapsibleState.None);
  item.contextValue = 'more';
  item.accessibilityInformation = { label: t('Load more requests'), role: 'button' };
  item.iconPath = new ThemeIcon('ellipsis');
  item.command = { command, title: t('Load More') };
  return item;
}

export function emptyItem({ label, icon, tooltip, command }: EmptyRow): TreeItem {
  const item = new TreeItem(label, TreeItemCollapsibleState.None);
  item.contextValue = 'empty';
  item.tooltip = tooltip;
  item.iconPath = new ThemeIcon(icon);
  item.accessibilityInformation = command ? { label, role: 'button' } : { label: `${label}. ${tooltip}` };
  if (command) item.command = command;
  return item;
}

function openerOf({ file }: ProblemRow): Command {
  if (file === undefined) return { command: 'banksman.openSettings', title: t('Open Settings') };
  return { command: 'vscode.open', title: t('Open File'), arguments: [Uri.file(file)] };
}

function problemItem(row: ProblemRow): TreeItem {
  const item = new TreeItem(row.label, TreeItemCollapsibleState.None);
  item.contextValue = 'problem';
  item.description = row.description;
  item.tooltip = row.tooltip;
  item.iconPath = new ThemeIcon('error', new ThemeColor('list.errorForeground'));
  item.accessibilityInformation = { label: t('Problem: {0}: {1}', row.label, row.description) };
  item.command = row.command === undefined ? openerOf(row) : { ...row.command, arguments: [...row.command.arguments] };
  return item;
}

/** The views `Pending Approvals` and `Decided Requests`, and the number on the activity bar. */
const pending: readonly RequestStatus[] = ['pending'];
/** Approved ones too: until they are used they can be taken back. */
const decided: readonly RequestStatus[] = ['approved', 'consumed', 'denied', 'revoked', 'expired', 'cancelled'];

/** What agents have open at once, but for a flood: all of it can be seen and grouped. */
const rowsAtFirst = 300;

export function createApprovalsViews(
  session: AppSession,
  { state, plans, acts }: Required<Pick<RequestListOptions, 'state' | 'plans' | 'acts'>>,
  onError: (error: unknown) => void,
): Disposable {
  const bag = createDisposableBag(onError);
  const waiting = bag.add(new RequestFeed({ session, statuses: pending, rows: rowsAtFirst, onError }));
  const over = bag.add(new RequestFeed({ session, statuses: decided, onError }));
  bag.add(createRequestList({ session, viewId, name: 'Pending', feed: waiting, statuses: pending, state, plans, acts }));
  bag.add(createRequestList({ session, viewId: historyViewId, name: 'History', feed: over, statuses: decided }));
  return bag;
}
