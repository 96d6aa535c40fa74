/**
 * Protected resources (docs/design.md#the-path-of-a-call): refused before tier and approval are looked at, whatever name, case, number format or address is
 * used for them. Pure: what a thing really is has been found out by the caller.
 */

import { canonicalAddress } from '#kernel/address';
import { allow, type Decision, deny } from '#kernel/decision';
import {
  type GuestTarget,
  type NodeTarget,
  nodeServices,
  type Resource,
  type ServiceTarget,
  type StorageTarget,
  type Target,
} from '#kernel/resource';
import { asIs, asListed, type Message, plural, say } from '#kernel/text/message';
import type { ActionTier } from '#kernel/tiers';
import { type Role, roleWords, serverOf } from './blast/roles.ts';
import { type TaggedGuest, type TagsOfGuests, taggedGuests } from './deciding-tags.ts';
import { type GuestFacts, type SelectedGuest, selectedGuests } from './scopes/selector.ts';
import { unitStem } from './service-units.ts';

/** The configured list. Empty lists protect nothing; there is no wildcard but a service's node. */
export interface ProtectedList {
  readonly nodes: readonly string[];
  readonly guests: readonly number[];
  readonly services: readonly (string | { readonly name: string; readonly node: string })[];
  readonly addresses: readonly string[];
  readonly protectReads: boolean;
  /** A guest that bears the tag is protected like a listed one; and so is one that bore it, unless every entry of the tag excepts it. */
  readonly tags?: readonly { readonly tag: string; readonly except: readonly number[] }[];
  /** Guests in these pools, or below them. */
  readonly pools?: readonly string[];
  /** Guests whose names fit these patterns. */
  readonly names?: readonly string[];
  /** Guests of which there is no backup may be deleted. */
  readonly deleteUnsaved?: boolean;
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
  /** Guests that bear a protecting tag, or bore it and lost it with nobody's consent. */
  readonly tagged?: ReadonlyMap<number, TaggedGuest>;
  /** Guests that pool or name protects, or may protect: it cannot be seen. */
  readonly selected?: ReadonlyMap<number, SelectedGuest>;
  /** Storages on which protected guests have volumes, as `storage` or, where it is not shared, `storage@node`; filled only where one is written to. */
  readonly stored?: ReadonlyMap<string, readonly number[]>;
  /** What protected guests need of others. Absent: there are none, or nothing that could be such a need is touched. */
  readonly needs?: ProtectedNeeds;
}

export interface ProtectedNeed {
  readonly vmid: number;
  readonly as: 'gateway' | 'dns' | 'disks';
}

export interface DeclaredNeed {
  readonly vmid: number;
  readonly role: Role;
}

export interface ProtectedNeeds {
  /** By the canonical address at which it is served. */
  readonly addresses: ReadonlyMap<string, ProtectedNeed>;
  /** By `guest:105` or `node:pve`, what people declare. */
  readonly declared?: ReadonlyMap<string, DeclaredNeed>;
  /** Node names in lower case without which the cluster has no quorum. */
  readonly votes: ReadonlySet<string>;
  /** Any protected guest: each needs quorum. */
  readonly vmid: number;
}

/** How `stored` names a storage. */
export function storagePlace({
  storage,
  node,
  shared,
}: {
  readonly storage: string;
  readonly node: string;
  readonly shared: boolean;
}): string {
  return shared ? storage : `${storage}@${node.toLowerCase()}`;
}

/** Whether the list binds a call of this tier at all. */
export function protectionApplies(tier: ActionTier, list: ProtectedList): boolean {
  return tier !== 'green' || list.protectReads;
}

/** Tests a resource as the caller named it, before anything is looked up. */
export function protectLiteral(resource: Resource, list: ProtectedList, aliases: NodeAliases): Decision {
  const node = (name: string | undefined) => (name === undefined ? unprotected : nodeName(name, list, aliases));
  return firstDenied(list, testsOf(resource, list, node));
}

/** Tests what the resource turned out to be. */
export function protectTarget(target: Target, list: ProtectedList, derived: DerivedProtection): Decision {
  return targetProtection(list, derived)(target);
}

/** `protectTarget` for many targets: what counts for a node is found out once, however many guests are on it. */
export function targetProtection(list: ProtectedList, derived: DerivedProtection): (target: Target) => Decision {
  const nodes = new Map<string, Decision>();
  const ofNode: NodeTest = (name) => {
    if (name === undefined) return unprotected;
    const decision = nodes.get(name) ?? resolvedNode(name, list, derived);
    nodes.set(name, decision);
    return decision;
  };
  return (target) => {
    const own = testsOf(target, list, ofNode);
    const addresses = 'addresses' in target ? target.addresses : [];
    const what = target.kind === 'guest' ? say`guest ${target.vmid}` : target.kind === 'node' ? say`node \`${target.node}\`` : asIs('');
    // A protected node covers everything on it; a node that merely hosts a protected guest does not cover other guests.
    return firstDenied(list, [...own, () => anyAddress(addresses, what, list), ...derivedTests(target, list, derived)]);
  };
}

type Tests = readonly (() => Decision)[];

function derivedTests(target: Target, list: ProtectedList, derived: DerivedProtection): Tests {
  if (target.kind === 'guest')
    return [
      () => bearsTag(target.vmid, derived),
      () => isSelected(target.vmid, derived),
      () => isNeeded(target, derived),
      () => isDeclared(target, derived),
      () => isUnsaved(target, list),
    ];
  // As a clone of it: what the guest holds would be in one that nothing protects.
  if (target.kind === 'new_guest')
    return [target.vmid, ...(target.from === undefined ? [] : [target.from.vmid])].map((vmid) => () => bearsTag(vmid, derived));
  if (target.kind === 'storage') return [() => storesProtectedGuest(target, derived)];
  // Where a guest is put, nothing is done to those that are there.
  const acted = target.kind === 'service' || (target.kind === 'node' && target.place !== true);
  if (!acted) return [];
  return [
    () => hostsProtectedGuest(target.node, derived),
    () => isNeeded(target, derived),
    () => isDeclared(target, derived),
    () => holdsQuorum(target, derived),
  ];
}

type NodeTest = (name: string | undefined) => Decision;
type Thing<Kind> = Extract<Resource | Target, { kind: Kind }>;

/** What is tested of a thing however it was named. */
function testsOf(thing: Resource | Target, list: ProtectedList, node: NodeTest): Tests {
  // Sound: the table has, under each kind, the function for that kind.
  return (testsByKind[thing.kind] as (thing: Resource | Target, list: ProtectedList, node: NodeTest) => Tests)(thing, list, node);
}

const none = (): Tests => [];

const testsByKind: { readonly [Kind in Resource['kind']]: (thing: Thing<Kind>, list: ProtectedList, node: NodeTest) => Tests } = {
  guest: (guest, list, node) => [() => guestNumber(guest.vmid, list), () => node(guest.node)],
  // The node that it is put on is named beside it.
  new_guest: ({ vmid }, list) => [() => guestNumber(vmid, list)],
  node: (thing, _list, node) => [() => node(thing.node)],
  storage: (thing, _list, node) => [() => node(thing.node)],
  tags: ({ tags }, list) => [() => protectingTag(tags, list)],
  service: (thing, list, node) => [() => node(thing.node), () => serviceName(thing.service, thing.node, list)],
  destination: ({ host }, list) => [() => anyAddress([host], say`destination \`${host}\``, list)],
  command: none,
  path: none,
  held: none,
};

/** Derives what the list implies from the cluster's own rows. */
export function deriveProtection(
  rows: {
    readonly guests: readonly GuestFacts[];
    readonly nodes: readonly { readonly node: string; readonly addresses: readonly string[] }[];
  },
  list: ProtectedList,
  bore: TagsOfGuests = new Map(),
): DerivedProtection {
  const tagged = taggedGuests(rows.guests, list, bore);
  const selected = selectedGuests(rows.guests, list);
  const hosts = new Map<string, number[]>();
  const isProtected = ({ vmid }: GuestFacts) => list.guests.includes(vmid) || tagged.has(vmid) || selected.has(vmid);
  for (const guest of rows.guests.filter(isProtected)) {
    const node = guest.node.toLowerCase();
    hosts.set(node, [...(hosts.get(node) ?? []), guest.vmid]);
  }
  const addressed = new Map<string, string>();
  for (const row of rows.nodes) {
    const address = row.addresses.find((entry) => isProtectedAddress(entry, list));
    if (address !== undefined) addressed.set(row.node.toLowerCase(), address);
  }
  return { hosts, addressed, ...(tagged.size === 0 ? {} : { tagged }), ...(selected.size === 0 ? {} : { selected }) };
}

const unprotected = allow('not_protected', 'no protected resource is touched');

function resolvedNode(node: string, list: ProtectedList, derived: DerivedProtection): Decision {
  const listed = nodeName(node, list, new Map());
  const address = derived.addressed.get(node.toLowerCase());
  if (listed.effect === 'deny' || address === undefined) return listed;
  return refuse(say`node \`${node}\` has the protected address ${address}`, `protected.addresses:${address}`);
}

function guestNumber(vmid: number, list: ProtectedList): Decision {
  if (!list.guests.includes(vmid)) return unprotected;
  return refuse(say`guest ${vmid} is protected by configuration`, `protected.guests:${vmid}`);
}

function bearsTag(vmid: number, { tagged }: DerivedProtection): Decision {
  const found = tagged?.get(vmid);
  if (found === undefined) return unprotected;
  const why = found.lost
    ? say`guest ${vmid} bore the protecting tag \`${found.tag}\` and lost it without a person's consent (who means that writes the guest into \`except\` of that tag)`
    : say`guest ${vmid} bears the protecting tag \`${found.tag}\``;
  return refuse(why, `protected.tags:${found.tag}`);
}

function isSelected(vmid: number, { selected }: DerivedProtection): Decision {
  const found = selected?.get(vmid);
  return found === undefined ? unprotected : refuse(found.why, found.rule);
}

const needWords: Readonly<Record<ProtectedNeed['as'], (what: Message, vmid: number) => Message>> = {
  gateway: (what, vmid) => say`${what} is the gateway of protected guest ${vmid}`,
  dns: (what, vmid) => say`${what} is the only DNS server of protected guest ${vmid}`,
  disks: (what, vmid) => say`${what} serves disks of protected guest ${vmid}`,
};

/** What is done to a unit is done to its node. */
function isDeclared(target: GuestTarget | NodeTarget | ServiceTarget, { needs }: DerivedProtection): Decision {
  const server = serverOf(target.kind === 'guest' ? { guest: target.vmid } : target);
  const need = needs?.declared?.get(server);
  if (need === undefined || target.access === 'read') return unprotected;
  const what = target.kind === 'guest' ? say`guest ${target.vmid}` : say`node \`${target.node}\``;
  const { vmid, role } = need;
  const given = say`${what} ${roleWords(role)}; protected guest ${vmid} depends on it`;
  return refuse(given, `roles.${role.name}`, `derived.${role.as}-of:${vmid}`);
}

function isNeeded(target: Target, { needs }: DerivedProtection): Decision {
  const addresses = 'addresses' in target ? target.addresses : [];
  const need = addresses.map((address) => needs?.addresses.get(address)).find((found) => found !== undefined);
  if (need === undefined) return unprotected;
  const what = target.kind === 'guest' ? say`guest ${target.vmid}` : say`node \`${'node' in target ? target.node : ''}\``;
  return refuse(needWords[need.as](what, need.vmid), `derived.${need.as}-of:${need.vmid}`);
}

function holdsQuorum(target: NodeTarget | ServiceTarget, { needs }: DerivedProtection): Decision {
  const takesNode = target.kind === 'node' || nodeServices.has(target.service);
  if (!takesNode || needs?.votes.has(target.node.toLowerCase()) !== true || target.access === 'read') return unprotected;
  const why = say`without node \`${target.node}\` the cluster has no quorum, which protected guest ${needs.vmid} needs`;
  return refuse(why, `derived.quorum-of:${needs.vmid}`);
}

function protectingTag(tags: readonly string[] = [], { tags: listed = [] }: ProtectedList): Decision {
  const found = tags.map((tag) => tag.toLowerCase()).find((tag) => listed.some((entry) => entry.tag === tag));
  if (found === undefined) return unprotected;
  return refuse(say`the tag \`${found}\` protects guests, so only people give or take it`, `protected.tags:${found}`);
}

function isUnsaved({ vmid, node, backups }: GuestTarget, { deleteUnsaved = false }: ProtectedList): Decision {
  if ((backups !== 0 && backups !== 'unread') || deleteUnsaved) return unprotected;
  const why =
    backups === 'unread'
      ? say`backups of guest ${vmid} cannot be read while node ${node} or a storage does not answer, so nobody knows whether what is deleted could be restored`
      : say`no backup of guest ${vmid} is seen by the token, and what is deleted could not be restored`;
  return refuse(why, 'protected.deleteUnsaved');
}

function storesProtectedGuest(target: StorageTarget, { stored }: DerivedProtection): Decision {
  const guests = stored?.get(storagePlace(target)) ?? [];
  if (guests.length === 0) return unprotected;
  const which = protectedGuests(guests);
  return refuse(
    say`storage \`${target.storage}\` on \`${target.node}\` holds the disks of ${which}, which stand still when it is full`,
    ...guests.map((vmid) => `derived.storage-of:${vmid}`),
  );
}

function nodeName(name: string, list: ProtectedList, aliases: NodeAliases): Decision {
  const spellings = hostSpellings(name);
  const listed = list.nodes.find((node) => spellings.includes(node.toLowerCase()));
  if (listed !== undefined) return refuse(say`node \`${listed}\` is protected by configuration`, `protected.nodes:${listed}`);
  const address = anyAddress([name], asIs(`\`${name}\``), list);
  if (address.effect === 'deny') return address;
  return aliasOfProtected(name, list, aliases);
}

function aliasOfProtected(name: string, list: ProtectedList, aliases: NodeAliases): Decision {
  for (const [node, names] of aliases) {
    if (node.toLowerCase() !== name.toLowerCase() && !names.some((alias) => sameHost(alias, name))) continue;
    const listed = list.nodes.find((entry) => entry.toLowerCase() === node.toLowerCase());
    if (listed !== undefined)
      return refuse(say`\`${name}\` is node \`${listed}\`, which is protected by configuration`, `protected.nodes:${listed}`);
    const address = anyAddress(names, say`node \`${node}\` (named as \`${name}\`)`, list);
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
      say`service \`${entry.name}\` is protected on ${entry.node === '*' ? say`every node` : `\`${entry.node}\``}`,
      `protected.services:${entry.name}`,
    );
  }
  return unprotected;
}

function anyAddress(candidates: readonly string[], what: Message, list: ProtectedList): Decision {
  for (const candidate of candidates) {
    const address = canonicalAddress(candidate);
    if (address !== undefined && isProtectedAddress(address, list)) {
      return refuse(say`${what} has the protected address ${address}`, `protected.addresses:${address}`);
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
  const which = protectedGuests(guests);
  return refuse(
    say`node \`${node}\` hosts ${which}, so nothing may be done to the node itself`,
    ...guests.map((vmid) => `derived.host-of:${vmid}`),
  );
}

function protectedGuests(guests: readonly number[]): Message {
  return plural(guests.length, say`protected guest ${guests.join(', ')}`, say`protected guests ${guests.join(', ')}`);
}

function refuse(why: Message, ...rules: string[]): Decision {
  return deny('protected_resource', say`${why}; no approval lifts this, a person must do it by hand or change the protected list`, rules);
}

/** A node that hosts a protected guest is protected for that guest's reason. */
function withReasons(decision: Decision, { reasons = {} }: ProtectedList): Decision {
  const given = decision.rules.map((rule) => reasons[rule.replace(/^derived\.[a-z]+-of:/, 'protected.guests:')]);
  const whys = [...new Set(given.filter((why) => why !== undefined))].join('; ');
  if (whys === '') return decision;
  return deny(decision.code, say`${decision.words ?? asListed(decision.reason)}; the reason given: ${whys}`, decision.rules);
}

function firstDenied(list: ProtectedList, tests: readonly (() => Decision)[]): Decision {
  for (const test of tests) {
    const decision = test();
    if (decision.effect === 'deny') return withReasons(decision, list);
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
