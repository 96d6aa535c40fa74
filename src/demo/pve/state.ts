/** What the demo cluster is made of. Plain mutable records: the API, the task engine and the ssh nodes all look at the same ones. */
import type { AclSeed } from './access-control.ts';

export type GuestKind = 'qemu' | 'lxc';
export type ConfigValue = string | number;

/** A systemd unit of a node. */
export interface ServiceState {
  readonly name: string;
  readonly description: string;
  /** Whether the API's service list knows it (a PVE unit); others are seen over ssh only. */
  readonly listed: boolean;
  /** `not-found`: not installed. */
  unitState: 'enabled' | 'disabled' | 'static' | 'masked' | 'not-found';
  active: 'active' | 'inactive' | 'failed';
  /** Why each start fails; undefined: it starts. */
  startError: string | undefined;
  /** Milliseconds since the epoch of the last change. */
  since: number;
}

export interface ThermalZone {
  readonly zone: number;
  readonly type: string;
  /** Millidegrees Celsius, as the kernel gives them. */
  readonly millidegrees: number;
}

export interface NodeState {
  readonly name: string;
  readonly nodeid: number;
  readonly ip: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly diskUsedBytes: number;
  readonly services: Map<string, ServiceState>;
  readonly thermalZones: readonly ThermalZone[];
  readonly journal: boolean;
  /** `/etc/pve/nodes/{node}/config`: `wakeonlan`, `description`. */
  readonly config: Map<string, string>;
  bootedAt: number;
  up: boolean;
  /** Whether its `pveproxy` runs. Without it the node lives on and nobody can ask it. */
  proxyUp: boolean;
  /** What the others get who try to reach it while it is down. */
  unreachable: 'Connection refused' | 'No route to host';
  /** Since when it does not answer; undefined while it does. */
  downSince: number | undefined;
}

export interface SnapshotState {
  readonly name: string;
  readonly description: string;
  readonly parent: string | undefined;
  /** Seconds since the epoch. */
  readonly snaptime: number;
  /** The configuration as it was; `vmstate` in it: the volume that holds the RAM. */
  readonly config: ReadonlyMap<string, ConfigValue>;
}

export interface GuestState {
  readonly vmid: number;
  readonly kind: GuestKind;
  /** What `…/config` answers, without the digest. `name` or `hostname`, `memory`, `cores`, `tags`, `lock`, `template`, `agent`, … */
  readonly config: Map<string, ConfigValue>;
  /** Changes that a running guest takes over later. Null: the option goes then. */
  readonly pending: Map<string, ConfigValue | null>;
  readonly snapshots: SnapshotState[];
  /** The digest that it came with, and the configuration that this was of; undefined: made here. */
  readonly origin: { readonly digest: string; readonly text: string } | undefined;
  /** Whether something in the guest answers the agent's pings (only asked when `agent` is configured). */
  readonly agentAnswers: boolean;
  /** Whether a clean shutdown request is obeyed. */
  obeysShutdown: boolean;
  /** Lines that each start prints in its task log. */
  readonly startLog: readonly string[];
  node: string;
  running: boolean;
  /** Of a VM that runs: its processors stand still. */
  paused: boolean;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Milliseconds since the epoch: a node that went down before has never told anything of the guest. */
  readonly createdAt: number;
  pid: number;
}

export interface StorageState {
  readonly id: string;
  readonly type: string;
  /** Content types, in the order the configuration gives them. */
  readonly content: readonly string[];
  readonly shared: boolean;
  readonly totalBytes: number;
  readonly usedBytes: number;
  /** Nodes that have it; undefined: all. */
  readonly nodes: readonly string[] | undefined;
  readonly disabled: boolean;
  readonly options: Readonly<Record<string, string>>;
}

export interface VolumeState {
  /** Of a backup: the configuration file in it. */
  readonly archived?: string | undefined;
  readonly storage: string;
  /** The node whose disk holds it; undefined for a shared storage. */
  readonly node: string | undefined;
  readonly volid: string;
  readonly content: string;
  readonly format: string;
  readonly size: number;
  readonly ctime: number;
  readonly vmid: number | undefined;
  readonly subtype: GuestKind | undefined;
  readonly notes: string | undefined;
  readonly protected: boolean;
  readonly used: number | undefined;
  readonly parent: string | null | undefined;
}

/** Guests and storages under one name; rights on `/pool/{id}` count for its members. */
export interface PoolState {
  readonly id: string;
  readonly comment: string | undefined;
  readonly guests: ReadonlySet<number>;
  readonly storages: ReadonlySet<string>;
}

/** Options of a backup job by name, its `id` among them. */
export type BackupJobState = Map<string, ConfigValue>;

/** A guest's own rules, in their order, and options. */
export interface FirewallState {
  readonly rules: readonly Map<string, ConfigValue>[];
  readonly options: ReadonlyMap<string, ConfigValue>;
}

export interface ClusterState {
  readonly name: string;
  readonly version: number;
  readonly nodes: Map<string, NodeState>;
  readonly guests: Map<number, GuestState>;
  readonly storages: Map<string, StorageState>;
  readonly volumes: VolumeState[];
  readonly pools: Map<string, PoolState>;
  readonly options: Map<string, unknown>;
  readonly backupJobs: Map<string, BackupJobState>;
  readonly firewalls: Map<number, FirewallState>;
  /** Nodes where a backup job has the node's one lock. */
  readonly backupsRunning: Set<string>;
  /** Whether a majority of the nodes see each other; without it the configuration is read-only and the others look offline. */
  quorate: boolean;
}

/** The guest's display name: `name` of a VM, `hostname` of a container. */
export function guestName(guest: GuestState): string {
  const configured = guest.config.get(guest.kind === 'qemu' ? 'name' : 'hostname');
  if (configured !== undefined) return String(configured);
  return guest.kind === 'qemu' ? `VM ${guest.vmid}` : `CT${guest.vmid}`;
}

export function isTemplate(guest: GuestState): boolean {
  return guest.config.get('template') === 1;
}

export function lockOf(guest: GuestState): string | undefined {
  const lock = guest.config.get('lock');
  return lock === undefined ? undefined : String(lock);
}

/** The pool that a guest belongs to. */
export function poolOfGuest(state: ClusterState, vmid: number): string | undefined {
  for (const pool of state.pools.values()) if (pool.guests.has(vmid)) return pool.id;
  return undefined;
}

/** ACL paths of a pool's members. */
export function memberPaths({ guests, storages }: PoolState): string[] {
  return [...[...guests].map((vmid) => `/vms/${vmid}`), ...[...storages].map((storage) => `/storage/${storage}`)];
}

/** The guest of that kind whose configuration file lies on that node. */
export function guestOn(state: ClusterState, kind: GuestKind, node: string, vmid: number): GuestState | undefined {
  const guest = state.guests.get(vmid);
  return guest?.kind === kind && guest.node === node ? guest : undefined;
}

/** A record with what must be given; the rest has defaults. */
type Given<State, Required extends keyof State> = Pick<State, Required> & Partial<Omit<State, Required>>;

export type ServiceSeed = Given<Omit<ServiceState, 'since'>, 'name' | 'description'>;

type NodeFacts = 'name' | 'nodeid' | 'ip' | 'cpus' | 'memoryBytes' | 'diskBytes' | 'diskUsedBytes';

export interface NodeSeed extends Pick<NodeState, NodeFacts>, Partial<Pick<NodeState, 'thermalZones' | 'journal'>> {
  readonly uptimeSeconds: number;
  readonly services?: readonly ServiceSeed[];
  readonly config?: Readonly<Record<string, string>>;
}

type GuestDefaults = 'running' | 'paused' | 'origin' | 'agentAnswers' | 'obeysShutdown' | 'startLog' | 'createdAt';

export interface GuestSeed extends Pick<GuestState, 'vmid' | 'kind' | 'node'>, Partial<Pick<GuestState, GuestDefaults>> {
  readonly config: Readonly<Record<string, ConfigValue>>;
  readonly pending?: Readonly<Record<string, ConfigValue | null>>;
  readonly snapshots?: readonly SnapshotState[];
}

export type StorageSeed = Given<StorageState, 'id' | 'type' | 'content' | 'totalBytes' | 'usedBytes'>;

export type VolumeSeed = Given<Omit<VolumeState, 'storage'>, 'volid' | 'content' | 'format' | 'size' | 'ctime'>;

/** A finished task of before the demo started. */
export interface TaskSeed {
  readonly node: string;
  readonly type: string;
  readonly id: string;
  /** Full name of who started it, a token as `user@realm!name`. */
  readonly user: string;
  readonly startedSecondsAgo: number;
  readonly seconds: number;
  readonly status: string;
  readonly log?: readonly string[];
}

export interface PoolSeed {
  readonly id: string;
  readonly comment?: string;
  readonly guests: readonly number[];
  readonly storages?: readonly string[];
}

export interface ClusterSeed {
  readonly name: string;
  readonly version: number;
  readonly nodes: readonly NodeSeed[];
  readonly guests: readonly GuestSeed[];
  readonly storages: readonly StorageSeed[];
  readonly volumes: readonly VolumeSeed[];
  readonly pools?: readonly PoolSeed[];
  /** `datacenter.cfg`. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly backupJobs?: readonly Readonly<Record<string, ConfigValue>>[];
  readonly tasks: readonly TaskSeed[];
  readonly access: AclSeed;
}

const runningForMs = 3 * 3_600_000;

/** Builds the mutable state. @param now milliseconds since the epoch */
export function buildState(seed: ClusterSeed, now: number): ClusterState {
  return {
    name: seed.name,
    version: seed.version,
    nodes: new Map(seed.nodes.map((node) => [node.name, buildNode(node, now)])),
    guests: new Map(seed.guests.map((guest, index) => [guest.vmid, buildGuest(guest, index, now)])),
    storages: new Map(seed.storages.map((storage) => [storage.id, buildStorage(storage)])),
    volumes: seed.volumes.map(buildVolume),
    options: new Map(Object.entries(seed.options ?? {})),
    pools: new Map((seed.pools ?? []).map((pool) => [pool.id, buildPool(pool)])),
    backupJobs: new Map((seed.backupJobs ?? []).map((job) => [String(job['id']), new Map(Object.entries(job))])),
    firewalls: new Map(),
    backupsRunning: new Set(),
    quorate: true,
  };
}

function buildNode(seed: NodeSeed, now: number): NodeState {
  const bootedAt = now - seed.uptimeSeconds * 1000;
  const { services = [], thermalZones = [], config = {}, journal = true, uptimeSeconds: _, ...facts } = seed;
  return {
    ...facts,
    services: new Map(services.map((service) => [service.name, buildService(service, bootedAt)])),
    thermalZones,
    journal,
    config: new Map(Object.entries(config)),
    bootedAt,
    up: true,
    proxyUp: true,
    unreachable: 'Connection refused',
    downSince: undefined,
  };
}

function buildService(seed: ServiceSeed, since: number): ServiceState {
  return { listed: false, unitState: 'enabled', active: 'active', startError: undefined, ...seed, since };
}

function buildGuest(seed: GuestSeed, index: number, now: number): GuestState {
  return {
    ...{ origin: undefined, agentAnswers: false, obeysShutdown: true, startLog: [], running: false, paused: false, createdAt: 0 },
    ...seed,
    config: new Map(Object.entries(seed.config)),
    pending: new Map(Object.entries(seed.pending ?? {})),
    snapshots: [...(seed.snapshots ?? [])],
    startedAt: now - runningForMs,
    pid: 1400 + index * 17,
  };
}

function buildPool({ id, comment, guests, storages = [] }: PoolSeed): PoolState {
  return { id, comment, guests: new Set(guests), storages: new Set(storages) };
}

function buildStorage(seed: StorageSeed): StorageState {
  return { shared: false, nodes: undefined, disabled: false, options: {}, ...seed };
}

function buildVolume(seed: VolumeSeed): VolumeState {
  const unset = { node: undefined, vmid: undefined, subtype: undefined, notes: undefined, used: undefined, parent: undefined };
  return { ...unset, protected: false, ...seed, storage: seed.volid.split(':', 1)[0] ?? '' };
}
