/** What protected guests need of others, by their configurations and the cluster's rows: gateways, DNS servers, what serves their disks, quorum. */
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort, GuestRef } from '#kernel/ports/cluster';
import { type Target, tagsIn } from '#kernel/resource';
import { isServed, type Role, rolesIn, serverOf } from '#policy/blast/roles';
import type { DeclaredNeed, DerivedProtection, ProtectedList, ProtectedNeed, ProtectedNeeds } from '#policy/protected-resources';
import type { Inventory } from '#policy/resolve-target';
import { guestThing, storagesIn } from './inventory.ts';
import { addressesIn, gatewaysIn } from './losses.ts';

/** Of so many protected guests the configurations are read for a call. */
const mostRead = 50;

interface Looking {
  readonly api: ClusterPort;
  readonly inventory: Inventory;
  readonly signal: AbortSignal;
}

interface Configured {
  readonly list: ProtectedList;
  /** Of any cluster. */
  readonly roles: readonly Role[];
}

/** @returns what is needed, and the protected guests of which that is not known */
export async function protectedNeeds(
  targets: readonly Target[],
  { list, roles }: Configured,
  { bore, ...derived }: DerivedProtection & Pick<Inventory, 'bore'>,
  { api, inventory, signal }: Looking,
): Promise<{ readonly needs?: ProtectedNeeds; readonly unread: readonly number[] }> {
  const vmids = new Set([...list.guests, ...(derived.tagged?.keys() ?? []), ...(derived.selected?.keys() ?? [])]);
  const guests = inventory.guests.filter(({ vmid }) => vmids.has(vmid));
  const [first] = guests;
  if (first === undefined || !targets.some(couldBeNeeded)) return { unread: [] };
  const [configs, storages] = await Promise.all([
    Promise.all(
      guests.slice(0, mostRead).map(async ({ vmid, node, type: guestType }) => {
        return [vmid, await configOf({ vmid, node, guestType }, { api, inventory, signal })] as const;
      }),
    ),
    api.rows({ rows: 'storage' }, signal).catch(() => []),
  ]);
  signal.throwIfAborted();
  const read = configs.flatMap(([vmid, config]) => (config === undefined ? [] : [[vmid, config] as const]));
  const addresses = new Map(read.flatMap(([vmid, config]) => needsOf(vmid, config, storages)));
  const unread = guests.map(({ vmid }) => vmid).filter((vmid) => !read.some(([known]) => known === vmid));
  const seen = { inventory: { ...inventory, ...(bore === undefined ? {} : { bore }) }, configs: new Map(read) };
  const declared = declaredNeeds(rolesIn(inventory.cluster, roles), guests, seen);
  return { needs: { addresses, declared, votes: decisiveVotes(inventory), vmid: first.vmid }, unread };
}

interface Seen {
  readonly inventory: Inventory;
  readonly configs: ReadonlyMap<number, JsonObject>;
}

/** Of one whose disks cannot be read, any storage may hold them. */
function declaredNeeds(
  roles: readonly Role[],
  guests: Inventory['guests'],
  { inventory, configs }: Seen,
): ReadonlyMap<string, DeclaredNeed> {
  const needs = new Map<string, DeclaredNeed>();
  for (const role of roles) {
    const served = guests.find((guest) => {
      const config = configs.get(guest.vmid);
      if (role.as !== 'storage') return isServed(role, guestThing(guest, inventory));
      return config === undefined || storagesIn(config).some((storage) => role.storages?.includes(storage));
    });
    if (served !== undefined) needs.set(serverOf(role), { vmid: served.vmid, role });
  }
  return needs;
}

/** undefined: its node is off. @throws {Fault} where it is on: what cannot be read may be the very thing */
export async function configOf(guest: GuestRef, { api, inventory, signal }: Looking): Promise<JsonObject | undefined> {
  try {
    return await api.guestConfig(guest, signal);
  } catch (thrown) {
    if (signal.aborted || inventory.nodes.some(({ node, online }) => online && node === guest.node)) throw thrown;
    return undefined;
  }
}

function couldBeNeeded({ kind, access }: Target): boolean {
  return access === 'operate' && (kind === 'guest' || kind === 'node' || kind === 'service');
}

function needsOf(vmid: number, config: JsonObject, storages: readonly JsonObject[]): readonly (readonly [string, ProtectedNeed])[] {
  const as = (addresses: readonly string[], kind: ProtectedNeed['as']) =>
    addresses.map((address) => [address, { vmid, as: kind }] as const);
  const resolvers = addressesIn(typeof config['nameserver'] === 'string' ? tagsIn(config['nameserver']) : []);
  const own = new Set(storagesIn(config));
  const servers = storages.filter(({ storage }) => own.has(wordOf(storage))).flatMap(({ server, portal }) => [server, portal]);
  return [
    ...as(resolvers.length === 1 ? resolvers : [], 'dns'),
    ...as(gatewaysIn(config), 'gateway'),
    ...as(addressesIn(servers.map((text) => (typeof text === 'string' ? text : undefined))), 'disks'),
  ];
}

/** Nodes that are online, and without one of which too few would be. One vote each. */
function decisiveVotes({ nodes }: Inventory): ReadonlySet<string> {
  const online = nodes.filter((node) => node.online);
  const needed = Math.floor(nodes.length / 2) + 1;
  const isDecisive = nodes.length > 1 && online.length === needed;
  return new Set(isDecisive ? online.map(({ node }) => node.toLowerCase()) : []);
}
