import * as z from 'zod';
import { clusterArgument, nodeArgument } from '#kernel/arguments';
import type { ShellResult } from '#kernel/ports/shell';
import { say } from '#kernel/text/message';
import { defineTool, type ToolResult } from '#kernel/tool';
import { nodeOf } from '../support/targets.ts';

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
