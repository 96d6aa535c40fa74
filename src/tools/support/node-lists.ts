/** `get_node_services` and `get_updates`: a list that one node has. */

import * as z from 'zod';
import { clusterArgument, nodeArgument, pagingArguments } from '#kernel/arguments';
import { type Message, say } from '#kernel/text/message';
import { defineTool, type Tool } from '#kernel/tool';
import { keyPart, pageOf } from './paging.ts';
import { nodeOf } from './targets.ts';
import { listOutcome } from './visible.ts';

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
