/** Load figures. They follow the seed and change every ten seconds, as `pvestatd` would; guests that stand still use nothing. */
import type { Cluster } from './cluster.ts';
import { maxDisk } from './guest-config.ts';
import { type GuestState, guestName, isTemplate, lockOf, type NodeState } from './state.ts';

const periodMs = 10_000;

/** A number in [0, 1) that holds for one period. */
function wobble(cluster: Cluster, ...words: readonly (string | number)[]): number {
  return cluster.random.stable(...words, Math.floor(cluster.clock.now() / periodMs));
}

/** Whole pages of memory or blocks of a disk. */
function round(bytes: number): number {
  return Math.floor(bytes / 4096) * 4096;
}

/** What a node uses now. `cpu` is a fraction, sizes are bytes, `uptime` seconds. */
export interface NodeFigures {
  readonly cpu: number;
  readonly mem: number;
  readonly disk: number;
  readonly uptime: number;
  readonly loads: readonly [string, string, string];
}

export function nodeFigures(cluster: Cluster, node: NodeState): NodeFigures {
  const cpu = 0.04 + 0.2 * wobble(cluster, 'cpu', node.name);
  const load = (word: string) => (node.cpus * (0.05 + 0.3 * wobble(cluster, word, node.name))).toFixed(2);
  return {
    cpu,
    mem: round(node.memoryBytes * (0.3 + 0.05 * wobble(cluster, 'mem', node.name))),
    disk: node.diskUsedBytes,
    uptime: Math.max(0, Math.floor((cluster.clock.now() - node.bootedAt) / 1000)),
    loads: [load('load1'), load('load5'), load('load15')],
  };
}

/** What a guest uses now; zeros while it is stopped. */
export interface GuestFigures {
  readonly cpu: number;
  readonly mem: number;
  readonly disk: number;
  readonly netin: number;
  readonly netout: number;
  readonly diskread: number;
  readonly diskwrite: number;
  readonly uptime: number;
}

const idle: GuestFigures = { cpu: 0, mem: 0, disk: 0, netin: 0, netout: 0, diskread: 0, diskwrite: 0, uptime: 0 };

export function guestFigures(cluster: Cluster, guest: GuestState): GuestFigures {
  if (!guest.running) return idle;
  const uptime = Math.max(0, Math.floor((cluster.clock.now() - guest.startedAt) / 1000));
  const rate = (word: string, bytes: number) => Math.floor(uptime * bytes * (0.5 + cluster.random.stable(word, guest.vmid)));
  return {
    cpu: 0.01 + 0.15 * wobble(cluster, 'guest', guest.vmid),
    mem: round(maxMemory(guest) * (0.35 + 0.1 * wobble(cluster, 'guestmem', guest.vmid))),
    disk: guest.kind === 'lxc' ? round(maxDisk(guest) * 0.3) : 0,
    netin: rate('netin', 900),
    netout: rate('netout', 700),
    diskread: rate('diskread', 400),
    diskwrite: rate('diskwrite', 600),
    uptime,
  };
}

/** Configured memory in bytes: 512 MiB where a VM or container does not say. */
export function maxMemory(guest: GuestState): number {
  return Number(guest.config.get('memory') ?? 512) * 1_048_576;
}

/** @param host processors of its node: a container without `cores` has them all */
export function cpusOf(guest: GuestState, host: number | undefined): number {
  if (guest.kind === 'lxc' && !guest.config.has('cores') && host !== undefined) return host;
  return Number(guest.config.get('sockets') ?? 1) * Number(guest.config.get('cores') ?? 1);
}

/** The row of `/nodes/{node}/qemu` and the common part of `status/current` (`PVE/QemuServer.pm` vmstatus). */
export function qemuStatus(cluster: Cluster, guest: GuestState): Record<string, unknown> {
  const { cpu, mem, netin, netout, uptime } = guestFigures(cluster, guest);
  return {
    vmid: guest.vmid,
    name: guestName(guest),
    status: guest.running ? 'running' : 'stopped',
    cpus: cpusOf(guest, undefined),
    maxmem: maxMemory(guest),
    maxdisk: maxDisk(guest),
    ...{ disk: 0, cpu, mem, memhost: mem, netin, netout, uptime },
    ...(guest.config.has('serial0') ? { serial: 1 } : {}),
    ...optionalFacts(guest),
    ...(guest.running ? { pid: guest.pid, ...pressures((value) => value, ['cpufull']) } : {}),
  };
}

/** The row of `/nodes/{node}/lxc` and of `status/current` (`PVE/LXC.pm` vmstatus). Its pressure values are strings. */
export function lxcStatus(cluster: Cluster, guest: GuestState): Record<string, unknown> {
  const { cpu, mem, disk, netin, netout, diskread, diskwrite, uptime } = guestFigures(cluster, guest);
  return {
    vmid: guest.vmid,
    type: 'lxc',
    name: guestName(guest),
    status: guest.running ? 'running' : 'stopped',
    cpus: cpusOf(guest, cluster.state.nodes.get(guest.node)?.cpus),
    maxmem: maxMemory(guest),
    maxdisk: maxDisk(guest),
    maxswap: Number(guest.config.get('swap') ?? 0) * 1_048_576,
    ...{ swap: 0, cpu, mem, disk, netin, netout, diskread, diskwrite, uptime },
    ...optionalFacts(guest),
    ...(guest.running ? { pid: guest.pid, ...pressures((value) => value.toFixed(2), ['cpufull']) } : {}),
  };
}

function optionalFacts(guest: GuestState): object {
  return given({ lock: lockOf(guest), tags: guest.config.get('tags'), template: isTemplate(guest) ? 1 : undefined });
}

/** The fields that have a value: PVE leaves the others out. */
export function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function pressures(form: (value: number) => unknown, extra: readonly string[]): Record<string, unknown> {
  const names = ['cpusome', ...extra, 'iosome', 'iofull', 'memorysome', 'memoryfull'];
  return Object.fromEntries(names.map((name) => [`pressure${name}`, form(0)]));
}
