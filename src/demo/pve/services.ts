/** systemd units of a node: what `systemctl restart` does to them, and what the journal says of them. */

import type { Cluster } from './cluster.ts';
import type { NodeState, ServiceState } from './state.ts';

export interface RestartFailure {
  /** systemctl's: 5 for a unit that is not there, 1 for one that does not start. */
  readonly exitCode: 1 | 5;
  /** What systemctl writes to stderr. */
  readonly text: string;
}

/** Finds a unit by its name with or without `.service`. */
export function findService(node: NodeState, name: string): ServiceState | undefined {
  return node.services.get(name.replace(/\.service$/, ''));
}

export type ServiceCommand = 'start' | 'stop' | 'restart' | 'reload';

/** What systemctl does to a unit; the result sticks. @param now ms since the epoch @returns undefined when it went well */
export function controlService(
  node: NodeState,
  name: string,
  { command, now }: { readonly command: ServiceCommand; readonly now: number },
): RestartFailure | undefined {
  const service = findService(node, name);
  const unit = `${name.replace(/\.service$/, '')}.service`;
  if (service === undefined || service.unitState === 'not-found')
    return { exitCode: 5, text: `Failed to ${command} ${unit}: Unit ${unit} not found.` };
  if (service.unitState === 'masked' && command !== 'stop')
    return { exitCode: 1, text: `Failed to ${command} ${unit}: Unit ${unit} is masked.` };
  service.since = now;
  if (command === 'stop' || service.startError === undefined) {
    service.active = command === 'stop' ? 'inactive' : 'active';
    return undefined;
  }
  service.active = 'failed';
  return {
    exitCode: 1,
    text: `Job for ${unit} failed because the control process exited with error code.\nSee "systemctl status ${unit}" and "journalctl -xeu ${unit}" for details.`,
  };
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Nov 21 20:08:40`, in UTC as the demo nodes' clocks are. */
export function journalTime(ms: number): string {
  const date = new Date(ms);
  const clock = date.toISOString().slice(11, 19);
  return `${months[date.getUTCMonth()] ?? ''} ${String(date.getUTCDate()).padStart(2, '0')} ${clock}`;
}

/** Lines in the order of time. @param unit a service name with or without `.service`; undefined: all */
export function journalLines(cluster: Cluster, node: NodeState, unit: string | undefined): string[] {
  if (!node.journal) return [];
  const wanted = unit?.replace(/\.service$/, '');
  const entries = [...node.services.values()]
    .filter((service) => wanted === undefined || service.name === wanted)
    .flatMap((service) => serviceEntries(service));
  if (wanted === undefined)
    entries.push(
      { at: node.bootedAt, text: 'kernel: Linux version 6.17.4-2-pve (build@proxmox)' },
      { at: cluster.clock.now() - 60_000, text: 'CRON[4711]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)' },
    );
  return entries.sort((one, other) => one.at - other.at).map(({ at, text }) => `${journalTime(at)} ${node.name} ${text}`);
}

function serviceEntries(service: ServiceState): { readonly at: number; readonly text: string }[] {
  const unit = `${service.name}.service`;
  const begin = { at: service.since - 1000, text: `systemd[1]: Starting ${unit} - ${service.description}...` };
  if (service.active === 'active') return [begin, { at: service.since, text: `systemd[1]: Started ${unit} - ${service.description}.` }];
  if (service.active === 'inactive') return [{ at: service.since, text: `systemd[1]: Stopped ${unit} - ${service.description}.` }];
  return [
    begin,
    { at: service.since - 500, text: `${service.name}[2291]: ${service.startError ?? 'exited'}` },
    { at: service.since, text: `systemd[1]: ${unit}: Failed with result 'exit-code'.` },
    { at: service.since, text: `systemd[1]: Failed to start ${unit} - ${service.description}.` },
  ];
}
