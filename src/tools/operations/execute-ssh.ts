import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument, text } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { overSsh } from '../support/obstacles.ts';
import { nodeOf } from '../support/targets.ts';

export const executeSsh = defineTool({
  name: 'execute_ssh',
  title: 'Run a read-only command on a node',
  description:
    'Run one read-only diagnostic command on a Proxmox VE node over ssh such as `uptime`, `df -h` or `qm list`. Returns stdout, stderr and the exit code. Anything that changes the node is refused; a few that reach other hosts or collect a lot (`ping`, `dig`, `pvereport`) ask a person first. To restart a service use restart_service.',
  group: 'cluster',
  tier: 'yellow',
  impact: 'none',
  permission: 'system:execute:readonly',
  outsideText: ['stdout', 'stderr'],
  input: z.strictObject({
    node: nodeArgument,
    command: text('One read-only command line.'),
    cluster: clusterArgument,
    reason: reasonArgument,
  }),
  touches: ({ node, command }) => [
    { kind: 'node', access: 'operate', node },
    { kind: 'command', access: 'operate', surface: 'ssh', text: command },
  ],
  headline: (input, targets) => say`Run ${JSON.stringify(input.command)} on node ${nodeOf(targets).node}`,
  precheck: (_input, { targets, cluster, signal }) =>
    overSsh(signal, async () => {
      await cluster().shell.exec(nodeOf(targets).node, 'true', signal);
      return undefined;
    }),
  run: async (_input, context) => {
    const { node } = nodeOf(context.targets);
    const command = context.targets.find((target) => target.kind === 'command');
    if (command === undefined) throw new Fault('internal_error', 'internal error: the command was not checked', { audience: 'bug' });
    // What may have become of it the shell says, and hands back what it had printed.
    context.noteEffect({ state: 'sent' });
    // SECURITY: the canonical text that the policy allowed, not the model's.
    const output = await context.cluster().shell.exec(node, command.text, context.signal);
    const result = {
      node,
      command: command.text,
      stdout: output.stdout,
      stderr: output.stderr,
      exit_code: output.exitCode ?? null,
      ...(output.truncated ? { truncated: true } : {}),
    };
    if (output.exitCode === 0) return { ok: true, message: `\`${command.text}\` on ${node} ended with exit code 0`, result };
    return {
      ok: false,
      code: 'command_failed',
      message: `\`${command.text}\` on ${node} ended with ${output.exitCode === undefined ? `signal ${output.signal ?? 'unknown'}` : `exit code ${output.exitCode}`}`,
      result,
    };
  },
});
