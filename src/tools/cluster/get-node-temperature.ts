import * as z from 'zod';
import { clusterArgument, nodeArgument } from '#kernel/arguments';
import type { ShellResult } from '#kernel/ports/shell';
import { defineTool, type ToolResult } from '#kernel/tool';
import { nodeOf } from '../support/targets.ts';

/** `grep -H ''` prints `path:content` for each file, so that a zone that cannot be read does not shift the others. */
const readZones = "grep -H '' /sys/class/thermal/thermal_zone*/type /sys/class/thermal/thermal_zone*/temp";

export const getNodeTemperature = defineTool({
  name: 'get_node_temperature',
  title: 'Get node temperature',
  description: 'Temperatures of one Proxmox VE node in degrees Celsius, every thermal zone with its type, read over ssh.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  input: z.strictObject({ node: nodeArgument, cluster: clusterArgument }),
  touches: ({ node }) => [{ kind: 'node', access: 'read', node }],
  headline: (_input, targets) => `Read the temperatures of node ${nodeOf(targets).node}`,
  run: async (_input, context) => {
    const { node } = nodeOf(context.targets);
    return temperatures(node, await context.cluster().shell.exec(node, readZones, context.signal));
  },
});

interface Zone {
  readonly zone: string;
  readonly type: string | null;
  readonly celsius: number;
}

function temperatures(node: string, output: ShellResult): ToolResult {
  const zones = parseZones(output.stdout);
  if (zones.length === 0) {
    return {
      ok: false,
      code: 'no_thermal_zones',
      message: `node ${node} reports no thermal zones`,
      result: { node, zones: [] },
      next: 'virtual machines and some boards have none; try execute_ssh with `sensors`',
    };
  }
  const hottest = Math.max(...zones.map((zone) => zone.celsius));
  return {
    ok: true,
    message: `node ${node}: ${zones.length} thermal zone${zones.length === 1 ? '' : 's'}, hottest ${hottest} °C`,
    result: { node, zones: zones.map((zone) => ({ ...zone })), hottest },
  };
}

function parseZones(stdout: string): readonly Zone[] {
  const types = new Map<string, string>();
  const temps = new Map<string, number>();
  for (const line of stdout.split('\n')) {
    const match = /\/(thermal_zone\d+)\/(type|temp):(.*)$/.exec(line.trim());
    if (!match) continue;
    const [, zone = '', file, content = ''] = match;
    if (file === 'type') types.set(zone, content.trim());
    else if (/^-?\d{1,9}$/.test(content.trim())) temps.set(zone, Number(content.trim()) / 1000);
  }
  return [...temps].map(([zone, celsius]) => ({ zone, type: types.get(zone) ?? null, celsius: Math.round(celsius * 10) / 10 }));
}
