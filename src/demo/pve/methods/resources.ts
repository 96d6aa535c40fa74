/** `/cluster/resources`, `/nodes` and the graphs of nodes, guests and storage: rows that the caller may not see are left out, never refused. */

import { failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, on, type Permission, route, text } from '../api-method.ts';
import { type Cluster, seesOnline } from '../cluster.ts';
import { cpusOf, given, guestFigures, maxMemory, nodeFigures } from '../figures.ts';
import { maxDisk } from '../guest-config.ts';
import { haStateOf } from '../high-availability.ts';
import type { ParameterSpecs } from '../parameter.ts';
import {
  type GuestKind,
  type GuestState,
  guestName,
  isTemplate,
  lockOf,
  type NodeState,
  type PoolState,
  poolOfGuest,
  type StorageState,
} from '../state.ts';
import { readStorage } from './storage.ts';

/** What is in a guest's row only where it has it. */
function extras({ ha, access, state }: Cluster, user: string, guest: GuestState): object {
  return given({
    lock: lockOf(guest),
    tags: guest.config.get('tags'),
    pool: visiblePool({ access, state }, user, guest),
    hastate: haStateOf(ha, guest),
  });
}

function visiblePool({ access, state }: Pick<Cluster, 'access' | 'state'>, user: string, { vmid }: GuestState): string | undefined {
  const pool = poolOfGuest(state, vmid);
  return pool !== undefined && access.holds(user, `/pool/${pool}`, 'Pool.Audit') ? pool : undefined;
}

export const resourceMethods: readonly ApiMethod[] = [
  route('GET /cluster/resources', 'all', resources, {
    unordered: true,
    parameters: { type: { ...text, enum: ['vm', 'storage', 'node', 'sdn'] } },
  }),
  route('GET /nodes', 'all', nodes, { unordered: true }),
];

function resources(call: ApiCall): unknown {
  const type = call.parameters.text('type');
  const wants = (one: string) => type === undefined || type === one;
  const { state } = call.cluster;
  return [
    ...(type === undefined ? [...state.pools.values()].flatMap((pool) => poolRow(call, pool)) : []),
    ...(wants('vm') ? [...state.guests.values()].flatMap((guest) => guestRow(call, guest)) : []),
    ...(wants('node') ? [...state.nodes.values()].map((node) => ({ ...nodeRow(call, node), ...nodeExtras(call, node) })) : []),
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
  const config = extras(cluster, user, guest);
  const identity = { id: `${guest.kind}/${guest.vmid}`, vmid: guest.vmid, node: guest.node, type: guest.kind };
  const node = cluster.state.nodes.get(guest.node);
  const neverSeen = node?.downSince !== undefined && guest.createdAt >= node.downSince;
  if (neverSeen || isStale(cluster, node)) return [{ ...identity, status: 'unknown', ...config }];
  return [{ ...guestMember(cluster, guest), ...config }];
}

/** A guest's row without what only the whole list has: lock, tags, pool, HA. */
export function guestMember(cluster: Cluster, guest: GuestState): object {
  const figures = guestFigures(cluster, guest);
  return {
    ...{ id: `${guest.kind}/${guest.vmid}`, vmid: guest.vmid, node: guest.node, type: guest.kind, name: guestName(guest) },
    ...{ status: guest.running ? 'running' : 'stopped', template: isTemplate(guest) ? 1 : 0 },
    ...{ maxcpu: cpusOf(guest, cluster.state.nodes.get(guest.node)?.cpus), maxmem: maxMemory(guest), maxdisk: maxDisk(guest) },
    ...figures,
    memhost: guest.kind === 'qemu' ? figures.mem : 0,
  };
}

/** A storage as the node that was asked sees it, or the first that has it. */
export function storageMember({ cluster, node }: ApiCall, id: string): object[] {
  const storage = cluster.state.storages.get(id);
  if (storage === undefined) return [];
  const viewer = storage.nodes === undefined || storage.nodes.includes(node) ? node : ([...storage.nodes].sort()[0] ?? node);
  return [storageRow(cluster, storage, viewer)];
}

function poolRow({ cluster, user }: ApiCall, pool: PoolState): object[] {
  if (!cluster.access.holds(user, `/pool/${pool.id}`, 'Pool.Audit')) return [];
  return [{ id: `/pool/${pool.id}`, pool: pool.id, type: 'pool', ...poolFigures(cluster, pool) }];
}

/** Sums over the members that run; a pool where nothing does has none. */
function poolFigures(cluster: Cluster, pool: PoolState): object {
  const running = [...pool.guests].flatMap((vmid) => cluster.state.guests.get(vmid) ?? []).filter((guest) => guest.running);
  if (running.length === 0) return {};
  const figures = running.map((guest) => {
    const maxcpu = cpusOf(guest, cluster.state.nodes.get(guest.node)?.cpus);
    return { ...guestFigures(cluster, guest), maxcpu, maxmem: maxMemory(guest) };
  });
  const sum = (of: (one: (typeof figures)[number]) => number) => figures.reduce((total, one) => total + of(one), 0);
  const maxcpu = sum((one) => one.maxcpu);
  const cpu = sum((one) => one.cpu * one.maxcpu) / maxcpu;
  return {
    uptime: Math.max(...figures.map((one) => one.uptime)),
    mem: sum((one) => one.mem),
    maxmem: sum((one) => one.maxmem),
    cpu,
    maxcpu,
  };
}

/** Once an HA manager has looked, each node's row has its view of it. */
function nodeExtras({ cluster, node: viewer }: ApiCall, node: NodeState): object {
  const hastate = cluster.ha.master === undefined ? {} : { hastate: seesOnline(cluster, viewer, node) ? 'online' : 'unknown' };
  return { 'cgroup-mode': 2, ...hastate };
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
  const holders = [...cluster.state.nodes.keys()].filter((node) => storage.nodes?.includes(node) ?? true);
  return holders.map((node) => storageRow(cluster, storage, node));
}

function storageRow(cluster: Cluster, storage: StorageState, node: string): object {
  return {
    ...{ id: `storage/${node}/${storage.id}`, storage: storage.id, node, type: 'storage', plugintype: storage.type },
    ...{ shared: storage.shared ? 1 : 0, content: storage.content.join(',') },
    ...(isStale(cluster, cluster.state.nodes.get(node))
      ? { status: 'unknown' }
      : { status: 'available', maxdisk: storage.totalBytes, disk: storage.usedBytes }),
  };
}

function networkRow({ cluster, user }: ApiCall, node: string): object[] {
  if (!cluster.access.holds(user, '/sdn/zones/localnetwork', 'SDN.Audit')) return [];
  return [
    { id: `network/${node}/zone/localnetwork`, type: 'network', 'network-type': 'zone', network: 'localnetwork', node, status: 'ok' },
  ];
}

/** Seconds between two rows, and how many there are. */
const frames: Readonly<Record<string, readonly [step: number, rows: number]>> = {
  hour: [60, 60],
  day: [60, 1440],
  week: [1800, 336],
  month: [1800, 1440],
  year: [21_600, 1439],
  decade: [604_800, 569],
};
const shorter = ['hour', 'day', 'week', 'month', 'year'];

function graphParameters(timeframes: readonly string[]): ParameterSpecs {
  return { timeframe: { type: 'string', enum: timeframes }, cf: { ...text, enum: ['AVERAGE', 'MAX'] } };
}

function method(path: string, permission: Permission, run: (call: ApiCall) => unknown, timeframes = shorter): ApiMethod {
  return route(`GET ${path}/rrddata`, permission, run, { proxied: path.includes('{storage}'), parameters: graphParameters(timeframes) });
}

export const graphMethods: readonly ApiMethod[] = [
  method('/nodes/{node}', on('/nodes/{node}', 'Sys.Audit'), ofNode, [...shorter, 'decade']),
  method('/nodes/{node}/storage/{storage}', readStorage, ofStorage),
  ...(['qemu', 'lxc'] as const).map((kind) =>
    method(`/nodes/{node}/${kind}/{vmid}`, on('/vms/{vmid}', 'VM.Audit'), (call) => ofGuest(call, kind)),
  ),
];

/** @param figures at a time in seconds; undefined: it did not run then */
function series({ cluster, parameters }: ApiCall, figures: (time: number) => object | undefined): object[] {
  const [step, rows] = frames[parameters.text('timeframe') ?? 'hour'] ?? [60, 60];
  const last = Math.floor(cluster.clock.now() / 1000 / step) * step;
  return Array.from({ length: rows }, (_, index) => {
    const time = last - (rows - 1 - index) * step;
    return { time, ...figures(time) };
  });
}

function ofNode(call: ApiCall): unknown {
  const node = call.cluster.state.nodes.get(call.parameters.text('node') ?? '');
  if (node === undefined) return [];
  return series(call, (time) => {
    if (time * 1000 < node.bootedAt) return undefined;
    const cpu = 0.04 + 0.2 * call.cluster.random.stable('rrd', node.name, time);
    const memused = node.memoryBytes * 0.32;
    return {
      ...{ cpu, maxcpu: node.cpus, loadavg: cpu * node.cpus, iowait: 0, netin: 900, netout: 700, arcsize: 0 },
      ...{ memtotal: node.memoryBytes, memused, memavailable: node.memoryBytes - memused, swaptotal: 0, swapused: 0 },
      ...{ roottotal: node.diskBytes, rootused: node.diskUsedBytes },
      ...{ pressurecpusome: 0, pressureiosome: 0, pressureiofull: 0, pressurememorysome: 0, pressurememoryfull: 0 },
    };
  });
}

function ofStorage(call: ApiCall): unknown {
  const storage = call.cluster.state.storages.get(call.parameters.text('storage') ?? '');
  if (storage === undefined) throw missing(`pve-storage-9.0/${call.node}/${call.parameters.text('storage')}`);
  return series(call, () => ({ total: storage.totalBytes, used: storage.usedBytes }));
}

function ofGuest(call: ApiCall, kind: GuestKind): unknown {
  const { cluster } = call;
  const guest = cluster.state.guests.get(call.parameters.integer('vmid') ?? 0);
  if (guest?.kind !== kind) throw missing(`pve-vm-9.0/${call.parameters.text('vmid')}`);
  return series(call, (time) => {
    if (!guest.running || time * 1000 < guest.startedAt) return undefined;
    const cpu = 0.01 + 0.15 * cluster.random.stable('rrd', guest.vmid, time);
    return {
      ...{ cpu, maxcpu: cpusOf(guest, cluster.state.nodes.get(guest.node)?.cpus), mem: maxMemory(guest) * 0.4, maxmem: maxMemory(guest) },
      ...{ disk: 0, maxdisk: maxDisk(guest), netin: 0, netout: 0, diskread: 0, diskwrite: 0 },
    };
  });
}

function missing(file: string) {
  return failed(`RRD error: opening '/var/lib/rrdcached/db/${file}': No such file or directory`);
}
