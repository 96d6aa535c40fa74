import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument } from '#kernel/arguments';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { nodeOf } from '../support/targets.ts';

export const wakeNode = defineTool({
  name: 'wake_node',
  title: 'Wake node',
  description:
    'Wake a powered-off Proxmox VE node by wake-on-LAN. It says that the packet was sent; after a minute or two look with get_cluster_status.',
  group: 'cluster',
  tier: 'yellow',
  impact: 'reversible',
  permission: 'cluster:operate',
  input: z.strictObject({ node: nodeArgument, cluster: clusterArgument, reason: reasonArgument }),
  touches: ({ node }) => [{ kind: 'node', access: 'operate', node }],
  headline: (_input, targets) => say`Wake node ${nodeOf(targets).node}`,
  run: async (_input, context) => {
    const { node, online } = nodeOf(context.targets);
    // Sent to an online node, too: it does no harm, and `online` may be a minute old.
    context.noteEffect({ state: 'sent', what: 'a wake-up packet may have been sent' });
    const { via, detail } = await context.cluster().waker.wake(node, context.signal);
    const state = online ? 'the cluster says it is online already' : 'it is not known to be awake yet';
    return {
      ok: true,
      message: `wake-on-LAN for node ${node} was sent (${detail}); ${state}`,
      result: { node, sent: true, via, detail, online },
      next: 'call get_cluster_status in a minute',
    };
  },
});
