/** The cluster's own rows, asked for when a call names a guest, node or service. */
import { canonicalAddress } from '#kernel/address';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { ClusterPort, ClusterStatusRow, Permissions } from '#kernel/ports/cluster';
import { tagsIn } from '#kernel/resource';
import { showPlainly } from '#kernel/text/text';
import { protectingTags, type RememberedTags, tagBearers } from '#policy/deciding-tags';
import { type DerivedProtection, deriveProtection, type ProtectedList, storagePlace } from '#policy/protected-resources';
import type { Inventory } from '#policy/resolve-target';
import type { Selectable } from '#policy/scopes/selector';
import type { ConfiguredCluster } from './deps.ts';

export interface InventoryNeeds {
  readonly needsAddresses: boolean;
  readonly needsStorages?: boolean;
  /** Whether pools decide about guests. */
  readonly needsPools?: boolean;
  readonly signal: AbortSignal;
}

/**
 * @param needsAddresses whether addresses are protected: then a token that may not see the nodes' own is refused, else they are left out
 * @throws {Fault} why the cluster cannot be asked
 */
export async function takeInventory(
  cluster: string,
  configured: ConfiguredCluster,
  { needsAddresses, needsStorages = false, needsPools = false, signal }: InventoryNeeds,
): Promise<Inventory> {
  const { api } = configured.access;
  // Rights on one node are enough to read it: the status of the cluster takes rights on all of it.
  const none = (thrown: unknown): readonly ClusterStatusRow[] => {
    if (!needsAddresses && thrown instanceof Fault && thrown.code === 'pve_forbidden') return [];
    throw thrown;
  };
  const [nodes, status, guests, storages, seesPools] = await Promise.all([
    api.nodes(signal),
    api.clusterStatus(signal).catch(none),
    api.guests(signal),
    needsStorages ? api.resources('storage', signal) : undefined,
    needsPools ? api.permissions(signal).then(seesEveryPool) : false,
  ]);
  const addressOf = new Map(status.filter((row) => row.type === 'node' && row.ip !== undefined).map((row) => [row.name, row.ip ?? '']));
  return {
    cluster,
    nodes: nodes.map((row) => {
      const aliases = configured.aliases.get(row.node) ?? [];
      const known = [addressOf.get(row.node) ?? '', ...aliases].map((name) => canonicalAddress(name));
      return { node: row.node, online: row.status === 'online', addresses: known.filter((address) => address !== undefined), aliases };
    }),
    guests: guests.map((guest) => ({ ...guest, tags: tagsIn(guest.raw['tags']), ...poolOf(guest.raw['pool'], seesPools) })),
    ...(storages === undefined ? {} : { storages: storages.flatMap(storageRow) }),
  };
}

/** A row without a pool is of a guest in none, where the token would see any. */
function poolOf(pool: unknown, seesPools: boolean): { readonly pool?: string | null } {
  if (typeof pool === 'string' && pool !== '') return { pool };
  return seesPools ? { pool: null } : {};
}

/** Rights on a path below stand for those handed down to it: each has to hold the privilege itself. */
function seesEveryPool(permissions: Permissions): boolean {
  const holds = (path: string) => permissions[path]?.['Pool.Audit'];
  const all = permissions['/pool'] === undefined ? holds('/') === true : holds('/pool') === true;
  return all && Object.keys(permissions).every((path) => !path.startsWith('/pool/') || holds(path) !== undefined);
}

function storageRow({ storage, node, shared }: JsonObject) {
  return typeof storage === 'string' && typeof node === 'string' ? [{ storage, node, shared: Number(shared ?? 0) === 1 }] : [];
}

/** What follows from the list by live data, and from what is remembered of tags. @param sources undefined: no storage is written to */
export async function derivedBy(
  inventory: Inventory,
  list: ProtectedList,
  { tags }: Pick<ConfiguredCluster, 'tags'>,
  sources?: { readonly api: ClusterPort; readonly signal: AbortSignal },
): Promise<DerivedProtection & Partial<RememberedTags>> {
  const remembered = await rememberedOf(inventory, list, tags);
  const derived = { ...deriveProtection(inventory, list, remembered?.bore), ...remembered };
  return sources === undefined
    ? derived
    : {
        ...derived,
        stored: await storedBy(
          inventory,
          [...list.guests, ...(derived.tagged?.keys() ?? []), ...(derived.selected?.keys() ?? [])],
          sources,
        ),
      };
}

/** undefined: no tag decides. */
async function rememberedOf(
  { guests }: Inventory,
  list: ProtectedList,
  memory: ConfiguredCluster['tags'],
): Promise<RememberedTags | undefined> {
  const deciding = new Set([...protectingTags(list), ...(memory?.selecting ?? [])]);
  if (deciding.size === 0) return undefined;
  return memory?.remember(tagBearers(guests, deciding), new Set(guests.map(({ vmid }) => vmid)));
}

/** Fails closed: a protected guest whose configuration cannot be read may have its disks anywhere. */
async function storedBy(
  inventory: Inventory,
  vmids: readonly number[],
  { api, signal }: { readonly api: ClusterPort; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, readonly number[]>> {
  const guests = inventory.guests.filter((guest) => vmids.includes(guest.vmid));
  const stored = new Map<string, number[]>();
  for (const guest of guests) {
    const config = await api.guestConfig({ vmid: guest.vmid, node: guest.node, guestType: guest.type }, signal);
    for (const storage of storagesIn(config)) {
      const shared = inventory.storages?.some((row) => row.storage === storage && row.shared) === true;
      const place = storagePlace({ storage, node: guest.node, shared });
      stored.set(place, [...(stored.get(place) ?? []), guest.vmid]);
    }
  }
  return stored;
}

type GuestFacts = Pick<Inventory['guests'][number], 'vmid' | 'node' | 'name' | 'tags' | 'pool'>;

/** A guest as selectors see it. */
export function guestThing(
  { vmid, node, name, tags, pool }: GuestFacts,
  { cluster, bore, gained, brought }: Pick<Inventory, 'cluster' | 'bore' | 'gained' | 'brought'>,
): Selectable {
  const words = `guest ${vmid}${name === undefined ? '' : ` (${showPlainly(name, 60)})`}`;
  const lost = tags === undefined ? [] : (bore?.get(vmid) ?? []).filter((tag) => !tags.includes(tag));
  return { words, cluster, vmid, node, tags, pool, name, lost, gained: gained?.get(vmid) ?? [], brought: brought?.get(vmid) ?? [] };
}

const diskKey = /^(?:(?:scsi|virtio|ide|sata|efidisk|tpmstate|mp)\d+|rootfs)$/;

/** Storages of the disks in a configuration: `scsi0: local-lvm:vm-100-disk-0,size=32G`; a drive without a medium has none. */
export function storagesIn(config: JsonObject): readonly string[] {
  const volumes = Object.entries(config).flatMap(([key, value]) => (diskKey.test(key) && typeof value === 'string' ? [value] : []));
  const storages = volumes.flatMap((volume) => /^([a-zA-Z][a-zA-Z0-9._-]*):[^,]+/.exec(volume)?.[1] ?? []);
  return [...new Set(storages)];
}
