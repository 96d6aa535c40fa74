/** The tools that look at what keeps guests and their disks available: high availability, replication, Ceph. */
import * as z from 'zod';
import { clusterArgument, nodeArgument } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import type { ClusterPort } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';

export const getHaStatus = defineTool({
  name: 'get_ha_status',
  title: 'Get high availability',
  description:
    'High availability of the Proxmox VE cluster: quorum, the master, each node’s local manager, and every guest that is managed with what is asked of it, its state and its node. Use it when a guest does not stay as it was put.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  rare: true,
  outsideText: ['comment'],
  input: z.strictObject({ cluster: clusterArgument }),
  touches: () => [],
  headline: () => say`Read the state of high availability`,
  run: async (_input, context) => {
    const rows = await context.cluster().api.rows({ rows: 'ha' }, context.signal);
    const ofType = (type: string) => rows.filter((row) => row['type'] === type).toSorted(byId);
    const services = ofType('service');
    const troubled = services.filter((row) => ['error', 'fence', 'recovery'].includes(textOf(row['state']) ?? ''));
    const quorate = Number(rows.find((row) => row['type'] === 'quorum')?.['quorate'] ?? 0) === 1;
    const named = troubled.map((row) => `${textOf(row['sid']) ?? '?'} is in \`${textOf(row['state']) ?? '?'}\``).join(', ');
    return {
      ok: true,
      message: `high availability manages ${services.length} guest${services.length === 1 ? '' : 's'}, ${quorate ? 'quorate' : 'without quorum'}${named === '' ? '' : `; ${named}`}`,
      result: { quorate, master: textOf(ofType('master')[0]?.['node']) ?? null, managers: ofType('lrm'), services },
    };
  },
});

/** The API gives its rows in another order each time. */
function byId(one: JsonObject, other: JsonObject): number {
  return (textOf(one['id']) ?? '').localeCompare(textOf(other['id']) ?? '', 'en', { numeric: true });
}

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

export const getCephStatus = defineTool({
  name: 'get_ceph_status',
  title: 'Get Ceph status',
  description:
    'Health of the Ceph storage of the Proxmox VE cluster, where there is one: checks that warn or fail, monitors, OSDs, placement groups, and how full it is.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  rare: true,
  input: z.strictObject({ cluster: clusterArgument }),
  touches: () => [],
  headline: () => say`Read the Ceph status`,
  run: async (_input, context) => {
    try {
      const status = await context.cluster().api.record({ record: 'ceph' }, context.signal);
      const health = isJsonObject(status['health']) ? textOf(status['health']['status']) : undefined;
      return { ok: true, message: `Ceph is ${health ?? 'in an unknown state'}`, result: { installed: true, ...partsOf(status) } };
    } catch (thrown) {
      // `binary not installed: /usr/bin/ceph-mon`, or no configuration: that is an answer.
      if (!(thrown instanceof Fault) || !/not installed|not (?:yet )?initialized|does not exist/.test(thrown.message)) throw thrown;
      return { ok: true, message: 'Ceph is not installed on the node that answers', result: { installed: false } };
    }
  },
});

const shownParts = ['health', 'quorum_names', 'monmap', 'mgrmap', 'osdmap', 'pgmap', 'fsmap'];

function partsOf(status: JsonObject): JsonObject {
  return Object.fromEntries(shownParts.flatMap((name) => (status[name] === undefined ? [] : [[name, status[name]]])));
}
