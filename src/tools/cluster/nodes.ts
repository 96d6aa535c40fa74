/** The tools that look at one node. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, pagingArguments } from '#kernel/arguments';
import { type Fault, toFault } from '#kernel/errors';
import type { JsonObject, JsonValue } from '#kernel/json';
import type { ShellResult } from '#kernel/ports/shell';
import { type Message, say } from '#kernel/text/message';
import { defineTool, type Tool, type ToolResult } from '#kernel/tool';
import { keyPart, pageOf } from '../support/paging.ts';
import { nodeOf } from '../support/targets.ts';
import { listOutcome } from '../support/visible.ts';

export const getNodeStatus = defineTool({
  name: 'get_node_status',
  title: 'Get node status',
  description:
    'One Proxmox VE node: CPU use (0 to 1), memory and root disk in bytes, uptime in seconds, load, versions. Temperatures: get_node_temperature.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({ node: nodeArgument, cluster: clusterArgument }),
  touches: ({ node }) => [{ kind: 'node', access: 'read', node }],
  headline: (_input, targets) => say`Read the status of node ${nodeOf(targets).node}`,
  run: async (_input, context) => {
    const { node } = nodeOf(context.targets);
    const { api } = context.cluster();
    const [status, rows] = await Promise.allSettled([api.nodeStatus(node, context.signal), api.nodes(context.signal)]);
    const row = rows.status === 'fulfilled' ? rows.value.find((one) => one.node === node)?.raw : undefined;
    if (status.status === 'fulfilled') return described(node, { ...status.value, cpu: cpuOf(status.value, row) });
    return fromList(node, row, toFault(status.reason));
  },
});

/** The node does not answer, though the cluster hears of it. Where the status is refused, so are the list's figures: it is the same right. */
const listInstead = ['pve_node_unreachable', 'pve_timeout'];

/** What the cluster's list knows of a node whose own answer failed with `fault`. @throws {Fault} `fault`, where it knows nothing */
function fromList(node: string, row: JsonObject | undefined, fault: Fault): ToolResult {
  // Of a node that is away the list has no figures either.
  if (typeof row?.['cpu'] !== 'number' || !listInstead.includes(fault.code)) throw fault;
  const { cpu, mem = null, maxmem = null, disk = null, maxdisk = null, uptime = null } = row;
  const answer = described(node, { cpu, memory: { used: mem, total: maxmem }, rootfs: { used: disk, total: maxdisk }, uptime });
  return { ...answer, message: `${answer.message}; from the cluster’s node list only: ${fault.message}` };
}

/** The status is measured between two looks at the counters: the first one says 0. The list has what the node itself sent round. */
function cpuOf(status: JsonObject, row: JsonObject | undefined): JsonValue {
  return numberOr(status['cpu'], null) || (row?.['cpu'] ?? status['cpu'] ?? null);
}

function described(node: string, status: JsonObject): ToolResult & { readonly ok: true } {
  const cpu = numberOr(status['cpu'], null);
  const result: JsonObject = {
    node,
    cpu,
    cpuinfo: status['cpuinfo'] ?? null,
    memory: status['memory'] ?? null,
    rootfs: status['rootfs'] ?? null,
    uptime: numberOr(status['uptime'], null),
    // The API gives the three averages as strings.
    loadavg: Array.isArray(status['loadavg']) ? status['loadavg'].map((value) => numberOr(value, null)) : null,
    kversion: status['kversion'] ?? null,
    pveversion: status['pveversion'] ?? null,
  };
  return {
    ok: true,
    message: `node ${node}: CPU ${cpu === null ? 'unknown' : `${(cpu * 100).toFixed(1)} %`}, memory ${memoryText(status['memory'])}`,
    result,
  };
}

function numberOr(value: JsonValue | undefined, fallback: null): number | null {
  const number = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : fallback;
}

function memoryText(memory: JsonValue | undefined): string {
  if (typeof memory !== 'object' || memory === null || !('used' in memory) || !('total' in memory)) return 'unknown';
  const used = Number(memory.used);
  const total = Number(memory.total);
  return total > 0 ? `${((used / total) * 100).toFixed(1)} % of ${(total / 2 ** 30).toFixed(1)} GiB` : 'unknown';
}

/**
 * `grep -H ''` prints `path:content` for each file, so that one that cannot be read does not shift the others. Thermal zones are what the
 * kernel cools by; most sensors of CPUs, disks and boards are hwmon chips only (kernel: Documentation/hwmon/sysfs-interface.rst).
 */
const readTemperatures =
  "grep -H '' /sys/class/thermal/thermal_zone*/type /sys/class/thermal/thermal_zone*/temp /sys/class/hwmon/hwmon*/name /sys/class/hwmon/hwmon*/temp*_label /sys/class/hwmon/hwmon*/temp*_input";

export const getNodeTemperature = defineTool({
  name: 'get_node_temperature',
  title: 'Get node temperature',
  description:
    'Temperatures of one Proxmox VE node in degrees Celsius, over ssh. Every thermal zone with its type, every hwmon sensor with its chip and label.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({ node: nodeArgument, cluster: clusterArgument }),
  touches: ({ node }) => [{ kind: 'node', access: 'read', node }],
  headline: (_input, targets) => say`Read the temperatures of node ${nodeOf(targets).node}`,
  run: async (_input, context) => {
    const { node } = nodeOf(context.targets);
    return temperatures(node, await context.cluster().shell.exec(node, readTemperatures, context.signal));
  },
});

interface Zone {
  readonly zone: string;
  readonly type: string | null;
  readonly celsius: number;
}

interface Sensor {
  /** `hwmon0/temp1` */
  readonly sensor: string;
  readonly chip: string | null;
  readonly label: string | null;
  readonly celsius: number;
}

function temperatures(node: string, output: ShellResult): ToolResult {
  const files = readFiles(output.stdout);
  const zones = zonesOf(files);
  const sensors = sensorsOf(files);
  if (zones.length + sensors.length === 0) {
    return {
      ok: false,
      code: 'no_thermal_zones',
      message: `node ${node} reports no temperatures: neither thermal zones nor hwmon sensors`,
      result: { node, zones: [], sensors: [] },
      next: 'virtual machines have none; on a machine of its own, an administrator may have to load the driver of its sensors (`sensors-detect`)',
    };
  }
  const hottest = Math.max(...[...zones, ...sensors].map(({ celsius }) => celsius));
  const counts = [counted(zones.length, 'thermal zone'), counted(sensors.length, 'sensor')].filter((part) => part !== undefined);
  return {
    ok: true,
    message: `node ${node}: ${counts.join(', ')}, hottest ${hottest} °C`,
    result: { node, zones: zones.map((zone) => ({ ...zone })), sensors: sensors.map((sensor) => ({ ...sensor })), hottest },
  };
}

function counted(number: number, noun: string): string | undefined {
  return number === 0 ? undefined : `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Below `/sys/class/thermal` or `/sys/class/hwmon`: path → content. */
function readFiles(stdout: string): ReadonlyMap<string, string> {
  const lines = stdout.split('\n').map((line) => /^\/sys\/class\/(?:thermal|hwmon)\/([\w/]+):(.*)$/.exec(line.trim()));
  return new Map(lines.flatMap((match) => (match === null ? [] : [[match[1] ?? '', (match[2] ?? '').trim()] as const])));
}

function zonesOf(files: ReadonlyMap<string, string>): readonly Zone[] {
  return [...files].flatMap(([path, content]) => {
    const zone = /^(thermal_zone\d+)\/temp$/.exec(path)?.[1];
    const celsius = degrees(content);
    return zone === undefined || celsius === undefined ? [] : [{ zone, type: files.get(`${zone}/type`) ?? null, celsius }];
  });
}

function sensorsOf(files: ReadonlyMap<string, string>): readonly Sensor[] {
  return [...files].flatMap(([path, content]) => {
    const [, chip = '', place] = /^(hwmon\d+)\/(temp\d+)_input$/.exec(path) ?? [];
    const celsius = degrees(content);
    if (place === undefined || celsius === undefined) return [];
    const sensor = `${chip}/${place}`;
    return [{ sensor, chip: files.get(`${chip}/name`) ?? null, label: files.get(`${sensor}_label`) ?? null, celsius }];
  });
}

/** Millidegrees; undefined for what is no number. */
function degrees(content: string): number | undefined {
  return /^-?\d{1,9}$/.test(content) ? Math.round(Number(content) / 100) / 10 : undefined;
}

interface NodeList {
  readonly name: string;
  readonly title: string;
  readonly rows: 'services' | 'updates';
  /** The result's key. */
  readonly key: string;
  readonly noun: string;
  headline(node: string): Message;
  /** Of a row. */
  readonly sortedBy: string;
  readonly what: string;
  readonly privilege: string;
}

const lists: readonly NodeList[] = [
  {
    name: 'get_node_services',
    title: 'Get node services',
    rows: 'services',
    key: 'services',
    noun: 'service',
    headline: (node) => say`List the services of node ${node}`,
    sortedBy: 'service',
    what: 'The services of Proxmox VE itself on one node (pveproxy, corosync, pve-cluster, …): whether each runs and is enabled. For any other unit use execute_ssh with `systemctl status`.',
    privilege: 'Sys.Audit',
  },
  {
    name: 'get_updates',
    title: 'Get updates',
    rows: 'updates',
    key: 'updates',
    noun: 'update',
    headline: (node) => say`List the updates of node ${node}`,
    sortedBy: 'Package',
    what: 'Packages that one Proxmox VE node could upgrade, as of its last look (it does not refresh the list): name, old and new version, origin.',
    privilege: 'Sys.Modify',
  },
];

/** `get_node_services` and `get_updates`: a list that one node has. */
export const nodeListTools: readonly Tool[] = lists.map(({ name, title, rows, key, noun, headline, sortedBy, what, privilege }) =>
  defineTool({
    name,
    title,
    description: what,
    group: 'cluster',
    tier: 'green',
    impact: 'none',
    permission: 'data:read',
    rare: true,
    outsideText: ['Description'],
    input: z.strictObject({ node: nodeArgument, cluster: clusterArgument, ...pagingArguments }),
    touches: ({ node }) => [{ kind: 'node', access: 'read', node }],
    headline: (_input, targets) => headline(nodeOf(targets).node),
    run: async (input, context) => {
      const { node } = nodeOf(context.targets);
      const { api } = context.cluster();
      const all = await api.rows({ rows, node }, context.signal);
      const page = pageOf(all, input, { name: `${key} of ${node} in ${api.name}`, key: (row) => [keyPart(row[sortedBy])] });
      const needs = [{ privilege, path: `/nodes/${node}` }];
      return listOutcome({ page, key, noun, needs, extra: { node } }, api, context.signal);
    },
  }),
);
