/** `/nodes/{node}/services`: PVE's own units. The same records answer `systemctl` over ssh. */
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { controlService, type ServiceCommand } from '../services.ts';
import type { ServiceState } from '../state.ts';
import { TaskError } from '../task-engine.ts';
import { answeringNode } from './nodes.ts';

const auditNode = { path: '/nodes/{node}', privileges: ['Sys.Audit'] } as const;

/** Units that the API lists, sorted; the list is fixed in `PVE/API2/Services.pm`. */
export const listedServices = [
  'chrony',
  'corosync',
  'cron',
  'ksmtuned',
  'lxcfs',
  'postfix',
  'proxmox-firewall',
  'pve-cluster',
  'pve-firewall',
  'pve-ha-crm',
  'pve-ha-lrm',
  'pve-lxc-syscalld',
  'pvedaemon',
  'pvefw-logger',
  'pveproxy',
  'pvescheduler',
  'pvestatd',
  'qmeventd',
  'spiceproxy',
  'sshd',
  'syslog',
  'systemd-journald',
  'systemd-timesyncd',
] as const;

const service = { type: 'string', enum: listedServices } as const;

export const serviceMethods: readonly ApiMethod[] = [
  { verb: 'GET', path: '/nodes/{node}/services', permission: auditNode, proxied: true, run: list },
  {
    verb: 'GET',
    path: '/nodes/{node}/services/{service}/state',
    permission: auditNode,
    proxied: true,
    parameters: { service },
    run: state,
  },
  ...(['start', 'stop', 'restart', 'reload'] as const).map(
    (command): ApiMethod => ({
      verb: 'POST',
      path: `/nodes/{node}/services/{service}/${command}`,
      permission: { path: '/nodes/{node}', privileges: ['Sys.Modify'] },
      proxied: true,
      parameters: { service },
      run: (call) => control(call, command),
    }),
  ),
];

function list(call: ApiCall): unknown {
  const known = [...answeringNode(call).services.values()].filter((one) => one.listed);
  return known.sort((one, other) => (one.name < other.name ? -1 : 1)).map(row);
}

function row(one: ServiceState): object {
  const sub = { active: 'running', inactive: 'dead', failed: 'failed' }[one.active];
  return { service: one.name, name: one.name, desc: one.description, state: sub, 'active-state': one.active, 'unit-state': one.unitState };
}

function state(call: ApiCall): unknown {
  const name = call.parameters.text('service') ?? '';
  const known = answeringNode(call).services.get(name);
  // A unit that is not installed is described by its own name, as systemd does.
  if (known === undefined)
    return { service: name, name, desc: `${name}.service`, state: 'dead', 'active-state': 'inactive', 'unit-state': 'not-found' };
  return row(known);
}

function control(call: ApiCall, command: ServiceCommand): string {
  const { cluster, user } = call;
  const node = answeringNode(call);
  const name = call.parameters.text('service') ?? '';
  return cluster.tasks.start({ node: node.name, type: `srv${command}`, id: name, user }, function* (task) {
    yield Math.ceil(cluster.taskDurationMs / 2);
    const failure = controlService(node, name, { command, now: task.now() });
    if (failure === undefined) return;
    for (const line of failure.text.split('\n')) task.log(line);
    throw new TaskError(`command 'systemctl ${command} ${name}' failed: exit code ${failure.exitCode}`);
  });
}
