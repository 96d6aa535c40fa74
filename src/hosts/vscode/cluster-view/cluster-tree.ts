/** Clusters, nodes, guests, storages and running tasks as rows of a tree, from what a cluster says. Pure: it draws nothing and reads nothing. */
import type { AttemptView } from '#kernel/attempt';
import { type JsonObject, wordOf } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';
import { t } from '../l10n.ts';
import { byNameAndNumber, isNarrowed, type Look, ordered, passesLook } from './cluster-look.ts';
import { type ClusterState, clusterRow, groupRow, guestRow, nodeRow, noteRow, storageRow, type TreeRow, taskRow } from './cluster-rows.ts';

/** Rows by their ids. What is below a node is there once somebody looks at it, and a row is made when it is drawn: of a cluster's thousands a person sees dozens. */
export class Tree {
  readonly #roots: string[] = [];
  readonly #rows = new Map<string, TreeRow | (() => TreeRow)>();
  readonly #children = new Map<string, string[]>();
  readonly #parents = new Map<string, string>();
  /** Adds what is below the branch of that id. */
  readonly #later = new Map<string, () => void>();

  get roots(): readonly string[] {
    return this.#roots;
  }

  /** So many are there by now. */
  get size(): number {
    return this.#rows.size;
  }

  get isEmpty(): boolean {
    return this.#roots.every((id) => this.#children.get(id)?.length === 0);
  }

  /** `later` was not looked into yet; it holds something. */
  branch(id: string): 'none' | 'later' | 'open' {
    this.#reach(id);
    if (this.#later.has(id)) return 'later';
    return this.#children.has(id) ? 'open' : 'none';
  }

  /** undefined: of a row that has none. */
  children(id: string): readonly string[] | undefined {
    this.#reach(id);
    this.#open(id);
    return this.#children.get(id);
  }

  parent(id: string): string | undefined {
    this.#reach(id);
    return this.#parents.get(id);
  }

  has(id: string): boolean {
    this.#reach(id);
    return this.#rows.has(id);
  }

  row(id: string): TreeRow | undefined {
    this.#reach(id);
    const row = this.#rows.get(id);
    if (typeof row !== 'function') return row;
    const made = row();
    this.#rows.set(id, made);
    return made;
  }

  add({ id, parent, below, make }: Added): void {
    this.#rows.set(id, make);
    if (below !== undefined) this.#children.set(id, []);
    if (typeof below === 'function') this.#later.set(id, below);
    if (parent === undefined) this.#roots.push(id);
    else {
      this.#parents.set(id, parent);
      this.#children.get(parent)?.push(id);
    }
  }

  #open(id: string): void {
    const below = this.#later.get(id);
    this.#later.delete(id);
    below?.();
  }

  /** An id begins with that of its parent. */
  #reach(id: string): void {
    for (let end = id.indexOf('/'); end !== -1 && !this.#rows.has(id); end = id.indexOf('/', end + 1)) this.#open(id.slice(0, end));
  }
}

interface Added {
  readonly id: string;
  /** Absent: it is a root. */
  readonly parent?: string;
  /** It has children: they are added at once, or by this when somebody looks. */
  readonly below?: 'added' | (() => void);
  make(): TreeRow;
}

/** More nodes than this, or guests, are shown closed at first. */
const openNodes = 8;
const openGuests = 100;

/** @param running calls that agents make now */
export function buildTree(clusters: readonly ClusterState[], running: readonly AttemptView[], look: Look): Tree {
  const grown = new Tree();
  const touched = touchedBy(running);
  for (const state of clusters) addCluster(state, { grown, touched, look });
  return grown;
}

/** Calls by the text of what they change: `100 on demo`. */
type Touched = ReadonlyMap<string, readonly AttemptView[]>;

function touchedBy(running: readonly AttemptView[]): Touched {
  const found = new Map<string, AttemptView[]>();
  for (const attempt of running) for (const target of attempt.targets) found.set(target, [...(found.get(target) ?? []), attempt]);
  return found;
}

interface Adding {
  readonly grown: Tree;
  readonly touched: Touched;
  readonly look: Look;
}

interface Sorted {
  readonly nodes: readonly JsonObject[];
  readonly guests: ReadonlyMap<string, readonly JsonObject[]>;
  readonly storages: ReadonlyMap<string, readonly JsonObject[]>;
  readonly shared: readonly JsonObject[];
}

function addCluster(state: ClusterState, adding: Adding): void {
  const { grown, look } = adding;
  const resources = state.overview?.resources ?? [];
  const nodes = resources.filter(({ type }) => type === 'node');
  const guests = resources.filter(({ type }) => type === 'qemu' || type === 'lxc');
  const seen = sortOut(state, nodes, { guests, resources, adding });
  const prefix = isNarrowed(look) ? 'found ' : '';
  const cluster = `${prefix}${state.name}`;
  grown.add({ id: cluster, below: 'added', make: () => clusterRow(cluster, state, { nodes, guests }) });
  const failed = `${cluster}/failed`;
  if (state.failed !== undefined) grown.add({ id: failed, parent: cluster, make: () => noteRow(failed, state) });
  if (state.overview === undefined) return;
  addTasks(cluster, state, adding);
  const isSmall = nodes.length <= openNodes && guests.length <= openGuests;
  for (const node of seen.nodes) addNode(cluster, node, { state, seen, adding, opens: isSmall || isNarrowed(look) ? 'open' : 'closed' });
  addStorages(cluster, seen.shared, { state, name: t('Shared storage'), adding });
}

/** What of it the look lets through, by node. A shared storage is one thing, however many nodes tell of it. */
function sortOut(
  state: ClusterState,
  nodes: readonly JsonObject[],
  { guests, resources, adding }: { guests: readonly JsonObject[]; resources: readonly JsonObject[]; adding: Adding },
): Sorted {
  const { look, touched } = adding;
  const isTouched = (row: JsonObject) => touched.has(`${wordOf(row['vmid'])} on ${state.name}`);
  const kept = guests.filter((row) => passesLook(row, look, isTouched(row)));
  const byNode = Map.groupBy(ordered(kept, look.sort), ({ node }) => wordOf(node));
  const storages = resources.filter((row) => row['type'] === 'storage' && passesLook(row, look, false));
  const own = storages.filter(({ shared }) => Number(shared ?? 0) !== 1);
  const shared = new Map(
    storages.filter(({ shared: isShared }) => Number(isShared ?? 0) === 1).map((row) => [wordOf(row['storage']), row]),
  );
  const ofNode = Map.groupBy(own, ({ node }) => wordOf(node));
  const named = [...nodes].sort((a, b) => compare(a['node'], b['node']));
  const shown = named.filter((row) => {
    const name = wordOf(row['node']);
    return !isNarrowed(look) || byNode.has(name) || ofNode.has(name) || passesLook(row, look, touched.has(`${name} on ${state.name}`));
  });
  return { nodes: shown, guests: byNode, storages: ofNode, shared: [...shared.values()] };
}

function compare(a: unknown, b: unknown): number {
  return byNameAndNumber(String(a), String(b));
}

interface AddingNode {
  readonly state: ClusterState;
  readonly seen: Sorted;
  readonly adding: Adding;
  readonly opens: 'open' | 'closed';
}

function addNode(cluster: string, row: JsonObject, { state, seen, adding, opens }: AddingNode): void {
  const { grown, touched } = adding;
  const name = wordOf(row['node']);
  const guests = seen.guests.get(name) ?? [];
  const storages = seen.storages.get(name) ?? [];
  const at = touched.get(`${name} on ${state.name}`) ?? [];
  const isEmpty = guests.length + storages.length === 0;
  const id = `${cluster}/${name}`;
  const shown = { state, guests, at, ...(isEmpty ? {} : { opens }) };
  const below = () => {
    for (const guest of guests) addGuest(id, guest, { state, touched, grown });
    addStorages(id, storages, { state, name: t('Storage'), adding });
  };
  grown.add({ id, parent: cluster, ...(isEmpty ? {} : { below }), make: () => nodeRow(id, row, shown) });
}

function addGuest(
  parent: string,
  row: JsonObject,
  { state, touched, grown }: { readonly state: ClusterState } & Pick<Adding, 'grown' | 'touched'>,
): void {
  const key = wordOf(row['vmid']);
  const id = `${parent}/${key}`;
  grown.add({ id, parent, make: () => guestRow(id, row, { state, at: touched.get(`${key} on ${state.name}`) ?? [] }) });
}

function addStorages(
  parent: string,
  rows: readonly JsonObject[],
  { state, name, adding }: { readonly state: ClusterState; readonly name: string; readonly adding: Adding },
): void {
  if (rows.length === 0) return;
  const { grown } = adding;
  const opens = isNarrowed(adding.look) ? 'open' : 'closed';
  const group = `${parent}/storage`;
  const about = { count: rows.length, icon: 'database', opens, cluster: state.name } as const;
  grown.add({ id: group, parent, below: 'added', make: () => groupRow(group, name, about) });
  for (const row of [...rows].sort((a, b) => compare(a['storage'], b['storage']))) {
    const id = `${group}/${showPlainly(wordOf(row['storage']), 100)}`;
    grown.add({ id, parent: group, make: () => storageRow(id, row, state.name) });
  }
}

/** Those that run. While the rows are narrowed down they would only be in the way. */
function addTasks(cluster: string, state: ClusterState, { grown, look }: Adding): void {
  const tasks = (state.overview?.tasks ?? []).filter(
    ({ endtime, status }) => endtime === undefined && (status === undefined || status === 'running'),
  );
  if (tasks.length === 0 || isNarrowed(look)) return;
  const group = `${cluster}/tasks`;
  const about = { count: tasks.length, icon: 'sync', opens: 'open', cluster: state.name } as const;
  grown.add({ id: group, parent: cluster, below: 'added', make: () => groupRow(group, t('Running tasks'), about) });
  for (const task of tasks) {
    const id = `${group}/${wordOf(task['upid'])}`;
    grown.add({ id, parent: group, make: () => taskRow(id, task, state.name) });
  }
}

/**
 * What has to be drawn anew: undefined for the whole tree. A row whose children came, went or moved is drawn with all below it; any other one by
 * itself, and only where what is seen of it is another.
 * @param given ids of the rows that were drawn, and so of all above them: no others are looked at
 */
export function changedRows(before: Tree, after: Tree, given: Iterable<string>): readonly (string | undefined)[] {
  if (!isSame(before.roots, after.roots)) return [undefined];
  // That looks into what was opened.
  const known = [...given].filter((id) => before.has(id) && after.has(id));
  const moved = new Set(known.filter((id) => isMoved(id, before, after)));
  const isBelowMoved = (id: string): boolean => {
    for (let up = after.parent(id); up !== undefined; up = after.parent(up)) if (moved.has(up)) return true;
    return false;
  };
  const changed = known.filter((id) => moved.has(id) || isOther(before.row(id), after.row(id)));
  return moved.size === 0 ? changed : changed.filter((id) => !isBelowMoved(id));
}

/** Of what nobody opened nobody has seen more than that it can be opened. */
function isMoved(id: string, before: Tree, after: Tree): boolean {
  const [then, now] = [before.branch(id), after.branch(id)];
  if (then === 'none' || now === 'none') return then !== now;
  return then === 'open' && !isSame(before.children(id) ?? [], after.children(id) ?? []);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index]);
}

function isOther(before: TreeRow | undefined, now: TreeRow | undefined): boolean {
  if (before === undefined || now === undefined) return false;
  const isAlike =
    before.label === now.label && before.description === now.description && before.icon === now.icon && before.iconColor === now.iconColor;
  return !isAlike || before.kind !== now.kind || before.spoken !== now.spoken || before.flags.join() !== now.flags.join();
}
