/** `rrddata`: graphs of nodes, guests and storages. A step at which the thing did not run has its time only. */
import { failed } from '../api-error.ts';
import type { ApiCall, ApiMethod, Permission } from '../api-method.ts';
import { cpusOf, maxMemory } from '../figures.ts';
import type { ParameterSpecs } from '../parameter.ts';
import type { GuestKind } from '../state.ts';
import { readStorage } from './storage.ts';

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

function parameters(timeframes: readonly string[]): ParameterSpecs {
  return { timeframe: { type: 'string', enum: timeframes }, cf: { type: 'string', optional: true, enum: ['AVERAGE', 'MAX'] } };
}

function method(path: string, permission: Permission, run: (call: ApiCall) => unknown, timeframes = shorter): ApiMethod {
  return { verb: 'GET', path: `${path}/rrddata`, permission, proxied: path.includes('{storage}'), parameters: parameters(timeframes), run };
}

export const graphMethods: readonly ApiMethod[] = [
  method('/nodes/{node}', { path: '/nodes/{node}', privileges: ['Sys.Audit'] }, ofNode, [...shorter, 'decade']),
  method('/nodes/{node}/storage/{storage}', readStorage, ofStorage),
  ...(['qemu', 'lxc'] as const).map((kind) =>
    method(`/nodes/{node}/${kind}/{vmid}`, { path: '/vms/{vmid}', privileges: ['VM.Audit'] }, (call) => ofGuest(call, kind)),
  ),
];

/** @param figures at a time in seconds; undefined: it did not run then */
function series({ cluster, parameters: given }: ApiCall, figures: (time: number) => object | undefined): object[] {
  const [step, rows] = frames[given.text('timeframe') ?? 'hour'] ?? [60, 60];
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
      ...{ disk: 0, maxdisk: guest.maxdisk, netin: 0, netout: 0, diskread: 0, diskwrite: 0 },
    };
  });
}

function missing(file: string) {
  return failed(`RRD error: opening '/var/lib/rrdcached/db/${file}': No such file or directory`);
}
