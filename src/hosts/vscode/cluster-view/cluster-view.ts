/** The view `Cluster`: what the clusters hold, what agents are at there, and a person's own acts on it. */
import {
  commands,
  type Event,
  EventEmitter,
  type FileDecoration,
  ThemeColor,
  ThemeIcon,
  type TreeDataProvider,
  TreeItem,
  TreeItemCollapsibleState,
  type TreeView,
  Uri,
  window,
  workspace,
} from 'vscode';
import type { AppSession } from '../app-session.ts';
import { type EmptyRow, emptyPending, showLog } from '../approvals-view/empty-rows.ts';
import { problemHeadline, problemNotice } from '../approvals-view/problem-rows.ts';
import { emptyItem } from '../approvals-view/request-list.ts';
import { plainLabel } from '../commands/picks.ts';
import { toldCommand } from '../commands/told-command.ts';
import { clusterViewId } from '../contributes/views.ts';
import { createDisposableBag, type Disposable } from '../disposables.ts';
import { t } from '../l10n.ts';
import { remedyOf } from '../notices.ts';
import { ClusterFeed } from './cluster-feed.ts';
import { choicesIn, isNarrowed, type Look, lookInWords, type Sorting, sortings, wholeLook } from './cluster-look.ts';
import { allFlags, type Flag, flagInWords, guestRow, stateInWords, type TreeRow } from './cluster-rows.ts';
import { buildTree, changedRows, Tree } from './cluster-tree.ts';

/** Another window in front is no reason to stop looking at once. */
const unfocusedMs = 120_000;

const noTree = new Tree();

/** What other surfaces need of the view. */
export interface ClusterView extends Disposable {
  readonly feed: ClusterFeed;
  /** SECURITY: an id is all that a command takes, and only one that is in the tree counts. */
  row(argument: unknown): TreeRow | undefined;
  guest(cluster: string, vmid: number): TreeRow | undefined;
}

export function createClusterView(session: AppSession): ClusterView {
  const bag = createDisposableBag();
  const feed = bag.add(new ClusterFeed(session));
  const rows = bag.add(new ClusterRows(session, feed));
  const view = bag.add(window.createTreeView<string>(clusterViewId, { treeDataProvider: rows, showCollapseAll: true }));
  const describe = () => {
    view.description = lookInWords(rows.look) ?? '';
    view.message = isNarrowed(rows.look) && rows.isEmpty ? t('No guest, node or storage fits. Clear the filter to see all.') : '';
    void commands.executeCommand('setContext', 'banksman.filteredCluster', isNarrowed(rows.look));
  };
  const redraw = () => {
    rows.redraw();
    describe();
  };
  bag.add({ dispose: feed.onChange(redraw) });
  bag.add(workspace.onDidGrantWorkspaceTrust(redraw));
  bag.add(watchWhileSeen(view, feed));
  bag.add(window.registerFileDecorationProvider({ provideFileDecoration: decorationOf }));
  for (const item of lookCommands(rows, feed, redraw)) bag.add(item);
  redraw();
  return {
    feed,
    row: (argument) => rows.row(argument),
    guest: (cluster, vmid) => guestOf(feed, cluster, vmid),
    dispose: () => bag.dispose(),
  };
}

/** Whatever the view leaves out. */
function guestOf({ clusters, running }: ClusterFeed, cluster: string, vmid: number): TreeRow | undefined {
  const state = clusters.find(({ name }) => name === cluster);
  const row = state?.overview?.resources.find((one) => one['vmid'] === vmid && (one['type'] === 'qemu' || one['type'] === 'lxc'));
  if (state === undefined || row === undefined) return undefined;
  const at = running.filter(({ targets }) => targets.includes(`${vmid} on ${cluster}`));
  return guestRow(`${cluster} ${vmid}`, row, { state, at });
}

/** Nothing is asked of a cluster for a view that nobody can see. */
function watchWhileSeen(view: TreeView<string>, feed: ClusterFeed): Disposable {
  const bag = createDisposableBag();
  let timer: NodeJS.Timeout | undefined;
  const follow = () => {
    clearTimeout(timer);
    if (!view.visible) feed.watch(clusterViewId, false);
    else if (window.state.focused) feed.watch(clusterViewId, true);
    else timer = setTimeout(() => feed.watch(clusterViewId, false), unfocusedMs);
  };
  bag.add(view.onDidChangeVisibility(follow));
  bag.add(window.onDidChangeWindowState(follow));
  bag.add({ dispose: () => clearTimeout(timer) });
  // A window that is opened behind another one shows something, too.
  if (view.visible) feed.watch(clusterViewId, true);
  follow();
  return bag;
}

/** Elements are ids: the editor tells elements apart by identity, and a row is another object after each look. */
class ClusterRows implements TreeDataProvider<string>, Disposable {
  readonly #session: AppSession;
  readonly #feed: ClusterFeed;
  readonly #changed = new EventEmitter<string[] | undefined>();
  readonly onDidChangeTreeData: Event<string[] | undefined> = this.#changed.event;
  /** Ids that the editor was given: about others it need not be told anything. */
  readonly #given = new Set<string>();
  #tree = noTree;
  #empty: readonly EmptyRow[] = [];
  look: Look = wholeLook;

  constructor(session: AppSession, feed: ClusterFeed) {
    this.#session = session;
    this.#feed = feed;
  }

  get isEmpty(): boolean {
    return this.#tree.isEmpty;
  }

  /** What can be filtered by now. */
  get choices() {
    return choicesIn(this.#feed.clusters.flatMap(({ overview }) => overview?.resources ?? []));
  }

  redraw(): void {
    const before = { tree: this.#tree, empty: this.#empty };
    this.#tree = buildTree(this.#feed.clusters, this.#feed.running, this.look);
    this.#empty = this.#tree.roots.length === 0 ? this.#emptyRows() : [];
    const isOther = JSON.stringify(this.#empty) !== JSON.stringify(before.empty);
    const changed = isOther ? [undefined] : changedRows(before.tree, this.#tree, this.#given);
    const ids = changed.filter((id) => id !== undefined);
    if (ids.length < changed.length) {
      this.#given.clear();
      this.#changed.fire(undefined);
      return;
    }
    if (ids.length > 0) this.#changed.fire(ids);
  }

  /** Rows, not the editor's own welcome texts: see `approvals-view/empty-rows.ts`. */
  #emptyRows(): readonly EmptyRow[] {
    const { state } = this.#session;
    if (state.kind === 'ready') return emptyPending('unconfigured', workspace.isTrusted);
    if (state.kind !== 'problem')
      return [{ label: t('Banksman is starting…'), icon: 'loading~spin', tooltip: t('The clusters are shown when it has.') }];
    const why = problemNotice(state.fault);
    const [show, remedy] = [{ command: 'banksman.showApprovals', title: t('Show what is wrong') }, remedyOf(state.fault)];
    return [
      {
        label: problemHeadline(state.fault),
        icon: 'error',
        tooltip: `${why}\n${t('The list above says why, and what to do.')}`,
        command: show,
      },
      { label: remedy.title, icon: 'tools', tooltip: why, command: remedy },
      showLog,
    ];
  }

  row(argument: unknown): TreeRow | undefined {
    return typeof argument === 'string' ? this.#tree.row(argument) : undefined;
  }

  getChildren(id?: string): string[] {
    const children = id === undefined ? this.#tree.roots : (this.#tree.children(id) ?? []);
    for (const child of children) this.#given.add(child);
    return id === undefined && children.length === 0 ? this.#empty.map(({ label }) => label) : [...children];
  }

  getParent(id: string): string | undefined {
    return this.#tree.parent(id);
  }

  getTreeItem(id: string): TreeItem {
    const row = this.#tree.row(id);
    if (row !== undefined) return treeItem(row);
    const empty = this.#empty.find(({ label }) => label === id);
    return empty === undefined ? new TreeItem(id, TreeItemCollapsibleState.None) : emptyItem(empty);
  }

  /** When somebody points at it: so it is as new as the row. */
  resolveTreeItem(item: TreeItem, id: string): TreeItem {
    const row = this.#tree.row(id);
    if (row) item.tooltip = row.details().join('\n');
    return item;
  }

  dispose(): void {
    this.#changed.dispose();
  }
}

const { None, Expanded, Collapsed } = TreeItemCollapsibleState;

function treeItem(row: TreeRow): TreeItem {
  const item = new TreeItem(row.label, row.opens === undefined ? None : row.opens === 'open' ? Expanded : Collapsed);
  item.id = row.id;
  item.contextValue = `bmc-${row.kind}`;
  item.description = row.description;
  item.iconPath = new ThemeIcon(row.icon, row.iconColor === undefined ? undefined : new ThemeColor(row.iconColor));
  item.accessibilityInformation = { label: row.spoken };
  if (row.flags.length > 0) item.resourceUri = flagUri(row);
  const command = pressed(row);
  if (command !== undefined) item.command = { command, title: t('Open'), arguments: [row.id] };
  return item;
}

/** What a press on a row opens; on others it opens and closes them. */
function pressed({ kind }: TreeRow): string | undefined {
  if (kind.startsWith('guest-')) return 'banksman.openGuest';
  if (kind === 'task') return 'banksman.openTask';
  return kind === 'note' ? 'banksman.doctor' : undefined;
}

const scheme = 'banksman-row';
const letters: Record<Flag, string> = { agent: '●', lock: 'L', protected: 'P', ha: 'H' };
const colours: Partial<Record<Flag, string>> = { agent: 'charts.blue', lock: 'list.warningForeground' };

/** The flags are in the address, so that a row whose flags change has another one, and nobody needs to be told. */
function flagUri({ id, flags: own }: TreeRow): Uri {
  return Uri.from({ scheme, path: `/${encodeURIComponent(id)}`, query: own.join() });
}

function decorationOf(uri: Uri): FileDecoration | undefined {
  if (uri.scheme !== scheme) return undefined;
  const own = allFlags.filter((flag) => uri.query.split(',').includes(flag));
  const color = own.map((flag) => colours[flag]).find((found) => found !== undefined);
  return {
    badge: own
      .map((flag) => letters[flag])
      .join('')
      .slice(0, 2),
    tooltip: own.map(flagInWords).join('; '),
    ...(color === undefined ? {} : { color: new ThemeColor(color) }),
  };
}

function lookCommands(rows: ClusterRows, feed: ClusterFeed, redraw: () => void): Disposable[] {
  // From the palette: what it does is in a list that may not be in sight.
  const show = () => commands.executeCommand(`${clusterViewId}.focus`);
  const lookAt = (look: Look | undefined) => {
    if (look === undefined) return undefined;
    rows.look = look;
    redraw();
    return show();
  };
  return [
    toldCommand('banksman.searchCluster', async () => {
      const prompt = t('A guest’s number, or part of a name, tag or pool. Empty shows all.');
      const search = await window.showInputBox({ title: t('Search the Clusters'), prompt, value: rows.look.search });
      return lookAt(search === undefined ? undefined : { ...rows.look, search: search.trim() });
    }),
    toldCommand('banksman.filterCluster', async () => lookAt(await chooseFilter(rows))),
    toldCommand('banksman.clearFilterCluster', () => lookAt({ ...wholeLook, sort: rows.look.sort })),
    toldCommand('banksman.sortCluster', async () => lookAt(await chooseOrder(rows.look))),
    toldCommand('banksman.refreshCluster', () => {
      feed.again();
      return show();
    }),
  ];
}

const kindWords = { states: t('state'), tags: t('tag'), pools: t('pool') } as const;

async function chooseFilter({ look, choices }: ClusterRows): Promise<Look | undefined> {
  const { states, tags, pools } = choices;
  const withAgent = new Map([...states, ['agent', 0]]);
  const kinds = { states: withAgent, tags, pools } as const;
  const items = (['states', 'tags', 'pools'] as const).flatMap((kind) =>
    [...kinds[kind]].map(([word, count]) => ({
      ...{ kind_: kind, word, picked: look[kind].includes(word) },
      label: word === 'agent' ? t('An agent is at it now') : plainLabel(kind === 'states' ? stateInWords(word) : word, 60),
      description: word === 'agent' ? kindWords.states : `${kindWords[kind]} · ${count}`,
    })),
  );
  const options = { title: t('Filter the Clusters'), placeHolder: t('Nothing chosen shows all'), canPickMany: true } as const;
  const chosen = await window.showQuickPick(items, options);
  if (chosen === undefined) return undefined;
  const words = (kind: 'states' | 'tags' | 'pools') => chosen.filter(({ kind_ }) => kind_ === kind).map(({ word }) => word);
  return { ...look, states: words('states'), tags: words('tags'), pools: words('pools') };
}

const sortWords: Record<Sorting, string> = {
  number: t('By number'),
  name: t('By name'),
  cpu: t('Busiest CPU first'),
  memory: t('Most memory first'),
  state: t('Running first'),
};

async function chooseOrder(look: Look): Promise<Look | undefined> {
  const items = sortings.map((sort) => ({ sort, label: sortWords[sort], description: sort === look.sort ? t('now') : '' }));
  const chosen = await window.showQuickPick(items, { title: t('Sort Guests') });
  return chosen && { ...look, sort: chosen.sort };
}
