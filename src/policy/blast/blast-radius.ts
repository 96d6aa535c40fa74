/**
 * What else goes when a guest, node or storage goes: quorum, places for what high availability starts again, guests whose storage, gateway or DNS is
 * served from there. Pure, from what the cluster says and people declare. LIMIT: nothing is known here of what runs inside a guest.
 */
import { joined, type Message, plural, say } from '#kernel/text/message';
import type { Loss } from '#kernel/tool';
import { allowedNodes, type PlacementRule } from './placement.ts';

export interface RadiusNode {
  readonly node: string;
  readonly online: boolean;
  readonly votes: number;
  /** In bytes, of the whole node. */
  readonly memory: number;
  readonly addresses: readonly string[];
}

/** Addresses are canonical; what is not known of its network or disks is left out, and nothing follows from it. */
export interface RadiusGuest {
  readonly vmid: number;
  readonly node: string;
  readonly running: boolean;
  /** In bytes, at most. */
  readonly memory: number;
  /** High availability starts it again elsewhere. */
  readonly ha: boolean;
  readonly addresses: readonly string[];
  readonly gateways: readonly string[];
  readonly resolvers: readonly string[];
  readonly storages: readonly string[];
  /** Of its machine, as the firmware tells it to its system (`smbios1`): 32 hex digits. */
  readonly uuid?: string;
  /** By people's word: lost where all of these are, whatever `gateways` and `resolvers` say. */
  readonly declared?: { readonly gateways: readonly string[]; readonly resolvers: readonly string[] };
  /** Where it stands in its node's boot order; absent: it is not started with the node. Infinity: started, and no place is named. */
  readonly order?: number;
}

interface RadiusStorage {
  readonly storage: string;
  readonly shared: boolean;
  /** Addresses it is served from: any of them is enough. None: nothing of this cluster serves it. */
  readonly servers: readonly string[];
  /** As `servers`, by people's word. */
  readonly declared?: readonly string[];
}

export interface RadiusFacts {
  /** False: a single node, which has neither quorum nor high availability. */
  readonly clustered: boolean;
  readonly nodes: readonly RadiusNode[];
  readonly guests: readonly RadiusGuest[];
  readonly storages: readonly RadiusStorage[];
  readonly rules?: readonly PlacementRule[];
}

interface BlastRadius {
  readonly quorum: { readonly before: boolean; readonly after: boolean; readonly votes: number; readonly needed: number };
  /** Nodes that restart themselves, since they run highly available guests and are without quorum. */
  readonly fenced: readonly string[];
  /** Where high availability starts guests again. */
  readonly moved: ReadonlyMap<number, string>;
  /** Highly available guests for which no node that the rules allow has room, or whose disks are gone with the node. */
  readonly stranded: readonly number[];
  /** Guests that ran and do not any more, the lost one among them. */
  readonly down: ReadonlySet<number>;
  /** Guests that run on without a gateway, and without any DNS server. */
  readonly withoutGateway: readonly number[];
  readonly withoutDns: readonly number[];
  /** Guests that run on and that their node starts after the lost one, which has a place in its boot order: they may need it. */
  readonly startedAfter: readonly number[];
}

export function blastRadius(facts: RadiusFacts, loss: Loss): BlastRadius {
  const lostNodes = new Set(loss.kind === 'node' ? [loss.node] : []);
  const quorum = quorumAfter(facts, lostNodes);
  const fenced = quorum.before && !quorum.after ? nodesWithHa(facts, lostNodes) : [];
  const recovery = facts.clustered && quorum.after ? recover(facts, lostNodes) : { moved: new Map<number, string>(), stranded: [] };
  const cascade = createCascade(facts);
  const gone = new Set([...lostNodes, ...fenced]);
  cascade.nodes(gone);
  for (const guest of runningOf(facts)) {
    const leaves = gone.has(guest.node) && !recovery.moved.has(guest.vmid);
    if (leaves || isLost(guest, loss, facts)) cascade.guest(guest.vmid);
  }
  const down = cascade.settle();
  const left = runningOf(facts).filter(({ vmid }) => !down.has(vmid));
  const isCutOff = (addresses: readonly string[] = []) =>
    addresses.length > 0 && addresses.every(cascade.isDead) && !addresses.every(cascade.wasDead);
  const cutOff = (groupsOf: (guest: RadiusGuest) => readonly (readonly string[] | undefined)[]) =>
    left.filter((guest) => groupsOf(guest).some(isCutOff)).map(({ vmid }) => vmid);
  return {
    ...{ quorum, fenced, down, stranded: recovery.stranded },
    moved: new Map([...recovery.moved].filter(([vmid]) => !down.has(vmid))),
    withoutGateway: cutOff(({ gateways, declared }) => [gateways, declared?.gateways]),
    withoutDns: cutOff(({ resolvers, declared }) => [resolvers, declared?.resolvers]),
    startedAfter: startedAfter(facts, loss, left),
  };
}

/** Boot order is kept on each node by itself. */
function startedAfter({ guests }: RadiusFacts, loss: Loss, left: readonly RadiusGuest[]): readonly number[] {
  const first = loss.kind === 'guest' ? guests.find(({ vmid }) => vmid === loss.vmid) : undefined;
  const place = first?.order;
  if (first === undefined || place === undefined || !Number.isFinite(place)) return [];
  return left.filter(({ node, order }) => node === first.node && order !== undefined && order > place).map((guest) => guest.vmid);
}

function isLost(guest: RadiusGuest, loss: Loss, facts: RadiusFacts): boolean {
  if (loss.kind === 'guest') return guest.vmid === loss.vmid;
  return loss.kind === 'storage' && uses(guest, loss, facts);
}

/** Those on a node that is off do not run, whatever was seen of them last. */
function runningOf({ guests, nodes }: RadiusFacts): readonly RadiusGuest[] {
  const online = new Set(nodes.filter((node) => node.online).map(({ node }) => node));
  return guests.filter(({ running, node }) => running && online.has(node));
}

function quorumAfter({ clustered, nodes }: RadiusFacts, lost: ReadonlySet<string>): BlastRadius['quorum'] {
  const sum = (some: readonly RadiusNode[]) => some.reduce((votes, node) => votes + node.votes, 0);
  const needed = Math.floor(sum(nodes) / 2) + 1;
  const online = nodes.filter((node) => node.online);
  const votes = sum(online.filter(({ node }) => !lost.has(node)));
  return { before: !clustered || sum(online) >= needed, after: !clustered || votes >= needed, votes, needed };
}

/** The watchdog of a node with highly available guests is no longer fed without quorum. */
function nodesWithHa(facts: RadiusFacts, lost: ReadonlySet<string>): readonly string[] {
  const hosts = new Set(runningOf(facts).flatMap(({ ha, node }) => (ha && !lost.has(node) ? [node] : [])));
  return [...hosts].sort();
}

/** One after the other, each on the node with the most room left of those that the rules allow. */
function recover(facts: RadiusFacts, lost: ReadonlySet<string>): { readonly moved: Map<number, string>; readonly stranded: number[] } {
  const running = runningOf(facts);
  const room = new Map(facts.nodes.filter(({ node, online }) => online && !lost.has(node)).map(({ node, memory }) => [node, memory]));
  for (const { node, memory } of running) if (room.has(node)) room.set(node, (room.get(node) ?? 0) - memory);
  const isShared = new Map(facts.storages.map(({ storage, shared }) => [storage, shared]));
  const at = new Map(running.filter(({ node }) => room.has(node)).map(({ vmid, node }) => [vmid, node]));
  const moved = new Map<number, string>();
  const stranded: number[] = [];
  for (const guest of running.filter(({ node, ha }) => ha && lost.has(node)).toSorted((a, b) => a.vmid - b.vmid)) {
    const allowed = allowedNodes(guest.vmid, [...room.keys()], { rules: facts.rules ?? [], at });
    const [place] = [...room]
      .filter(([node, free]) => allowed.has(node) && free >= guest.memory)
      .sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1));
    if (place === undefined || guest.storages.some((storage) => isShared.get(storage) !== true)) stranded.push(guest.vmid);
    else {
      moved.set(guest.vmid, place[0]);
      at.set(guest.vmid, place[0]);
      room.set(place[0], place[1] - guest.memory);
    }
  }
  return { moved, stranded };
}

function uses({ node, storages }: RadiusGuest, loss: Extract<Loss, { kind: 'storage' }>, { storages: all }: RadiusFacts): boolean {
  const shared = all.find(({ storage }) => storage === loss.storage)?.shared === true;
  return storages.includes(loss.storage) && (shared || loss.node === undefined || loss.node === node);
}

/** Follows what serves what, from what is gone: each address, storage and guest is looked at once for each of those that served it. */
function createCascade(facts: RadiusFacts) {
  const before = count(facts);
  const servers = new Map(before);
  const wasDead = (address: string): boolean => before.get(address) === 0;
  const groups = facts.storages.flatMap(({ storage, servers: from, declared = [] }) =>
    [from, declared].map((all) => ({ storage, left: new Set(all.filter((address) => !wasDead(address))) })),
  );
  const servedFrom = index(groups.flatMap((group) => [...group.left].map((address) => [address, group] as const)));
  const usersOf = index(runningOf(facts).flatMap(({ vmid, storages }) => storages.map((storage) => [storage, vmid] as const)));
  const guests = new Map(facts.guests.map((guest) => [guest.vmid, guest]));
  const down = new Set<number>();
  const waiting: number[] = [];

  const loseAddress = (address: string): void => {
    const left = (servers.get(address) ?? 0) - 1;
    servers.set(address, left);
    if (left > 0) return;
    for (const { storage, left: others } of servedFrom.get(address) ?? []) {
      others.delete(address);
      if (others.size === 0) for (const vmid of usersOf.get(storage) ?? []) lose(vmid);
    }
  };
  const lose = (vmid: number): void => {
    if (down.has(vmid)) return;
    down.add(vmid);
    waiting.push(vmid);
  };
  return {
    guest: lose,
    nodes: (gone: ReadonlySet<string>) => {
      for (const { node, online, addresses } of facts.nodes) if (online && gone.has(node)) new Set(addresses).forEach(loseAddress);
    },
    /** All that goes, once nothing more follows. */
    settle: (): ReadonlySet<number> => {
      for (let vmid = waiting.pop(); vmid !== undefined; vmid = waiting.pop()) new Set(guests.get(vmid)?.addresses).forEach(loseAddress);
      return down;
    },
    /** Something of this cluster has that address, and nothing answers there. What nothing here has is served from elsewhere. */
    isDead: (address: string): boolean => servers.get(address) === 0,
    wasDead,
  };
}

/** How many guests and nodes answer at an address now; none where only those have it that do not run. */
function count(facts: RadiusFacts): ReadonlyMap<string, number> {
  const answering = [...facts.nodes.filter(({ online }) => online), ...runningOf(facts)].flatMap(({ addresses }) => [
    ...new Set(addresses),
  ]);
  const servers = new Map<string, number>();
  for (const { addresses } of [...facts.nodes, ...facts.guests]) for (const address of addresses) servers.set(address, 0);
  for (const address of answering) servers.set(address, (servers.get(address) ?? 0) + 1);
  return servers;
}

function index<Key, Value>(pairs: readonly (readonly [Key, Value])[]): ReadonlyMap<Key, readonly Value[]> {
  const found = new Map<Key, Value[]>();
  for (const [key, value] of pairs) {
    const values = found.get(key);
    if (values === undefined) found.set(key, [value]);
    else values.push(value);
  }
  return found;
}

// A blast radius in sentences for the person who decides: only what is lost, the worst first. Pure.
/** As many names as a line holds. */
const shownNames = 8;

/** @param nameOf a guest for people: `VM 100 (web)` */
export function radiusLines(loss: Loss, radius: BlastRadius, facts: RadiusFacts, nameOf: (vmid: number) => Message): readonly Message[] {
  const names = (vmids: Iterable<number>) =>
    namesOf(
      [...vmids].sort((a, b) => a - b),
      nameOf,
    );
  const itself = loss.kind === 'guest' ? loss.vmid : undefined;
  const served = [...radius.down].filter((vmid) => vmid !== itself);
  const { withoutGateway, withoutDns, startedAfter: later, stranded, moved } = radius;
  return [
    ...quorumLines(loss, radius, facts),
    ...(stranded.length === 0 ? [] : [say`high availability finds no place that its rules allow and that has room for ${names(stranded)}`]),
    ...(served.length === 0 ? [] : [say`goes down with it (runs there, or has disks that are served from there): ${names(served)}`]),
    ...(withoutGateway.length === 0 ? [] : [say`it is the gateway of ${names(withoutGateway)}`]),
    ...(withoutDns.length === 0 ? [] : [say`it is the only DNS server of ${names(withoutDns)}`]),
    ...(later.length === 0 ? [] : [say`its node starts it before ${names(later)}, which may need it`]),
    ...(moved.size === 0 ? [] : [say`high availability starts elsewhere: ${names(moved.keys())}`]),
  ];
}

function quorumLines(loss: Loss, { quorum, fenced }: BlastRadius, { clustered }: RadiusFacts): readonly Message[] {
  if (loss.kind !== 'node' || !clustered || !quorum.before) return [];
  const { needed } = quorum;
  const votes = plural(
    quorum.votes,
    say`1 vote would be left, ${needed} are needed`,
    say`${quorum.votes} votes would be left, ${needed} are needed`,
  );
  if (quorum.after) return quorum.votes > needed ? [] : [say`quorum would hang on every other node: ${votes}`];
  const lost = say`the cluster would lose quorum: ${votes}, and without it nothing can be started or changed`;
  const nodes = joined(fenced.map((node) => `\`${node}\``));
  return [fenced.length === 0 ? lost : say`${lost}; ${nodes} would restart for it, with all guests there`];
}

function namesOf(vmids: readonly number[], nameOf: (vmid: number) => Message): Message {
  const more = vmids.length - shownNames;
  const shown = joined(vmids.slice(0, shownNames).map(nameOf));
  return more > 0 ? say`${shown} and ${more} more` : shown;
}
