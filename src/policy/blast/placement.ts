/** Where high availability may start a guest again: its rules, and the groups of Proxmox VE 8. Pure. */
import { type JsonObject, wordOf } from '#kernel/json';

/**
 * Where high availability may start guests (`PVE::HA::Rules`). Guests that are kept together go where most of the others are, those that are kept
 * apart where none is.
 */
export type PlacementRule =
  /** Of the nodes that are online, those with the highest priority; with `strict` no other one. */
  | { readonly kind: 'nodes'; readonly guests: readonly number[]; readonly nodes: ReadonlyMap<string, number>; readonly strict: boolean }
  | { readonly kind: 'together' | 'apart'; readonly guests: readonly number[] };

export interface Placing {
  readonly rules: readonly PlacementRule[];
  /** Where guests run now, those that were started again among them. */
  readonly at: ReadonlyMap<number, string>;
}

/** In the order of `select_service_node` (`PVE::HA::Manager`): nodes by priority, then those kept apart, then those kept together. */
export function allowedNodes(vmid: number, online: readonly string[], { rules, at }: Placing): ReadonlySet<string> {
  const own = rules.filter(({ guests }) => guests.includes(vmid));
  const allowed = new Set(online);
  for (const rule of own) if (rule.kind === 'nodes') keepOnly(allowed, preferred(rule, online));
  const others = (kind: 'together' | 'apart') =>
    own.flatMap((rule) =>
      rule.kind === kind ? rule.guests.filter((other) => other !== vmid).flatMap((other) => at.get(other) ?? []) : [],
    );
  for (const node of others('apart')) allowed.delete(node);
  const counts = new Map<string, number>();
  for (const node of others('together')) if (allowed.has(node)) counts.set(node, (counts.get(node) ?? 0) + 1);
  const [most] = [...counts].sort(([a, few], [b, many]) => many - few || (a < b ? -1 : 1));
  if (most !== undefined) keepOnly(allowed, [most[0]]);
  return allowed;
}

/** The nodes with the highest priority of those that are online; without `strict` all others come last. */
function preferred({ nodes, strict }: Extract<PlacementRule, { kind: 'nodes' }>, online: readonly string[]): readonly string[] {
  const ranked = online.flatMap((node) => {
    const priority = nodes.get(node) ?? (strict ? undefined : -1);
    return priority === undefined ? [] : [{ node, priority }];
  });
  const best = Math.max(...ranked.map(({ priority }) => priority));
  return ranked.filter(({ priority }) => priority === best).map(({ node }) => node);
}

function keepOnly(set: Set<string>, kept: readonly string[]): void {
  for (const node of [...set]) if (!kept.includes(node)) set.delete(node);
}

export interface HaRows {
  /** `/cluster/ha/rules` of Proxmox VE 9. */
  readonly rules: readonly JsonObject[];
  /** `/cluster/ha/groups` and `/cluster/ha/resources` of Proxmox VE 8. */
  readonly groups: readonly JsonObject[];
  readonly resources: readonly JsonObject[];
}

/** What counts of them: a rule that is off, or that the manager finds fault with, is none. */
export function placementRules({ rules, groups, resources }: HaRows): readonly PlacementRule[] {
  return [
    ...rules.filter((row) => !isSet(row['disable']) && row['errors'] === undefined).flatMap(ruleFrom),
    ...groups.map((row): PlacementRule => {
      const members = resources.filter(({ group }) => wordOf(group) === wordOf(row['group'])).map(({ sid }) => wordOf(sid));
      return { kind: 'nodes', guests: guestsIn(members), nodes: nodesIn(row['nodes']), strict: isSet(row['restricted']) };
    }),
  ];
}

function ruleFrom(row: JsonObject): readonly PlacementRule[] {
  const guests = guestsIn(partsOf(row['resources']));
  if (row['type'] === 'node-affinity') return [{ kind: 'nodes', guests, nodes: nodesIn(row['nodes']), strict: isSet(row['strict']) }];
  if (row['type'] !== 'resource-affinity') return [];
  return [{ kind: row['affinity'] === 'negative' ? 'apart' : 'together', guests }];
}

function isSet(value: unknown): boolean {
  return Number(value ?? 0) === 1;
}

function partsOf(value: unknown): readonly string[] {
  return wordOf(value)
    .split(/[\s,;]+/)
    .filter((part) => part !== '');
}

/** `vm:100`, `ct:101`. */
function guestsIn(sids: readonly string[]): readonly number[] {
  return sids.map((sid) => Number(sid.split(':')[1])).filter((vmid) => Number.isInteger(vmid));
}

/** `pve:2,agent1`: without a number it is 0. */
function nodesIn(value: unknown): ReadonlyMap<string, number> {
  return new Map(
    partsOf(value).map((part) => {
      const [node = '', priority = '0'] = part.split(':');
      return [node, Number(priority)] as const;
    }),
  );
}
