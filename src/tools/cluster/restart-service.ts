import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument, serviceArgument } from '#kernel/arguments';
import { toFault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import type { ShellResult } from '#kernel/ports/shell';
import { describeTarget } from '#kernel/resource';
import { defineTool, type ToolContext, type ToolResult } from '#kernel/tool';
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
  outsideText: ['stdout', 'stderr'],
  input: z.strictObject({ node: nodeArgument, service: serviceArgument, cluster: clusterArgument, reason: reasonArgument }),
  touches: ({ node, service }) => [{ kind: 'service', access: 'operate', node, service }],
  headline: (_input, targets) => `Restart ${describeTarget(serviceOf(targets))}`,
  run: async (_input, context) => {
    const { node, service } = serviceOf(context.targets);
    const { shell } = context.cluster();
    context.progress(`restarting ${service} on ${node}`);
    context.noteEffect({
      state: 'sent',
      what: `the restart of ${service} may have begun, and systemd carries it on by itself`,
      next: `see how it is with ${onNode(node, `systemctl status ${service} --no-pager`)}; do not repeat the call before`,
    });
    // The name has been checked to be a plain unit name: nothing in it means anything to a shell.
    const restart = await shell.exec(node, `systemctl restart -- ${service}`, context.signal);
    if (restart.exitCode !== 0) {
      if (restart.exitCode === noSuchUnit) return notFound({ node, service }, restart);
      const ended = restart.exitCode === undefined ? `signal ${restart.signal ?? 'unknown'}` : `exit code ${restart.exitCode}`;
      return {
        ok: false,
        code: 'service_restart_failed',
        message: `${service} on ${node} could not be restarted (${ended}): ${lastLine(restart.stderr)}`,
        result: { node, service, exit_code: restart.exitCode ?? null, stdout: restart.stdout, stderr: restart.stderr },
        next: `look at its journal: ${onNode(node, `journalctl -u ${service} -n 50 --no-pager`)}`,
      };
    }
    await context.clock.sleep(settleMs, context.signal);
    return stateAfter({ node, service }, context);
  },
});

/** Exit status of `systemctl restart` for a unit that is not loaded (systemctl(1), LSB's "not installed"). */
const noSuchUnit = 5;

function notFound({ node, service }: { readonly node: string; readonly service: string }, { stderr }: ShellResult): ToolResult {
  return {
    ok: false,
    code: 'service_not_found',
    effect: notSent,
    message: `${service} on ${node} was not restarted: ${lastLine(stderr)}`,
    result: { node, service, exit_code: noSuchUnit, stderr },
    next: `see what there is: ${onNode(node, 'systemctl list-unit-files --type=service --no-pager')}`,
  };
}

/** INVARIANT: by exit codes. What a login shell's profile prints stands on the same streams, before the command's own words. */
async function stateAfter(
  { node, service }: { readonly node: string; readonly service: string },
  context: ToolContext,
): Promise<ToolResult> {
  const result = { node, service };
  const look = `look at its journal: ${onNode(node, `journalctl -u ${service} -n 50 --no-pager`)}`;
  let active: ShellResult;
  try {
    active = await context.cluster().shell.exec(node, `systemctl is-active -- ${service}`, context.signal);
  } catch (thrown) {
    context.signal.throwIfAborted();
    return {
      ok: false,
      code: 'service_state_unknown',
      message: `${service} on ${node} was restarted (exit code 0); whether it is active could not be asked: ${toFault(thrown).message}`,
      result,
      next: `the restart is done, do not repeat it; ${look}`,
    };
  }
  if (active.exitCode === 0) {
    return { ok: true, message: `${service} on ${node} was restarted and is active`, result: { ...result, state: 'active' } };
  }
  const state = stateWord(active.stdout);
  return {
    ok: false,
    code: 'service_not_active',
    message: `${service} on ${node} was restarted (exit code 0) and is ${state} 3 s later`,
    result: { ...result, state },
    next: look,
  };
}

/** The states that `systemctl is-active` names (systemd.unit(5), `org.freedesktop.systemd1` ActiveState). */
const states: ReadonlySet<string> = new Set(['activating', 'deactivating', 'failed', 'inactive', 'maintenance', 'refreshing', 'reloading']);

/** The command's own word is the last one. */
function stateWord(stdout: string): string {
  const word = stdout.trim().split('\n').at(-1)?.trim() ?? '';
  return states.has(word) ? word : 'not active';
}

function onNode(node: string, command: string): string {
  return `execute_ssh with \`node\` \`${node}\` and \`command\` \`${command}\``;
}

function lastLine(stderr: string): string {
  return stderr.trim().split('\n').at(-1)?.replace(/\.$/, '') || 'no message';
}
