/** `/nodes/{node}`: status, power, configuration, syslog, graphs. */
import { createHash } from 'node:crypto';
import { failed } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { type Cluster, setNodeUp } from '../cluster.ts';
import { nodeFigures } from '../figures.ts';
import { journalLines } from '../journal.ts';
import type { NodeState } from '../state.ts';
import { release } from './access.ts';

const auditNode = { path: '/nodes/{node}', privileges: ['Sys.Audit'] } as const;
const powerNode = { path: '/nodes/{node}', privileges: ['Sys.PowerMgmt'] } as const;
const configKeys = [
  'acme',
  'acmedomain0',
  'acmedomain1',
  'acmedomain2',
  'acmedomain3',
  'acmedomain4',
  'acmedomain5',
  'ballooning-target',
  'description',
  'startall-onboot-delay',
  'wakeonlan',
];
const datePattern = '\\d{4}-\\d{2}-\\d{2}( \\d{2}:\\d{2}(:\\d{2})?)?';

export const nodeMethods: readonly ApiMethod[] = [
  { verb: 'GET', path: '/nodes/{node}/status', permission: auditNode, proxied: true, run: status },
  {
    verb: 'POST',
    path: '/nodes/{node}/status',
    permission: powerNode,
    proxied: true,
    parameters: { command: { type: 'string', enum: ['reboot', 'shutdown'] } },
    run: power,
  },
  { verb: 'POST', path: '/nodes/{node}/wakeonlan', permission: powerNode, proxied: false, run: wakeOnLan },
  {
    verb: 'GET',
    path: '/nodes/{node}/config',
    permission: { path: '/', privileges: ['Sys.Audit'] },
    proxied: true,
    parameters: { property: { type: 'string', optional: true, enum: configKeys } },
    run: config,
  },
  {
    verb: 'GET',
    path: '/nodes/{node}/syslog',
    permission: { path: '/nodes/{node}', privileges: ['Sys.Syslog'] },
    proxied: true,
    parameters: {
      start: { type: 'integer', optional: true, minimum: 0 },
      limit: { type: 'integer', optional: true, minimum: 0 },
      since: { type: 'string', optional: true, pattern: datePattern },
      until: { type: 'string', optional: true, pattern: datePattern },
      service: { type: 'string', optional: true, maxLength: 128 },
    },
    run: syslog,
  },
];

/** The node that answers; it exists because a request cannot be routed to another. */
export function answeringNode({ cluster, node }: ApiCall): NodeState {
  const state = cluster.state.nodes.get(node);
  if (state === undefined) throw new Error(`no state for node \`${node}\``);
  return state;
}

/** Kernel of the demo nodes; `uname` over ssh says the same. */
export const kernel = {
  sysname: 'Linux',
  release: '6.17.4-2-pve',
  version: '#1 SMP PREEMPT_DYNAMIC PMX 6.17.4-2 (2025-12-19T07:49Z)',
  machine: 'x86_64',
} as const;
const cpuModel = 'Intel(R) Xeon(R) E-2336 CPU @ 2.90GHz';

function status(call: ApiCall): unknown {
  const node = answeringNode(call);
  const { cpu, mem, disk, uptime, loads } = nodeFigures(call.cluster, node);
  const free = node.diskBytes - disk;
  return {
    pveversion: `pve-manager/${release.version}/${release.repoid}`,
    kversion: `${kernel.sysname} ${kernel.release} ${kernel.version}`,
    'current-kernel': kernel,
    'boot-info': { mode: 'legacy-bios' },
    cpu,
    wait: 0,
    idle: 0,
    uptime,
    loadavg: loads,
    cpuinfo: {
      vendor: 'GenuineIntel',
      model: cpuModel,
      family: '6',
      mhz: '2900.000',
      flags: 'fpu vme de pse tsc msr pae sse sse2 ht vmx aes avx avx2',
      hvm: '1',
      user_hz: 100,
      sockets: 1,
      cores: node.cpus,
      cpus: node.cpus,
    },
    memory: { total: node.memoryBytes, used: mem, free: node.memoryBytes - mem, available: node.memoryBytes - mem },
    swap: { total: 0, used: 0, free: 0 },
    rootfs: { total: node.diskBytes, used: disk, free, avail: free },
    ksm: { shared: 0 },
  };
}

const goesDownAfterMs = 2000;
const bootsInMs = 20_000;

function power(call: ApiCall): null {
  const node = answeringNode(call);
  const comesBack = call.parameters.text('command') === 'reboot';
  const { cluster } = call;
  cluster.tasks.background(function* () {
    yield goesDownAfterMs;
    powerOff(cluster, node);
    if (comesBack) yield* boot(cluster, node);
  });
  return null;
}

function powerOff(cluster: Cluster, node: NodeState): void {
  for (const guest of cluster.state.guests.values()) if (guest.node === node.name) guest.running = false;
  setNodeUp(cluster, node, false);
}

function* boot(cluster: Cluster, node: NodeState) {
  yield bootsInMs;
  node.bootedAt = cluster.clock.now();
  setNodeUp(cluster, node, true);
}

/** A magic packet arrived: a node that is down boots, one that is up takes no notice. */
export function receiveMagicPacket(cluster: Cluster, node: NodeState): void {
  if (!node.up) cluster.tasks.background(() => boot(cluster, node));
}

/** The MAC address in the node's `wakeonlan` property. */
export function wakeAddress(node: NodeState): string | undefined {
  return /(?:^|,)(?:mac=)?((?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})/.exec(node.config.get('wakeonlan') ?? '')?.[1];
}

/** Runs on the node that was asked: it sends the packet, so it cannot be the target. */
function wakeOnLan({ cluster, node: local, parameters }: ApiCall): string {
  const named = parameters.text('node') ?? '';
  if (named === 'localhost' || named === local) throw failed(`'${named}' is local node, cannot wake my self!`);
  const target = cluster.state.nodes.get(named);
  if (target === undefined) throw failed(`no such cluster node '${named}'`);
  const mac = wakeAddress(target);
  if (mac === undefined) throw failed(`No wake on LAN MAC address defined for '${named}'!`);
  receiveMagicPacket(cluster, target);
  return mac;
}

function config(call: ApiCall): unknown {
  const all = Object.fromEntries(answeringNode(call).config);
  if (Object.keys(all).length === 0) return {};
  const property = call.parameters.text('property');
  if (property === undefined) return { ...all, digest: createHash('sha1').update(JSON.stringify(all)).digest('hex') };
  return all[property] === undefined ? {} : { [property]: all[property] };
}

function syslog(call: ApiCall): unknown {
  const lines = journalLines(call.cluster, answeringNode(call), call.parameters.text('service'));
  const start = call.parameters.integer('start') ?? 0;
  const limit = call.parameters.integer('limit') ?? 50;
  const page = lines.slice(start, start + (limit === 0 ? 50 : limit)).map((t, index) => ({ n: start + index + 1, t }));
  return lines.length === 0 ? { page: [{ n: 1, t: '-- No entries --' }], total: 1 } : { page, total: lines.length };
}
