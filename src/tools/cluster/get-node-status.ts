import * as z from 'zod';
import { clusterArgument, nodeArgument } from '#kernel/arguments';
import type { JsonObject, JsonValue } from '#kernel/json';
import { defineTool } from '#kernel/tool';
import { nodeOf } from '../support/targets.ts';

export const getNodeStatus = defineTool({
  name: 'get_node_status',
  title: 'Get node status',
  description:
    'One Proxmox VE node: CPU use (fraction 0 to 1), memory and root disk in bytes, uptime in seconds, load averages, kernel and PVE version. For temperatures use get_node_temperature.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  input: z.strictObject({ node: nodeArgument, cluster: clusterArgument }),
  touches: ({ node }) => [{ kind: 'node', access: 'read', node }],
  headline: (_input, targets) => `Read the status of node ${nodeOf(targets).node}`,
  run: async (_input, context) => {
    const { node } = nodeOf(context.targets);
    const status = await context.cluster().api.nodeStatus(node, context.signal);
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
  },
});

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
