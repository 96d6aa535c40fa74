/**
 * Which guests and nodes an entry of the configuration means, by what the cluster says of them. Pure.
 * SECURITY: what is not known is neither in nor out: who allows takes it for out, who forbids for in.
 */

import { type Message, plural, say } from '#kernel/text/message';

/** Each list that is there narrows, and one of its entries has to fit; absent: any. Names and clusters may hold `*` and `?`. */
export interface Selector {
  readonly clusters?: readonly string[];
  readonly guests?: readonly number[];
  readonly tags?: readonly string[];
  /** A pool stands for those below it, too: `prod` for `prod/db`. */
  readonly pools?: readonly string[];
  readonly nodes?: readonly string[];
  readonly names?: readonly string[];
}

/** A thing as far as it is known: undefined is not known, null (or an empty list) is none. */
export interface Selectable {
  /** For people: `VM 100 (web) on pve`. */
  readonly words: string;
  readonly cluster: string;
  readonly vmid: number | null;
  readonly node: string | null | undefined;
  readonly tags: readonly string[] | undefined;
  readonly pool: string | null | undefined;
  readonly name: string | null | undefined;
  /** Tags that it bore and lost with nobody's consent. */
  readonly lost?: readonly string[];
  /** Tags that it bears, and got with nobody's consent. */
  readonly gained?: readonly string[];
  /** Of those the ones that an agent's clone or restore brings, which is not known to have ended well. */
  readonly brought?: readonly string[];
}

/** SECURITY: whoever takes a tag away in Proxmox VE lets nothing out of an entry by that. @param except guests that a person let go */
export function asBefore(thing: Selectable, except: readonly number[] = []): Selectable {
  const { vmid, tags, lost = [] } = thing;
  return tags === undefined || lost.length === 0 || (vmid !== null && except.includes(vmid))
    ? thing
    : { ...thing, tags: [...tags, ...lost] };
}

/** SECURITY: whoever gives it a tag in Proxmox VE lets nothing into an entry by that. @param admits guests that a person lets in */
export function asAgreed(thing: Selectable, admits: readonly number[] = []): Selectable {
  const { vmid, tags, gained = [] } = thing;
  return tags === undefined || gained.length === 0 || (vmid !== null && admits.includes(vmid))
    ? thing
    : { ...thing, tags: tags.filter((tag) => !gained.includes(tag)) };
}

export type Fit = 'in' | 'out' | 'unknown';

/** The first list that the thing does not fit, or of which nobody knows. */
export interface Misfit {
  readonly fit: 'out' | 'unknown';
  /** For people: `is in pool prod`, `its pool cannot be seen`. */
  readonly why: Message;
}

export function misfitOf(selector: Selector, thing: Selectable): Misfit | undefined {
  const found = dimensions.flatMap((test) => test(selector, thing) ?? []);
  return found.find(({ fit }) => fit === 'out') ?? found[0];
}

export function fits(selector: Selector, thing: Selectable): Fit {
  return misfitOf(selector, thing)?.fit ?? 'in';
}

/** `tags staging or test, pool dev`, for people. */
export function selectorInWords(selector: Selector): Message {
  const parts = (Object.keys(words) as (keyof Selector)[]).flatMap((key) => {
    const list = selector[key];
    if (list === undefined) return [];
    const [first, ...rest] = list.map((entry): Message => say`\`${entry}\``);
    return [say`${words[key]} ${first === undefined ? say`nothing` : rest.reduce((all, one) => say`${all} or ${one}`, first)}`];
  });
  const [first, ...rest] = parts;
  return first === undefined ? say`anything` : rest.reduce((all, one) => say`${all} and ${one}`, first);
}

const words: Readonly<Record<keyof Selector, Message>> = {
  clusters: say`cluster`,
  guests: say`guest`,
  tags: say`tag`,
  pools: say`pool`,
  nodes: say`node`,
  names: say`name`,
};

type Dimension = (selector: Selector, thing: Selectable) => Misfit | undefined;

const dimensions: readonly Dimension[] = [
  ({ clusters }, { cluster }) =>
    misfit(
      clusters,
      clusters?.some((pattern) => matchesPattern(pattern, cluster)),
      say`is of cluster \`${cluster}\``,
    ),
  ({ guests }, { vmid }) =>
    misfit(guests, vmid !== null && guests?.includes(vmid), vmid === null ? say`is no guest` : say`has the number ${vmid}`),
  ({ nodes }, { node }) =>
    node === undefined
      ? misfit(nodes, undefined, say`its node is not known`)
      : misfit(
          nodes,
          node !== null && nodes?.some((entry) => sameName(entry, node)),
          node === null ? say`is on no node` : say`is on \`${node}\``,
        ),
  ({ tags }, thing) =>
    thing.tags === undefined
      ? misfit(tags, undefined, say`its tags are not known`)
      : misfit(
          tags,
          tags?.some((tag) => thing.tags?.includes(tag)),
          thing.tags.length === 0 ? say`has no tags` : say`has only ${tagsInWords(thing.tags)}`,
        ),
  ({ pools }, { pool }) =>
    pool === undefined
      ? misfit(pools, undefined, say`the token cannot see which pool it is in (\`Pool.Audit\` on /pool)`)
      : misfit(
          pools,
          pool !== null && pools?.some((entry) => isInPool(pool, entry)),
          pool === null ? say`is in no pool` : say`is in pool \`${pool}\``,
        ),
  ({ names }, { name }) =>
    name === undefined
      ? misfit(names, undefined, say`its name is not known`)
      : misfit(
          names,
          name !== null && names?.some((pattern) => matchesPattern(pattern, name)),
          name === null ? say`has no name` : say`is named \`${name}\``,
        ),
];

/** @param isIn undefined where nobody knows */
function misfit(list: readonly unknown[] | undefined, isIn: boolean | undefined, why: Message): Misfit | undefined {
  if (list === undefined || isIn === true) return undefined;
  return { fit: isIn === undefined ? 'unknown' : 'out', why };
}

function tagsInWords(tags: readonly string[]): Message {
  const all = tags.map((tag) => `\`${tag}\``).join(', ');
  return plural(tags.length, say`tag ${all}`, say`tags ${all}`);
}

function isInPool(pool: string, entry: string): boolean {
  return pool === entry || pool.startsWith(`${entry}/`);
}

function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** `*`: any characters, `?`: one; whole, and whatever the case. Made without a regular expression: a pattern costs no more than its length. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [wanted, given] = [pattern.toLowerCase(), text.toLowerCase()];
  let [at, read, star, marked] = [0, 0, -1, 0];
  while (read < given.length) {
    if (wanted[at] === '*') [star, marked, at] = [at, read, at + 1];
    else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === given[read])) [at, read] = [at + 1, read + 1];
    else if (star >= 0) {
      marked += 1;
      [at, read] = [star + 1, marked];
    } else return false;
  }
  while (wanted[at] === '*') at += 1;
  return at === wanted.length;
}

// Guests that a list of pools and patterns of names protects. Pure.
/** What pool and name of a guest are: undefined is not known, `pool: null` none. */
export interface GuestFacts {
  readonly vmid: number;
  readonly node: string;
  readonly tags?: readonly string[];
  readonly pool?: string | null;
  readonly name?: string;
}

export interface SelectedGuest {
  readonly rule: string;
  readonly why: Message;
}

/** SECURITY: a guest of which pool or name cannot be seen may be the very one. */
export function selectedGuests(
  guests: readonly GuestFacts[],
  { pools = [], names = [] }: { readonly pools?: readonly string[]; readonly names?: readonly string[] },
): ReadonlyMap<number, SelectedGuest> {
  const selected = new Map<number, SelectedGuest>();
  for (const { vmid, pool, name } of guests) {
    const inPool = pool === null ? undefined : pools.find((entry) => pool === undefined || isInPool(pool, entry));
    const named = names.find((pattern) => name === undefined || matchesPattern(pattern, name));
    if (inPool !== undefined) selected.set(vmid, { rule: `protected.pools:${inPool}`, why: poolWords(vmid, pool ?? undefined, inPool) });
    else if (named !== undefined) selected.set(vmid, { rule: `protected.names:${named}`, why: nameWords(vmid, name, named) });
  }
  return selected;
}

function poolWords(vmid: number, pool: string | undefined, entry: string): Message {
  if (pool === undefined)
    return say`guest ${vmid} may be in the protected pool \`${entry}\`: the token cannot see which pool it is in (\`Pool.Audit\` on /pool)`;
  return say`guest ${vmid} is in pool \`${pool}\`, which is protected`;
}

function nameWords(vmid: number, name: string | undefined, pattern: string): Message {
  if (name === undefined) return say`guest ${vmid} may be one that \`${pattern}\` protects: its name is not known`;
  return say`guest ${vmid} is named \`${name}\`, which \`${pattern}\` protects`;
}
