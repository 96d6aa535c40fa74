/** Clusters that nobody thought up: nodes, storages, guests, pools, tags, locks, snapshots and high availability by a seed. */

import type { ClusterSeed } from '#demo/index';
import { administratorPrivileges } from '#demo/initial-state';
import type { GuestSeed, SnapshotState, StorageSeed } from '#demo/pve/state';
import { createRandom, type Random } from '#demo/random';
import { manageGuest, startWorld, type World } from '../app/support.ts';

const gib = 2 ** 30;

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
const chance = (random: Random, share: number) => random.next() < share;
const upTo = (random: Random, most: number) => Math.floor(random.next() * (most + 1));
const some = <T>(random: Random, list: readonly T[]) => list.filter(() => chance(random, 0.4));

/** One to 60 nodes, mostly few. */
export function randomCluster(seed: number): ClusterSeed {
  const random = createRandom(seed);
  const nodes = Array.from({ length: 1 + Math.floor(59.99 * random.next() ** 4) }, (_, index) => node(random, index));
  const storages = storagesOf(
    random,
    nodes.map(({ name }) => name),
  );
  const guests = Array.from({ length: 4 + upTo(random, 4 + Math.min(nodes.length, 20)) }, (_, index) =>
    guest(random, 100 + index * (1 + upTo(random, 3)) + index * 4, { node: pick(random, nodes).name, storages }),
  );
  const names = some(random, ['prod', 'staging', 'lab']);
  const home = new Map(guests.map(({ vmid }) => [vmid, chance(random, 0.5) ? pick(random, names) : undefined]));
  return {
    ...{ name: `twin${seed % 1000}`, version: nodes.length, nodes, storages, guests, volumes: [], tasks: [] },
    pools: names.map((id) => ({ id, guests: guests.flatMap(({ vmid }) => (home.get(vmid) === id ? [vmid] : [])) })),
    access: {
      users: { 'root@pam': undefined, 'ops@pve': undefined },
      roles: { Administrator: administratorPrivileges },
      tokens: [{ id: 'ops@pve!banksman', secret: '5b0f4f0e-74d8-4f0e-9f0a-1c3a3f1d7a11', privsep: false }],
      entries: [{ path: '/', subject: 'ops@pve', role: 'Administrator' }],
    },
  };
}

function node(random: Random, index: number): ClusterSeed['nodes'][number] {
  return {
    ...{
      name: `n${index + 1}`,
      nodeid: index + 1,
      ip: `10.1.${Math.floor(index / 200)}.${(index % 200) + 10}`,
      cpus: 2 + upTo(random, 30),
    },
    ...{
      memoryBytes: (8 + upTo(random, 120)) * gib,
      diskBytes: 200 * gib,
      diskUsedBytes: 20 * gib,
      uptimeSeconds: 3_600 * (1 + upTo(random, 900)),
    },
  };
}

function storagesOf(random: Random, nodes: readonly string[]): readonly StorageSeed[] {
  const room = () => ({ totalBytes: 4_000 * gib, usedBytes: upTo(random, 900) * gib });
  const limited = some(random, nodes);
  return [
    { id: 'local', type: 'dir', content: ['iso', 'vztmpl', 'backup', ...(chance(random, 0.3) ? ['images', 'rootdir'] : [])], ...room() },
    { id: 'local-lvm', type: 'lvmthin', content: ['images', 'rootdir'], ...room() },
    { id: 'nas', type: 'nfs', content: ['backup', ...(chance(random, 0.5) ? ['images', 'rootdir'] : [])], shared: true, ...room() },
    ...(chance(random, 0.5) ? [{ id: 'ceph', type: 'rbd', content: ['images', 'rootdir'], shared: true, ...room() }] : []),
    ...(limited.length > 0 ? [{ id: 'fast', type: 'lvmthin', content: ['images', 'rootdir'], nodes: limited, ...room() }] : []),
  ];
}

interface Place {
  readonly node: string;
  readonly storages: readonly StorageSeed[];
}

function guest(random: Random, vmid: number, place: Place): GuestSeed {
  const kind = chance(random, 0.6) ? 'qemu' : 'lxc';
  const config = {
    ...(kind === 'qemu' ? machine(vmid) : container(vmid)),
    ...disks(random, { kind, vmid }, place),
    ...manners(random, vmid),
  };
  const base = { vmid, kind, node: place.node } as const;
  if (chance(random, 0.05)) return { ...base, config: { ...config, template: 1 } };
  const kept = snapshots(random, config);
  const [last] = kept.slice(-1);
  const standing = last === undefined ? {} : { parent: last.name };
  return { ...base, running: chance(random, 0.6), snapshots: kept, config: { ...config, ...standing } };
}

function disks(random: Random, { kind, vmid }: Pick<Volume, 'kind' | 'vmid'>, { node: at, storages }: Place): GuestSeed['config'] {
  const content = kind === 'qemu' ? 'images' : 'rootdir';
  const there = storages.filter((one) => one.content.includes(content) && one.nodes?.includes(at) !== false);
  const disk = (index: number) => volumeOf(pick(random, there), { kind, vmid, index, size: 4 + upTo(random, 28) });
  if (kind === 'lxc') return { rootfs: disk(0) };
  return { scsi0: disk(0), ...(chance(random, 0.3) ? { scsi1: disk(1) } : {}) };
}

function manners(random: Random, vmid: number): GuestSeed['config'] {
  const tags = some(random, ['web', 'db', 'ci', 'keep']).join(';');
  return {
    cores: 1 + upTo(random, 3),
    ...(tags === '' ? {} : { tags }),
    ...(chance(random, 0.3) ? { onboot: 1, startup: `order=${1 + upTo(random, 5)}` } : {}),
    ...(chance(random, 0.07) ? { lock: pick(random, ['backup', 'migrate', 'snapshot']) } : {}),
    ...(chance(random, 0.3) ? { description: `made by ${vmid}\n` } : {}),
  };
}

function machine(vmid: number): GuestSeed['config'] {
  const hardware = { ostype: 'l26', boot: 'order=scsi0', scsihw: 'virtio-scsi-single', kvm: 1, vga: 'none', serial0: 'socket' };
  return { ...hardware, name: `vm-${vmid}`, memory: '2048', net0: `virtio=BC:24:11:00:${hex(vmid >> 8)}:${hex(vmid)},bridge=vmbr0` };
}

function container(vmid: number): GuestSeed['config'] {
  const net0 = `name=eth0,bridge=vmbr0,hwaddr=BC:24:11:01:${hex(vmid >> 8)}:${hex(vmid)},ip=10.9.0.${(vmid % 200) + 10}/24`;
  return { arch: 'amd64', ostype: 'debian', unprivileged: 1, swap: 512, hostname: `ct-${vmid}`, memory: 512, net0 };
}

const hex = (value: number) => (value & 0xff).toString(16).toUpperCase().padStart(2, '0');

interface Volume {
  readonly kind: 'qemu' | 'lxc';
  readonly vmid: number;
  readonly index: number;
  readonly size: number;
}

function volumeOf({ id, type }: StorageSeed, { kind, vmid, index, size }: Volume): string {
  const isFile = type === 'dir' || type === 'nfs';
  const file = `vm-${vmid}-disk-${index}`;
  return `${id}:${isFile ? `${vmid}/${file}.${kind === 'qemu' ? 'qcow2' : 'raw'}` : file},size=${size}G`;
}

function snapshots(random: Random, config: GuestSeed['config']): readonly SnapshotState[] {
  const names = some(random, ['one', 'two']).filter(() => chance(random, 0.5));
  // The description of a snapshot is its own.
  const left = new Set(['lock', 'parent', 'description']);
  return names.map((name, index) => ({
    ...{ name, description: '', parent: names[index - 1], snaptime: 1_700_000_000 + index * 1_000 },
    config: new Map(Object.entries({ ...config, cores: 1 + upTo(random, 3) }).filter(([key]) => !left.has(key))),
  }));
}

/** The cluster as it runs. Some guests are under high availability. */
export async function startRandomWorld(seed: number): Promise<{ readonly world: World; readonly vmids: readonly number[] }> {
  const world = await startWorld({ taskDurationMs: 5, state: randomCluster(seed) });
  const random = createRandom(seed + 1);
  const { guests, nodes } = world.demo.cluster.state;
  const plain = [...guests.values()].filter(({ config }) => config.get('template') !== 1);
  for (const { vmid, running } of plain)
    if (nodes.size > 1 && chance(random, 0.15))
      manageGuest(world, vmid, { state: running ? 'started' : 'stopped', crmState: running ? 'started' : 'stopped' });
  return { world, vmids: plain.map(({ vmid }) => vmid) };
}
