/** A whole cluster as data: the demo's initial state, and what tests hand in to build their own. */
import type { AclSeed } from './access-control.ts';
import type {
  ClusterState,
  ConfigValue,
  GuestKind,
  GuestState,
  NodeState,
  PoolState,
  ServiceState,
  SnapshotState,
  StorageState,
  ThermalZone,
  VolumeState,
} from './state.ts';

export interface ServiceSeed {
  readonly name: string;
  readonly description: string;
  readonly listed?: boolean;
  readonly unitState?: ServiceState['unitState'];
  readonly active?: ServiceState['active'];
  readonly startError?: string;
}

export interface NodeSeed {
  readonly name: string;
  readonly nodeid: number;
  readonly ip: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly diskUsedBytes: number;
  readonly uptimeSeconds: number;
  readonly services?: readonly ServiceSeed[];
  readonly thermalZones?: readonly ThermalZone[];
  readonly config?: Readonly<Record<string, string>>;
  /** False: the node keeps no journal. */
  readonly journal?: boolean;
}

export interface GuestSeed {
  readonly vmid: number;
  readonly kind: GuestKind;
  readonly node: string;
  readonly running?: boolean;
  readonly config: Readonly<Record<string, ConfigValue>>;
  readonly maxdisk?: number;
  readonly agentAnswers?: boolean;
  readonly obeysShutdown?: boolean;
  readonly startLog?: readonly string[];
  readonly snapshots?: readonly SnapshotState[];
  /** ms since the epoch; default: long ago. */
  readonly createdAt?: number;
}

export interface StorageSeed {
  readonly id: string;
  readonly type: string;
  readonly content: readonly string[];
  readonly shared?: boolean;
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly nodes?: readonly string[];
  readonly disabled?: boolean;
  /** The section of `storage.cfg`, for what is only shown. */
  readonly options?: Readonly<Record<string, string>>;
}

export interface VolumeSeed {
  readonly volid: string;
  readonly node?: string;
  readonly content: string;
  readonly format: string;
  readonly size: number;
  /** Seconds since the epoch. */
  readonly ctime: number;
  readonly vmid?: number;
  readonly subtype?: GuestKind;
  readonly notes?: string;
  readonly protected?: boolean;
  /** Of an image: bytes on disk, and the volume it was cloned from. */
  readonly used?: number;
  readonly parent?: string | null;
}

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
  return {
    name: seed.name,
    description: seed.description,
    listed: seed.listed ?? false,
    unitState: seed.unitState ?? 'enabled',
    active: seed.active ?? 'active',
    startError: seed.startError,
    since,
  };
}

function buildGuest(seed: GuestSeed, index: number, now: number): GuestState {
  return {
    vmid: seed.vmid,
    kind: seed.kind,
    node: seed.node,
    config: new Map(Object.entries(seed.config)),
    snapshots: [...(seed.snapshots ?? [])],
    maxdisk: seed.maxdisk ?? 0,
    agentAnswers: seed.agentAnswers ?? false,
    obeysShutdown: seed.obeysShutdown ?? true,
    startLog: seed.startLog ?? [],
    running: seed.running ?? false,
    paused: false,
    startedAt: now - runningForMs,
    createdAt: seed.createdAt ?? 0,
    pid: 1400 + index * 17,
  };
}

function buildPool({ id, comment, guests, storages = [] }: PoolSeed): PoolState {
  return { id, comment, guests: new Set(guests), storages: new Set(storages) };
}

function buildStorage(seed: StorageSeed): StorageState {
  return { ...seed, shared: seed.shared ?? false, nodes: seed.nodes, disabled: seed.disabled ?? false, options: seed.options ?? {} };
}

function buildVolume(seed: VolumeSeed): VolumeState {
  return {
    ...seed,
    storage: seed.volid.split(':', 1)[0] ?? '',
    node: seed.node,
    vmid: seed.vmid,
    subtype: seed.subtype,
    notes: seed.notes,
    protected: seed.protected ?? false,
    used: seed.used,
    parent: seed.parent,
  };
}
