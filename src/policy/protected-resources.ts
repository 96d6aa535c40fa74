/**
 * Protected resources (docs/design.md#the-path-of-a-call): refused before tier and approval are looked at, whatever name, case, number format or address is
 * used for them. Pure: what a thing really is has been found out by the caller.
 */
import { canonicalAddress } from '#kernel/address';
import { allow, type Decision, deny } from '#kernel/decision';
import type { GuestTarget, NodeTarget, Resource, ServiceTarget, Target } from '#kernel/resource';
import type { ActionTier } from '#kernel/tiers';
import { unitStem } from './unit-name.ts';

/** The configured list. Empty lists protect nothing; there is no wildcard but a service's node. */
export interface ProtectedList {
  readonly nodes: readonly string[];
  readonly guests: readonly number[];
  readonly services: readonly (string | { readonly name: string; readonly node: string })[];
  readonly addresses: readonly string[];
  readonly protectReads: boolean;
  /** What people wrote of an entry, plain, by its rule: `protected.guests:103`. */
  readonly reasons?: Readonly<Record<string, string>>;
}

/** Other names of nodes, from configuration: node → hosts and aliases. */
export type NodeAliases = ReadonlyMap<string, readonly string[]>;

/** What follows from the list, by live data. Keys are node names in lower case. */
export interface DerivedProtection {
  /** Nodes that host protected guests now, with those guests. */
  readonly hosts: ReadonlyMap<string, readonly number[]>;
  /** Nodes that own a protected address: protected like a listed node. */
  readonly addressed: ReadonlyMap<string, string>;
}

/** Whether the list binds a call of this tier at all. */
export function protectionApplies(tier: ActionTier, list: ProtectedList): boolean {
  return tier !== 'green' || list.protectReads;
}

/** Tests a resource as the caller named it, before anything is looked up. */
export function protectLiteral(resource: Resource, list: ProtectedList, aliases: NodeAliases): Decision {
  return withReasons(literalDecision(resource, list, aliases), list);
}

function literalDecision(resource: Resource, list: ProtectedList, aliases: NodeAliases): Decision {
  switch (resource.kind) {
    case 'guest':
      return firstDenied([
        () => guestNumber(resource.vmid, list),
        () => (resource.node === undefined ? unprotected : nodeName(resource.node, list, aliases)),
      ]);
    case 'node':
      return nodeName(resource.node, list, aliases);
    case 'service':
      return firstDenied([() => nodeName(resource.node, list, aliases), () => serviceName(resource.service, resource.node, list)]);
    case 'destination':
      return anyAddress([resource.host], `destination \`${resource.host}\``, list);
    case 'command':
    case 'path':
      return unprotected;
  }
}

/** Tests what the resource turned out to be. */
export function protectTarget(target: Target, list: ProtectedList, derived: DerivedProtection): Decision {
  return withReasons(targetDecision(target, list, derived), list);
}

function targetDecision(target: Target, list: ProtectedList, derived: DerivedProtection): Decision {
  switch (target.kind) {
    case 'guest':
      return guestTarget(target, list, derived);
    case 'node':
      return nodeTarget(target, list, derived);
    case 'service':
      return serviceTarget(target, list, derived);
    case 'destination':
      return anyAddress([target.host], `destination \`${target.host}\``, list);
    case 'command':
    case 'path':
      return unprotected;
  }
}

/** Derives what the list implies from the cluster's own rows. */
export function deriveProtection(
  rows: {
    readonly guests: readonly { readonly vmid: number; readonly node: string }[];
    readonly nodes: readonly { readonly node: string; readonly addresses: readonly string[] }[];
  },
  list: ProtectedList,
): DerivedProtection {
  const hosts = new Map<string, number[]>();
  for (const guest of rows.guests.filter((row) => list.guests.includes(row.vmid))) {
    const node = guest.node.toLowerCase();
    hosts.set(node, [...(hosts.get(node) ?? []), guest.vmid]);
  }
  const addressed = new Map<string, string>();
  for (const row of rows.nodes) {
    const address = row.addresses.find((entry) => isProtectedAddress(entry, list));
    if (address !== undefined) addressed.set(row.node.toLowerCase(), address);
  }
  return { hosts, addressed };
}

const unprotected = allow('not_protected', 'no protected resource is touched');

function guestTarget(target: GuestTarget, list: ProtectedList, derived: DerivedProtection): Decision {
  return firstDenied([
    () => guestNumber(target.vmid, list),
    // A protected node covers everything on it; a node that merely hosts a protected guest does not.
    () => resolvedNode(target.node, list, derived),
    () => anyAddress(target.addresses, `guest ${target.vmid}`, list),
  ]);
}

function nodeTarget(target: NodeTarget, list: ProtectedList, derived: DerivedProtection): Decision {
  return firstDenied([
    () => resolvedNode(target.node, list, derived),
    () => anyAddress(target.addresses, `node \`${target.node}\``, list),
    () => hostsProtectedGuest(target.node, derived),
  ]);
}

function serviceTarget(target: ServiceTarget, list: ProtectedList, derived: DerivedProtection): Decision {
  return firstDenied([
    () => resolvedNode(target.node, list, derived),
    () => hostsProtectedGuest(target.node, derived),
    () => serviceName(target.service, target.node, list),
  ]);
}

function resolvedNode(node: string, list: ProtectedList, derived: DerivedProtection): Decision {
  const listed = nodeName(node, list, new Map());
  const address = derived.addressed.get(node.toLowerCase());
  if (listed.effect === 'deny' || address === undefined) return listed;
  return refuse(`node \`${node}\` has the protected address ${address}`, `protected.addresses:${address}`);
}

function guestNumber(vmid: number, list: ProtectedList): Decision {
  if (!list.guests.includes(vmid)) return unprotected;
  return refuse(`guest ${vmid} is protected by configuration`, `protected.guests:${vmid}`);
}

function nodeName(name: string, list: ProtectedList, aliases: NodeAliases): Decision {
  const spellings = hostSpellings(name);
  const listed = list.nodes.find((node) => spellings.includes(node.toLowerCase()));
  if (listed !== undefined) return refuse(`node \`${listed}\` is protected by configuration`, `protected.nodes:${listed}`);
  const address = anyAddress([name], `\`${name}\``, list);
  if (address.effect === 'deny') return address;
  return aliasOfProtected(name, list, aliases);
}

function aliasOfProtected(name: string, list: ProtectedList, aliases: NodeAliases): Decision {
  for (const [node, names] of aliases) {
    if (node.toLowerCase() !== name.toLowerCase() && !names.some((alias) => sameHost(alias, name))) continue;
    const listed = list.nodes.find((entry) => entry.toLowerCase() === node.toLowerCase());
    if (listed !== undefined)
      return refuse(`\`${name}\` is node \`${listed}\`, which is protected by configuration`, `protected.nodes:${listed}`);
    const address = anyAddress(names, `node \`${node}\` (named as \`${name}\`)`, list);
    if (address.effect === 'deny') return address;
  }
  return unprotected;
}

function serviceName(service: string, node: string, list: ProtectedList): Decision {
  const stem = unitStem(service);
  for (const entry of list.services) {
    if (typeof entry === 'string' || unitStem(entry.name) !== stem) continue;
    if (entry.node !== '*' && entry.node.toLowerCase() !== node.toLowerCase()) continue;
    return refuse(
      `service \`${entry.name}\` is protected on ${entry.node === '*' ? 'every node' : `\`${entry.node}\``}`,
      `protected.services:${entry.name}`,
    );
  }
  return unprotected;
}

function anyAddress(candidates: readonly string[], what: string, list: ProtectedList): Decision {
  for (const candidate of candidates) {
    const address = canonicalAddress(candidate);
    if (address !== undefined && isProtectedAddress(address, list)) {
      return refuse(`${what} has the protected address ${address}`, `protected.addresses:${address}`);
    }
  }
  return unprotected;
}

function isProtectedAddress(candidate: string, list: ProtectedList): boolean {
  const address = canonicalAddress(candidate);
  return address !== undefined && list.addresses.some((entry) => canonicalAddress(entry) === address);
}

function hostsProtectedGuest(node: string, derived: DerivedProtection): Decision {
  const guests = derived.hosts.get(node.toLowerCase());
  if (guests === undefined) return unprotected;
  const which = `protected guest${guests.length > 1 ? 's' : ''} ${guests.join(', ')}`;
  return refuse(
    `node \`${node}\` hosts ${which}, so nothing may be done to the node itself`,
    ...guests.map((vmid) => `derived.host-of:${vmid}`),
  );
}

function refuse(why: string, ...rules: string[]): Decision {
  return deny('protected_resource', `${why}; no approval lifts this, a person must do it by hand or change the protected list`, rules);
}

/** A node that hosts a protected guest is protected for that guest's reason. */
function withReasons(decision: Decision, { reasons = {} }: ProtectedList): Decision {
  const given = decision.rules.map((rule) => reasons[rule.replace(/^derived\.host-of:/, 'protected.guests:')]);
  const words = [...new Set(given.filter((why) => why !== undefined))];
  return words.length === 0 ? decision : { ...decision, reason: `${decision.reason}; the reason given: ${words.join('; ')}` };
}

function firstDenied(tests: readonly (() => Decision)[]): Decision {
  for (const test of tests) {
    const decision = test();
    if (decision.effect === 'deny') return decision;
  }
  return unprotected;
}

/** `agent1.lan.` may be node `agent1`: the name, and its first label unless it is an address. */
function hostSpellings(name: string): readonly string[] {
  const lower = name.toLowerCase().replace(/\.$/, '');
  if (canonicalAddress(lower) !== undefined) return [lower];
  return [lower, lower.split('.', 1)[0] ?? lower];
}

function sameHost(a: string, b: string): boolean {
  const [left, right] = [canonicalAddress(a), canonicalAddress(b)];
  if (left !== undefined || right !== undefined) return left === right;
  return a.toLowerCase().replace(/\.$/, '') === b.toLowerCase().replace(/\.$/, '');
}
