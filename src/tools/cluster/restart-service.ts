import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument, serviceArgument } from '#kernel/arguments';
import { describeTarget } from '#kernel/resource';
import { defineTool } from '#kernel/tool';
import { serviceOf } from '../support/targets.ts';

/** How long a service may take to fall over again before it is asked how it is. */
const settleMs = 3_000;

export const restartService = defineTool({
  name: 'restart_service',
  title: 'Restart service',
  description:
    'Restart one systemd service on a Proxmox VE node over ssh, wait 3 seconds, and report whether it is active. Not for guests (restart_vm, restart_container) and not for rebooting a node.',
  group: 'cluster',
  tier: 'yellow',
  impact: 'disruptive',
  permission: 'cluster:operate',
  timeoutMs: 60_000,
  outsideText: ['stderr'],
  input: z.strictObject({ node: nodeArgument, service: serviceArgument, cluster: clusterArgument, reason: reasonArgument }),
  touches: ({ node, service }) => [{ kind: 'service', access: 'operate', node, service }],
  headline: (_input, targets) => `Restart ${describeTarget(serviceOf(targets))}`,
  run: async (_input, context) => {
    const { node, service } = serviceOf(context.targets);
    const { shell } = context.cluster();
    context.progress(`restarting ${service} on ${node}`);
    context.stillRunning(`\`systemctl restart ${service}\` on ${node} may still be running`);
    // The name has been checked to be a plain unit name: nothing in it means anything to a shell.
    const restart = await shell.exec(node, `systemctl restart -- ${service}`, context.signal);
    if (restart.exitCode !== 0) {
      return {
        ok: false,
        code: 'service_restart_failed',
        message: `${service} on ${node} could not be restarted: ${lastLine(restart.stderr)}`,
        result: { node, service, exit_code: restart.exitCode ?? null, stderr: restart.stderr },
        next: 'look at its journal on the node',
      };
    }
    await context.clock.sleep(settleMs, context.signal);
    const active = await shell.exec(node, `systemctl is-active -- ${service}`, context.signal);
    const state = active.stdout.trim() || 'unknown';
    const result = { node, service, state };
    if (state === 'active') return { ok: true, message: `${service} on ${node} was restarted and is active`, result };
    return {
      ok: false,
      code: 'service_not_active',
      message: `${service} on ${node} was restarted and is ${state} 3 s later`,
      result,
      next: 'look at its journal on the node',
    };
  },
});

function lastLine(stderr: string): string {
  return stderr.trim().split('\n').at(-1) || 'no message';
}
