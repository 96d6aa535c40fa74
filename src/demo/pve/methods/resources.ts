/** `/cluster/resources` and `/nodes`: rows that the caller may not see are left out, never refused. */
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { type Cluster, seesOnline } from '../cluster.ts';
import { cpusOf, guestFigures, maxMemory, nodeFigures } from '../figures.ts';
import { haStateOf } from '../high-availability.ts';
import {
  type GuestState,
  guestName,
  isTemplate,
  lockOf,
  type NodeState,
  type PoolState,
  poolOfGuest,
  type StorageState,
} from '../state.ts';

/** What is in a guest's row only where it has it. */
function extras({ ha, state }: Cluster, guest: GuestState): object {
  const facts = {
    lock: lockOf(guest),
    tags: guest.config.get('tags'),
    pool: poolOfGuest(state, guest.vmid),
    hastate: haStateOf(ha, guest),
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

export const resourceMethods: readonly ApiMethod[] = [
  {
    verb: 'GET',
    path: '/cluster/resources',
    permission: 'all',
    proxied: false,
    unordered: true,
    parameters: { type: { type: 'string', optional: true, enum: ['vm', 'storage', 'node', 'sdn'] } },
    run: resources,
  },
  { verb: 'GET', path: '/nodes', permission: 'all', proxied: false, unordered: true, run: nodes },
];

function resources(call: ApiCall): unknown {
  const type = call.parameters.text('type');
  const wants = (one: string) => type === undefined || type === one;
  const { state } = call.cluster;
  return [
    ...(type === undefined ? [...state.pools.values()].flatMap((pool) => poolRow(call, pool)) : []),
    ...(wants('vm') ? [...state.guests.values()].flatMap((guest) => guestRow(call, guest)) : []),
    ...(wants('node') ? [...state.nodes.values()].map((node) => ({ ...nodeRow(call, node), 'cgroup-mode': 2 })) : []),
    ...(wants('storage') ? [...state.storages.values()].flatMap((storage) => storageRows(call, storage)) : []),
    // The built-in zone; asked for with `type=sdn`, PVE 9.1 answers with an empty list.
    ...(type === undefined ? [...state.nodes.keys()].flatMap((node) => networkRow(call, node)) : []),
  ];
}

function nodes(call: ApiCall): unknown {
  return [...call.cluster.state.nodes.values()].map((node) => {
    const fingerprint = call.cluster.certificates.nodes.get(node.name)?.fingerprint;
    return { ...nodeRow(call, node), ...(fingerprint === undefined ? {} : { ssl_fingerprint: fingerprint }) };
  });
}

const staleAfterMs = 300_000;

/** Figures of a node that went away are dropped after five minutes; its guests' rows are bare from then on. */
function isStale(cluster: Cluster, node: NodeState | undefined): boolean {
  return node?.downSince !== undefined && cluster.clock.now() - node.downSince > staleAfterMs;
}

function guestRow({ cluster, user }: ApiCall, guest: GuestState): object[] {
  if (!cluster.access.holds(user, `/vms/${guest.vmid}`, 'VM.Audit')) return [];
  const config = extras(cluster, guest);
  const identity = { id: `${guest.kind}/${guest.vmid}`, vmid: guest.vmid, node: guest.node, type: guest.kind };
  const node = cluster.state.nodes.get(guest.node);
  const neverSeen = node?.downSince !== undefined && guest.createdAt >= node.downSince;
  if (neverSeen || isStale(cluster, node)) return [{ ...identity, status: 'unknown', ...config }];
  const figures = guestFigures(cluster, guest);
  return [
    {
      ...identity,
      name: guestName(guest),
      status: guest.running ? 'running' : 'stopped',
      template: isTemplate(guest) ? 1 : 0,
      maxcpu: cpusOf(guest, cluster.state.nodes.get(guest.node)?.cpus),
      maxmem: maxMemory(guest),
      maxdisk: guest.maxdisk,
      ...figures,
      memhost: guest.kind === 'qemu' ? figures.mem : 0,
      ...config,
    },
  ];
}

function poolRow({ cluster, user }: ApiCall, pool: PoolState): object[] {
  return cluster.access.holds(user, `/pool/${pool.id}`, 'Pool.Audit') ? [{ id: `/pool/${pool.id}`, pool: pool.id, type: 'pool' }] : [];
}

function nodeRow({ cluster, user, node: viewer }: ApiCall, node: NodeState): Record<string, unknown> {
  const online = seesOnline(cluster, viewer, node);
  const bare = { id: `node/${node.name}`, node: node.name, type: 'node', status: online ? 'online' : 'offline' };
  if (isStale(cluster, node)) return bare;
  if (!cluster.access.holds(user, `/nodes/${node.name}`, 'Sys.Audit')) return { ...bare, level: '' };
  const { cpu, mem, disk, uptime } = nodeFigures(cluster, node);
  const limits = { level: '', maxcpu: node.cpus, maxmem: node.memoryBytes, maxdisk: node.diskBytes };
  return online ? { ...bare, ...limits, cpu, mem, disk, uptime } : { ...bare, ...limits };
}

function storageRows({ cluster, user }: ApiCall, storage: StorageState): object[] {
  if (storage.disabled || !cluster.access.holds(user, `/storage/${storage.id}`, 'Datastore.Audit')) return [];
  return [...cluster.state.nodes.values()]
    .filter((node) => storage.nodes?.includes(node.name) ?? true)
    .map((node) => ({
      id: `storage/${node.name}/${storage.id}`,
      storage: storage.id,
      node: node.name,
      type: 'storage',
      plugintype: storage.type,
      shared: storage.shared ? 1 : 0,
      content: storage.content.join(','),
      ...(isStale(cluster, node) ? { status: 'unknown' } : { status: 'available', maxdisk: storage.totalBytes, disk: storage.usedBytes }),
    }));
}

function networkRow({ cluster, user }: ApiCall, node: string): object[] {
  if (!cluster.access.holds(user, '/sdn/zones/localnetwork', 'SDN.Audit')) return [];
  return [
    { id: `network/${node}/zone/localnetwork`, type: 'network', 'network-type': 'zone', network: 'localnetwork', node, status: 'ok' },
  ];
}
