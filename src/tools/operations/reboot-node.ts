import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { nodeOf } from '../support/targets.ts';

export const rebootNode = defineTool({
  name: 'reboot_node',
  title: 'Reboot node (always refused)',
  description:
    'Always refused: a node reboot is for a person at the console. The request is recorded. Do not call it; tell the user what you would have rebooted and why.',
  group: 'cluster',
  tier: 'black',
  impact: 'irreversible',
  permission: 'cluster:operate',
  input: z.strictObject({ node: nodeArgument, cluster: clusterArgument, reason: reasonArgument }),
  touches: ({ node }) => [{ kind: 'node', access: 'operate', node }],
  headline: (_input, targets) => say`Reboot node ${nodeOf(targets).node}`,
  // INVARIANT: black never runs. There is no code behind it to reach by mistake.
  run: () => Promise.reject(new Fault('black_tier', 'a node reboot is never run by an agent', { audience: 'bug' })),
});
