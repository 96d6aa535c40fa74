/** How a person looks at the cluster view: what is searched for, filtered out, and in which order. Pure. */
import { type JsonObject, wordOf } from '#kernel/json';

export const sortings = ['number', 'name', 'cpu', 'memory', 'state'] as const;
export type Sorting = (typeof sortings)[number];

/** Empty lists and texts mean: all. Within one list any of its words will do, and every list has to be met. */
export interface Look {
  readonly search: string;
  /** `running`, `stopped`, `locked`, `template`, `offline`, `agent`: an agent is at it. */
  readonly states: readonly string[];
  readonly tags: readonly string[];
  readonly pools: readonly string[];
  readonly sort: Sorting;
}

export const wholeLook: Look = { search: '', states: [], tags: [], pools: [], sort: 'number' };

export function isNarrowed({ search, states, tags, pools }: Look): boolean {
  return search !== '' || states.length + tags.length + pools.length > 0;
}

/** For the head of the view; undefined: nothing is left out. */
export function lookInWords(look: Look): string | undefined {
  const parts = [look.search === '' ? '' : `“${look.search}”`, ...[look.states, look.tags, look.pools].map((words) => words.join(' or '))];
  return isNarrowed(look) ? parts.filter((part) => part !== '').join(', ') : undefined;
}

export function tagsOf({ tags }: JsonObject): readonly string[] {
  return typeof tags === 'string' ? tags.split(/[;, ]+/).filter((tag) => tag !== '') : [];
}

/** Of a row of `GET /cluster/resources`, in words that a filter knows. */
export function statesOf(row: JsonObject, touched: boolean): readonly string[] {
  const { status, template, lock } = row;
  const isTemplate = Number(template ?? 0) === 1;
  const state = wordOf(status) || 'unknown';
  return [
    isTemplate ? 'template' : /offline|unknown/.test(state) ? 'offline' : state,
    ...(typeof lock === 'string' && lock !== '' ? ['locked'] : []),
    ...(touched ? ['agent'] : []),
  ];
}

/** @param touched an agent is at it now */
export function passesLook(row: JsonObject, look: Look, touched: boolean): boolean {
  if (!isNarrowed(look)) return true;
  const meets = (wanted: readonly string[], own: () => readonly string[]) =>
    wanted.length === 0 || own().some((word) => wanted.includes(word));
  return (
    (look.search === '' || found(row, look.search.toLowerCase())) &&
    meets(look.states, () => statesOf(row, touched)) &&
    meets(look.tags, () => tagsOf(row)) &&
    meets(look.pools, () => (typeof row['pool'] === 'string' ? [row['pool']] : []))
  );
}

/** A number is a guest's number from its start; a word is anywhere in a name, tag or pool. */
function found(row: JsonObject, search: string): boolean {
  const { vmid, name, node, storage, tags, pool, type } = row;
  const own = type === 'node' ? node : type === 'storage' ? storage : name;
  if (vmid !== undefined && wordOf(vmid).startsWith(search)) return true;
  return [own, tags, pool].some((word) => typeof word === 'string' && word.toLowerCase().includes(search));
}

let collator: Intl.Collator | undefined;

/** `pve2` before `pve10`. One for all, made when the first rows are sorted: making one takes as long as thousands of comparisons. */
export function byNameAndNumber(a: string, b: string): number {
  collator ??= new Intl.Collator('en', { numeric: true });
  return collator.compare(a, b);
}

const byNumber = (a: JsonObject, b: JsonObject) => Number(a['vmid']) - Number(b['vmid']);

const orders: Record<Sorting, (a: JsonObject, b: JsonObject) => number> = {
  number: () => 0,
  name: (a, b) => byNameAndNumber(wordOf(a['name']), wordOf(b['name'])),
  // In whole percent, as they are shown: guests that idle must not change places with every look.
  cpu: (a, b) => Math.round(Number(b['cpu'] ?? 0) * 100) - Math.round(Number(a['cpu'] ?? 0) * 100),
  memory: (a, b) => Math.round(Number(b['mem'] ?? 0) / 2 ** 28) - Math.round(Number(a['mem'] ?? 0) / 2 ** 28),
  state: (a, b) => Number(b['status'] === 'running') - Number(a['status'] === 'running'),
};

/** Guests in this order, and by number where it makes no difference. */
export function ordered(rows: readonly JsonObject[], sort: Sorting): readonly JsonObject[] {
  const order = orders[sort];
  return [...rows].sort((a, b) => order(a, b) || byNumber(a, b));
}

/** What can be filtered by here: every word that a guest has, with how many have it. */
export function choicesIn(rows: readonly JsonObject[]): Record<'states' | 'tags' | 'pools', ReadonlyMap<string, number>> {
  const guests = rows.filter(({ type }) => type === 'qemu' || type === 'lxc');
  const count = (wordsOf: (row: JsonObject) => readonly string[]): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const word of guests.flatMap(wordsOf)) counts.set(word, (counts.get(word) ?? 0) + 1);
    return new Map([...counts].sort(([a], [b]) => a.localeCompare(b)));
  };
  return {
    states: count((row) => statesOf(row, false)),
    tags: count(tagsOf),
    pools: count(({ pool }) => (typeof pool === 'string' ? [pool] : [])),
  };
}
