/** `/nodes/{node}`: status, power, configuration, syslog, and PVE’s own units: the same records answer `systemctl` over ssh. */
import { createHash } from 'node:crypto';
import { failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, count, on, route, text } from '../api-method.ts';
import type { Cluster } from '../cluster.ts';
import { nodeFigures } from '../figures.ts';
import { freezeAll, setNodeUp } from '../ha-manager.ts';
import { controlService, journalLines, type ServiceCommand } from '../services.ts';
import type { NodeState, ServiceState } from '../state.ts';
import { TaskError } from '../task-engine.ts';
import { release } from './access.ts';

const auditNode = on('/nodes/{node}', 'Sys.Audit');
const powerNode = on('/nodes/{node}', 'Sys.PowerMgmt');
const configKeys = `
  acme acmedomain0 acmedomain1 acmedomain2 acmedomain3 acmedomain4 acmedomain5 ballooning-target description startall-onboot-delay
  wakeonlan
`
  .trim()
  .split(/\s+/);
const datePattern = '\\d{4}-\\d{2}-\\d{2}( \\d{2}:\\d{2}(:\\d{2})?)?';

export const nodeMethods: readonly ApiMethod[] = [
  route('GET /nodes/{node}/status', auditNode, status),
  route('POST /nodes/{node}/status', powerNode, power, { parameters: { command: { type: 'string', enum: ['reboot', 'shutdown'] } } }),
  route('POST /nodes/{node}/wakeonlan', powerNode, wakeOnLan, { proxied: false }),
  route('GET /nodes/{node}/config', on('/', 'Sys.Audit'), config, { parameters: { property: { ...text, enum: configKeys } } }),
  route('GET /nodes/{node}/syslog', on('/nodes/{node}', 'Sys.Syslog'), syslog, {
    parameters: {
      start: count,
      limit: count,
      since: { ...text, pattern: datePattern },
      until: { ...text, pattern: datePattern },
      service: { ...text, maxLength: 128 },
    },
  }),
];

/** The node that answers; it exists because a request cannot be routed to another. */
function answeringNode({ cluster, node }: ApiCall): NodeState {
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
    if (comesBack) freezeAll(cluster, node);
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

/** Units that the API lists, sorted; the list is fixed in `PVE/API2/Services.pm`. */
export const listedServices = `
  chrony corosync cron ksmtuned lxcfs postfix proxmox-firewall pve-cluster pve-firewall pve-ha-crm pve-ha-lrm pve-lxc-syscalld
  pvedaemon pvefw-logger pveproxy pvescheduler pvestatd qmeventd spiceproxy sshd syslog systemd-journald systemd-timesyncd
`
  .trim()
  .split(/\s+/);

/** Without one of these nobody could start them again over the API. */
const essential: ReadonlySet<string> = new Set(['pveproxy', 'pvedaemon', 'pve-cluster']);

const service = { type: 'string', enum: listedServices } as const;

export const serviceMethods: readonly ApiMethod[] = [
  route('GET /nodes/{node}/services', auditNode, list),
  route('GET /nodes/{node}/services/{service}/state', auditNode, serviceState, { parameters: { service } }),
  ...(['start', 'stop', 'restart', 'reload'] as const).map((command) =>
    route(`POST /nodes/{node}/services/{service}/${command}`, on('/nodes/{node}', 'Sys.Modify'), (call) => control(call, command), {
      parameters: { service },
    }),
  ),
];

function list(call: ApiCall): unknown {
  const known = [...answeringNode(call).services.values()].filter((one) => one.listed);
  return known.sort((one, other) => (one.name < other.name ? -1 : 1)).map(row);
}

function row(one: ServiceState): object {
  const sub = { active: 'running', inactive: 'dead', failed: 'failed' }[one.active];
  return { service: one.name, name: one.name, desc: one.description, state: sub, 'active-state': one.active, 'unit-state': one.unitState };
}

function serviceState(call: ApiCall): unknown {
  const name = call.parameters.text('service') ?? '';
  const known = answeringNode(call).services.get(name);
  // A unit that is not installed is described by its own name, as systemd does.
  if (known === undefined)
    return { service: name, name, desc: `${name}.service`, state: 'dead', 'active-state': 'inactive', 'unit-state': 'not-found' };
  return row(known);
}

function control(call: ApiCall, command: ServiceCommand): string {
  const { cluster, user } = call;
  const node = answeringNode(call);
  const name = call.parameters.text('service') ?? '';
  const systemctl = command === 'reload' ? 'try-reload-or-restart' : command;
  return cluster.tasks.start({ node: node.name, type: `srv${command}`, id: name, user }, function* (task) {
    yield Math.ceil(cluster.taskDurationMs / 2);
    if (command === 'stop' && essential.has(name))
      throw new TaskError(`invalid service cmd '${name} stop': refusing to stop essential service!`);
    const failure = controlService(node, name, { command, now: task.now() });
    if (failure === undefined) return;
    for (const line of failure.text.split('\n')) task.log(line);
    throw new TaskError(`command 'systemctl ${systemctl} ${name}' failed: exit code ${failure.exitCode}`);
  });
}
