import * as z from 'zod';
import { clusterArgument, nodeArgument } from '#kernel/arguments';
import { type JsonObject, textOf } from '#kernel/json';
import type { ClusterPort } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';

export const getReplication = defineTool({
  name: 'get_replication',
  title: 'Get replication',
  description:
    'Storage replication jobs of the Proxmox VE cluster: guest, source, target, schedule, and from each node when its jobs last ran and what failed. Empty where there are none or the token may not see their guests.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  rare: true,
  outsideText: ['comment'],
  input: z.strictObject({ node: nodeArgument.optional(), cluster: clusterArgument }),
  touches: ({ node }) => (node === undefined ? [] : [{ kind: 'node', access: 'read', node }]),
  headline: () => say`List the replication jobs`,
  run: async ({ node }, context) => {
    const { api } = context.cluster();
    const jobs = await api.rows({ rows: 'replication' }, context.signal);
    const { states, silent } = await statesOf(api, node, context.signal);
    const failing = states.filter((row) => Number(row['fail_count'] ?? 0) > 0 || row['error'] !== undefined);
    const also = silent.length === 0 ? '' : `; no answer from ${silent.join(', ')}`;
    return {
      ok: true,
      message: `${jobs.length} replication job${jobs.length === 1 ? '' : 's'}, ${failing.length} failing${also}`,
      result: { jobs: jobs.toSorted(byId), states: states.toSorted(byId) },
    };
  },
});

/** Each node knows its own jobs only. */
async function statesOf(
  api: ClusterPort,
  node: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly states: readonly JsonObject[]; readonly silent: readonly string[] }> {
  const nodes = node === undefined ? (await api.nodes(signal)).map((row) => row.node) : [node];
  const lists = await Promise.allSettled(nodes.map((name) => api.rows({ rows: 'replication_state', node: name }, signal)));
  signal.throwIfAborted();
  return {
    states: lists.flatMap((list, index) =>
      list.status === 'fulfilled' ? list.value.map((row) => ({ node: nodes[index] ?? '', ...row })) : [],
    ),
    silent: nodes.filter((_, index) => lists[index]?.status === 'rejected'),
  };
}

function byId(one: JsonObject, other: JsonObject): number {
  return (textOf(one['id']) ?? '').localeCompare(textOf(other['id']) ?? '', 'en', { numeric: true });
}
