import * as z from 'zod';
import { clusterArgument } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import type { ClusterStatusRow, EndpointState } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';

export const getClusterStatus = defineTool({
  name: 'get_cluster_status',
  title: 'Get cluster status',
  description:
    'Health of the Proxmox VE cluster: quorum, and each node’s name, address and whether it is online. Also the configured endpoints of the API, with how their certificates are known. Use it first to learn the node names. CPU and memory of a node: get_node_status.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({ cluster: clusterArgument }),
  touches: () => [],
  headline: () => say`Read the cluster status`,
  run: async (_input, context) => {
    const { api } = context.cluster();
    const rows = await api.clusterStatus(context.signal);
    const cluster = rows.find((row) => row.type === 'cluster');
    const nodes = rows.filter((row) => row.type === 'node');
    const online = nodes.filter((row) => row.online).length;
    const endpoints = await api.endpoints();
    const health = healthOf(cluster, nodes.length, online);
    const result: JsonObject = {
      cluster: cluster?.name ?? api.name,
      health,
      // A standalone node has no cluster row and needs no quorum.
      quorate: cluster === undefined ? null : cluster.quorate === true,
      nodes: nodes.map((row) => ({
        node: row.name,
        online: row.online === true,
        ip: row.ip ?? null,
        nodeid: row.nodeid ?? null,
        local: row.local === true,
      })),
      endpoints: endpoints.map(({ origin, node, certificate }) => ({ endpoint: origin, node: node ?? null, certificate })),
    };
    return {
      ok: true,
      message: `cluster ${cluster?.name ?? api.name} is ${health}: ${online} of ${nodes.length} nodes online${quorumText(cluster)}${failOverText(endpoints)}`,
      result,
    };
  },
});

function healthOf(cluster: ClusterStatusRow | undefined, nodes: number, online: number): string {
  if (cluster !== undefined && cluster.quorate !== true) return 'without quorum';
  return online === nodes ? 'healthy' : 'degraded';
}

function quorumText(cluster: ClusterStatusRow | undefined): string {
  if (cluster === undefined) return ', standalone';
  return cluster.quorate === true ? ', quorate' : ', not quorate';
}

/** Worth saying only where it matters: with one fingerprint for several endpoints, before the others' certificates are known. */
function failOverText(endpoints: readonly EndpointState[]): string {
  const unknown = endpoints.filter((endpoint) => endpoint.certificate === 'unknown').length;
  return unknown === 0 ? '' : `; the certificates of ${unknown} of ${endpoints.length} endpoints are not known yet: no fail-over to them`;
}
