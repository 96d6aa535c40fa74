import * as z from 'zod';
import { clusterArgument, nodeArgument } from '#kernel/arguments';
import { type Fault, toFault } from '#kernel/errors';
import type { JsonObject, JsonValue } from '#kernel/json';
import { say } from '#kernel/text/message';
import { defineTool, type ToolResult } from '#kernel/tool';
import { nodeOf } from '../support/targets.ts';

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
