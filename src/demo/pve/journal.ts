/** The system journal of a demo node: a few lines of boot and service changes. `journalctl` and `/nodes/{node}/syslog` read it. */
import type { Cluster } from './cluster.ts';
import type { NodeState, ServiceState } from './state.ts';

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
