/**
 * A cluster in memory that starts where a live one is: built from what the API's reads return, asked in process, with a clock that stands
 * still until told. Plans are rehearsed on it: a backup of hours takes no time, and nothing leaves the process.
 */

import type { CopyAnswer, LiveGuest, LiveReads, Row } from '#kernel/ports/live-reads';
import type { AclSeed } from './pve/access-control.ts';
import { ApiError } from './pve/api-error.ts';
import { isPage, type Verb } from './pve/api-method.ts';
import { type Cluster, createCluster } from './pve/cluster.ts';
import { dispatch } from './pve/dispatch.ts';
import { namedVolumes } from './pve/drives.ts';
import { configText, typedValue } from './pve/guest-config.ts';
import type { CrmState, HaRequest } from './pve/high-availability.ts';
import { addResource } from './pve/high-availability.ts';
import type { ClusterSeed, ConfigValue, GuestKind, GuestSeed, NodeSeed, SnapshotState, StorageSeed, VolumeSeed } from './pve/state.ts';
import { createManualClock, type ManualClock } from './pve/task-engine.ts';
import { createRandom } from './random.ts';

export interface Twin {
  readonly cluster: Cluster;
  readonly clock: ManualClock;
  /** Asks as the token whose permissions were read. @param path below `/api2/json` */
  ask(verb: Verb, path: string, parameters?: Readonly<Record<string, unknown>>): CopyAnswer;
  /** Lets time pass until no task runs, at most so long. @returns whether none does */
  settle(limitMs?: number): boolean;
}

const actor = 'twin@pve!rehearsal';
const dayMs = 86_400_000;

/** @param now ms since the epoch: the instant of the reads */
export function openTwin(reads: LiveReads, now: number): Twin {
  const clock = createManualClock(now);
  const cluster = createCluster({ seed: twinSeed(reads), clock, random: createRandom(now), taskDurationMs: 1000 });
  for (const node of cluster.state.nodes.values()) node.up = isOnline(reads, node.name);
  cluster.state.quorate = reads.status.find(({ type }) => type === 'cluster')?.['quorate'] !== 0;
  for (const row of reads.ha.filter(({ type }) => type === 'service')) manage(cluster, row);
  cluster.ha.rules.push(...reads.haRules);
  const [first = ''] = cluster.state.nodes.keys();
  const local = text(reads.status.find((row) => row['local'] === 1)?.['name'], first);
  return {
    cluster,
    clock,
    ask: (verb, path, parameters = {}) => answer(cluster, { verb, path, parameters, node: local }),
    settle: (limitMs = dayMs) => settle(cluster, clock, limitMs),
  };
}

interface Asked {
  readonly verb: Verb;
  readonly path: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly node: string;
}

function answer(cluster: Cluster, asked: Asked): CopyAnswer {
  try {
    const result = dispatch(cluster, { ...asked, user: actor, byToken: true });
    return { status: 200, data: isPage(result) ? result.page : result };
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    const refusal = { status: thrown.status, data: thrown.message.trimEnd() };
    return thrown.errors === undefined ? refusal : { ...refusal, errors: thrown.errors };
  }
}

function settle(cluster: Cluster, clock: ManualClock, limitMs: number): boolean {
  const isBusy = () => cluster.tasks.list().some((task) => task.exitstatus === undefined);
  const stepMs = 1000;
  for (let passed = 0; passed < limitMs && isBusy(); passed += stepMs) {
    clock.advance(stepMs);
    cluster.tasks.advance();
  }
  return !isBusy();
}

function isOnline({ status }: LiveReads, node: string): boolean {
  return status.find((row) => row['type'] === 'node' && row['name'] === node)?.['online'] !== 0;
}

/** Rows of HA come as the manager has them. */
function manage(cluster: Cluster, row: Row): void {
  const vmid = Number(String(row['sid']).split(':')[1]);
  const guest = cluster.state.guests.get(vmid);
  if (guest === undefined) return;
  const resource = addResource(cluster.ha, guest);
  resource.state = row['request_state'] as HaRequest | undefined;
  resource.crmState = row['crm_state'] as CrmState | undefined;
  cluster.ha.master ??= guest.node;
}

/** The reads as the emulator's initial state. */
function twinSeed(reads: LiveReads): ClusterSeed {
  const cluster = reads.status.find(({ type }) => type === 'cluster');
  const storages = reads.storages.map((row) => storageSeed(row, reads.resources));
  const guests = reads.guests.flatMap((guest) => guestSeed(guest, reads.resources));
  return {
    ...{ name: text(cluster?.['name'], 'twin'), version: Number(cluster?.['version'] ?? 1) },
    nodes: reads.resources.filter(({ type }) => type === 'node').map((row, index) => nodeSeed(row, reads.status, index)),
    ...{ guests, storages, volumes: volumeSeeds(reads, guests, storages), tasks: [] },
    pools: reads.pools.map(poolSeed),
    options: Object.fromEntries(Object.entries(reads.options).filter(([name]) => name !== 'allowed-tags')),
    backupJobs: reads.backupJobs.map(jobSeed),
    access: accessSeed(reads.permissions),
  };
}

function text(value: unknown, otherwise = ''): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise;
}

function nodeSeed(row: Row, status: readonly Row[], index: number): NodeSeed {
  const name = text(row['node']);
  const member = status.find((one) => one['type'] === 'node' && one['name'] === name);
  return {
    ...{ name, nodeid: Number(member?.['nodeid'] ?? index + 1), ip: text(member?.['ip'], '127.0.0.1') },
    ...{ cpus: Number(row['maxcpu'] ?? 1), memoryBytes: Number(row['maxmem'] ?? 0), diskBytes: Number(row['maxdisk'] ?? 0) },
    ...{ diskUsedBytes: Number(row['disk'] ?? 0), uptimeSeconds: Number(row['uptime'] ?? 0) },
  };
}

function storageSeed(row: Row, resources: readonly Row[]): StorageSeed {
  const id = text(row['storage']);
  const figures = resources.find((one) => one['type'] === 'storage' && one['storage'] === id && one['maxdisk'] !== undefined);
  const type = text(row['type']);
  const nodes = row['nodes'] === undefined ? {} : { nodes: text(row['nodes']).split(',') };
  return {
    ...{
      id,
      type,
      content: text(row['content'])
        .split(',')
        .filter((one) => one !== ''),
      ...nodes,
    },
    ...{ totalBytes: Number(figures?.['maxdisk'] ?? 1024 ** 4), usedBytes: Number(figures?.['disk'] ?? 0) },
    ...{ shared: row['shared'] === 1 || figures?.['shared'] === 1, disabled: row['disable'] === 1 },
    options: Object.fromEntries(Object.entries(row).map(([key, value]) => [key, text(value)])),
  };
}

/** A guest that is in no resource row was gone when its configuration was read. */
function guestSeed(guest: LiveGuest, resources: readonly Row[]): GuestSeed[] {
  const row = resources.find((one) => Number(one['vmid']) === guest.vmid);
  if (row === undefined) return [];
  const kind: GuestKind = row['type'] === 'lxc' ? 'lxc' : 'qemu';
  const config = valuesOf(kind, guest.config);
  const snapshots = snapshotsOf(kind, guest, config);
  const pending = pendingOf(kind, guest.pending ?? []);
  const written = configText({ kind, config, pending, snapshots });
  return [
    {
      ...{
        vmid: guest.vmid,
        kind,
        node: text(row['node']),
        running: row['status'] === 'running',
        paused: guest.paused === true,
        snapshots,
      },
      ...{ config: Object.fromEntries(config), pending: Object.fromEntries(pending) },
      origin: { digest: text(guest.config['digest']), text: written },
    },
  ];
}

function valuesOf(kind: GuestKind, row: Row): Map<string, ConfigValue> {
  const pairs = Object.entries(row).filter(([key, value]) => key !== 'digest' && typeof value !== 'object');
  return new Map(pairs.map(([key, value]) => [key, typedValue(kind, key, text(value))]));
}

function pendingOf(kind: GuestKind, rows: readonly Row[]): Map<string, ConfigValue | null> {
  return new Map(
    rows.flatMap((row): [string, ConfigValue | null][] => {
      const key = text(row['key']);
      if (row['delete'] !== undefined) return [[key, null]];
      return row['pending'] === undefined ? [] : [[key, typedValue(kind, key, text(row['pending']))]];
    }),
  );
}

/** The row `current` is no snapshot: it says which one the guest stands on, which the configuration says as well. */
function snapshotsOf(
  kind: GuestKind,
  { snapshots, snapshotConfigs = {} }: LiveGuest,
  config: ReadonlyMap<string, ConfigValue>,
): SnapshotState[] {
  return snapshots
    .filter(({ name }) => name !== 'current')
    .map((row) => {
      const name = text(row['name']);
      const known = snapshotConfigs[name];
      const saved = known === undefined ? new Map(config) : valuesOf(kind, known);
      for (const key of ['description', 'parent', 'snaptime', ...(known === undefined ? ['lock'] : [])]) saved.delete(key);
      const parent = row['parent'] === undefined ? undefined : text(row['parent']);
      return {
        name,
        description: text(row['description']).replace(/\n$/, ''),
        parent,
        snaptime: Number(row['snaptime'] ?? 0),
        config: saved,
      };
    });
}

/** What was listed, and what the configurations name besides. */
function volumeSeeds({ volumes }: LiveReads, guests: readonly GuestSeed[], storages: readonly StorageSeed[]): VolumeSeed[] {
  const shared = new Set(storages.filter((one) => one.shared === true).map(({ id }) => id));
  const listed = volumes.map((row): VolumeSeed => {
    const { node, ...rest } = row;
    const storage = text(row['volid']).split(':', 1)[0] ?? '';
    return {
      ...(rest as unknown as VolumeSeed),
      protected: row['protected'] === 1,
      ...(node === undefined || shared.has(storage) ? {} : { node }),
    };
  });
  const known = new Set(listed.map(({ volid }) => volid));
  const named = guests.flatMap((guest) =>
    namedVolumes({ ...guest, config: new Map(Object.entries(guest.config)) }, (storage) => shared.has(storage)),
  );
  return [...listed, ...named.filter(({ volid }) => !known.has(volid))];
}

function poolSeed(row: Row) {
  const members = (row['members'] ?? []) as readonly Row[];
  return {
    id: text(row['poolid']),
    ...(row['comment'] === undefined ? {} : { comment: text(row['comment']) }),
    guests: members.flatMap((one) => (one['vmid'] === undefined ? [] : [Number(one['vmid'])])),
    storages: members.flatMap((one) => (one['type'] === 'storage' ? [text(one['storage'])] : [])),
  };
}

/** Retention is shown as an object. */
function jobSeed(row: Row): Readonly<Record<string, ConfigValue>> {
  const pairs = Object.entries(row).filter(([key]) => key !== 'next-run' && key !== 'type');
  const joined = (value: object) =>
    Object.entries(value)
      .map(([key, one]) => `${key}=${text(one)}`)
      .join(',');
  return Object.fromEntries(
    pairs.map(([key, value]) => [key, typeof value === 'object' && value !== null ? joined(value) : (value as ConfigValue)]),
  );
}

/** One role a path, and another one for what does not go further down. */
function accessSeed(permissions: LiveReads['permissions']): AclSeed {
  const roles: Record<string, string[]> = {};
  const entries = Object.entries(permissions).flatMap(([path, privileges]) =>
    [true, false].flatMap((propagate) => {
      const names = Object.keys(privileges).filter((name) => (privileges[name] === 1) === propagate);
      const role = `${path} ${propagate ? 'and below' : 'only'}`;
      roles[role] = names;
      return names.length === 0 ? [] : [{ path, subject: 'twin@pve', role, propagate }];
    }),
  );
  return { users: { 'twin@pve': undefined }, tokens: [{ id: actor, secret: '', privsep: false }], roles, entries };
}
