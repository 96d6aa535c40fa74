/** What is done on nodes: commands, their services, and the nodes themselves. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, reasonArgument, serviceArgument, text } from '#kernel/arguments';
import { Fault, toFault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import type { NodeShell, ShellResult } from '#kernel/ports/shell';
import { nodeServices, targetWords } from '#kernel/resource';
import { say } from '#kernel/text/message';
import { defineTool, type Obstacle, type ToolContext, type ToolResult } from '#kernel/tool';
import { overSsh } from '../support/obstacles.ts';
import { nodeOf, serviceOf } from '../support/targets.ts';

/** How long a service may take to fall over again before it is asked how it is. */
const settleMs = 3_000;

export const restartService = defineTool({
  name: 'restart_service',
  title: 'Restart service',
  description:
    'Restart one systemd service on a Proxmox VE node over ssh. After 3 seconds it reports whether it is active. Not for guests: restart_vm, restart_container.',
  group: 'cluster',
  tier: 'yellow',
  impact: 'disruptive',
  permission: 'cluster:operate',
  outsideText: ['stdout', 'stderr'],
  input: z.strictObject({ node: nodeArgument, service: serviceArgument, cluster: clusterArgument, reason: reasonArgument }),
  touches: ({ node, service }) => [{ kind: 'service', access: 'operate', node, service }],
  headline: (_input, targets) => say`Restart ${targetWords(serviceOf(targets))}`,
  // Without them the node is none of the cluster's for a moment.
  takes: (_input, targets) => {
    const { node, service } = serviceOf(targets);
    return nodeServices.has(service) ? [{ kind: 'node', node }] : [];
  },
  precheck: (_input, { targets, cluster, signal }) => overSsh(signal, () => lookAtUnit(serviceOf(targets), cluster().shell, signal)),
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
      const obstacle = await lookAtUnit({ node, service }, shell, context.signal).catch(() => undefined);
      if (obstacle !== undefined) return { ok: false, ...obstacle, effect: notSent, result: { node, service, stderr: restart.stderr } };
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

interface UnitAt {
  readonly node: string;
  readonly service: string;
}

async function lookAtUnit(at: UnitAt, shell: NodeShell, signal: AbortSignal): Promise<Obstacle | undefined> {
  const { stdout } = await shell.exec(at.node, `systemctl show --property=LoadState -- ${at.service}`, signal);
  return unitObstacle(at, loadStateIn(stdout));
}

/** The command's own line is the last such one: what a login shell's profile prints comes before it, with or without a line end. */
function loadStateIn(stdout: string): string | undefined {
  return [...stdout.matchAll(/LoadState=([\w-]+)\s*$/gm)].at(-1)?.[1];
}

/** What systemd can never restart (org.freedesktop.systemd1, LoadState); undefined for anything else, also for what could not be read. */
function unitObstacle({ node, service }: UnitAt, loadState: string | undefined): Obstacle | undefined {
  if (loadState === 'not-found') {
    return {
      code: 'service_not_found',
      message: `there is no unit ${service} on ${node}`,
      next: `see what there is: ${onNode(node, 'systemctl list-unit-files --type=service --no-pager')}`,
    };
  }
  if (loadState === 'masked') {
    return {
      code: 'service_masked',
      message: `${service} on ${node} is masked, so systemd refuses to start it`,
      next: `somebody did that on purpose; a person can undo it: \`systemctl unmask ${service}\` on ${node}`,
    };
  }
  if (loadState !== 'bad-setting' && loadState !== 'error') return undefined;
  return {
    code: 'service_not_loaded',
    message: `systemd cannot load the unit of ${service} on ${node} (\`${loadState}\`)`,
    next: `see why: ${onNode(node, `systemctl status ${service} --no-pager`)}`,
  };
}

/** INVARIANT: by exit codes. What a login shell's profile prints stands on the same streams, before the command's own words. */
async function stateAfter({ node, service }: UnitAt, context: ToolContext): Promise<ToolResult> {
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
