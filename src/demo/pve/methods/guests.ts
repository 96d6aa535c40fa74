/** `/nodes/{node}/qemu` and `/nodes/{node}/lxc`: what can be read, and the QEMU guest agent (privileges as of 9.x). */
import { failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, anyOf, flag, on, type Permission, route, text } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { lxcStatus, qemuStatus } from '../figures.ts';
import { hasAgent, missingConfig } from '../guest-plans.ts';
import { haStatusOf } from '../high-availability.ts';
import { type GuestKind, type GuestState, guestName, guestOn } from '../state.ts';

const auditGuest = on('/vms/{vmid}', 'VM.Audit');

export const guestMethods: readonly ApiMethod[] = (['qemu', 'lxc'] as const).flatMap(readMethods);

function readMethods(kind: GuestKind): ApiMethod[] {
  const base = `/nodes/{node}/${kind}`;
  return [
    route(`GET ${base}`, 'all', (call) => list(call, kind), { unordered: true, parameters: kind === 'qemu' ? { full: flag } : {} }),
    route(`GET ${base}/{vmid}/status/current`, auditGuest, (call) => current(call, kind)),
  ];
}

/** @throws {ApiError} 500 when the guest's configuration is not on this node */
export function requireGuest(call: ApiCall, kind: GuestKind): GuestState {
  const vmid = call.parameters.integer('vmid') ?? 0;
  const guest = guestOn(call.cluster.state, kind, call.node, vmid);
  if (guest === undefined) throw failed(missingConfig({ kind, node: call.node, vmid }));
  return guest;
}

function list(call: ApiCall, kind: GuestKind): unknown {
  const { cluster, node, user } = call;
  const guests = [...cluster.state.guests.values()].filter((guest) => guest.kind === kind && guest.node === node);
  const visible = guests.filter((guest) => cluster.access.holds(user, `/vms/${guest.vmid}`, 'VM.Audit'));
  if (kind === 'lxc') return visible.map((guest) => lxcStatus(cluster, guest));
  const full = call.parameters.flag('full');
  return visible.map((guest) => (full ? { ...qemuStatus(cluster, guest), qmpstatus: qmpStatus(guest) } : qemuStatus(cluster, guest)));
}

function current(call: ApiCall, kind: GuestKind): unknown {
  const guest = requireGuest(call, kind);
  const ha = haStatusOf(call.cluster.ha, guest);
  if (kind === 'lxc') return { ...lxcStatus(call.cluster, guest), ha };
  return {
    ...qemuStatus(call.cluster, guest),
    qmpstatus: qmpStatus(guest),
    ha,
    ...(guest.config.has('vga') ? { clipboard: null } : {}),
    ...(hasAgent(guest) ? { agent: 1 } : {}),
  };
}

/** What the monitor says; `status` stays `running` for a VM that is paused. */
function qmpStatus(guest: GuestState): string {
  if (!guest.running) return 'stopped';
  return guest.paused ? 'paused' : 'running';
}

const unrestricted = on('/vms/{vmid}', 'VM.GuestAgent.Unrestricted');
const audit = allow('VM.GuestAgent.Audit');
const agentBase = '/nodes/{node}/qemu/{vmid}/agent';
const nothing = ask(() => null);

export const agentMethods: readonly ApiMethod[] = [
  route(`POST ${agentBase}/ping`, audit, ask(pong)),
  route(`GET ${agentBase}/info`, audit, ask(info)),
  // Commands that the demo's guests have no answer to: what matters is who may ask and what an absent agent says.
  ...['fsinfo', 'host-name', 'time'].map((what) => route(`GET ${agentBase}/get-${what}`, audit, nothing)),
  route(`POST ${agentBase}/fsfreeze-status`, allow('VM.GuestAgent.Audit', 'VM.GuestAgent.FileSystemMgmt'), nothing),
  route(`POST ${agentBase}/fstrim`, allow('VM.GuestAgent.FileSystemMgmt'), nothing),
  route(`POST ${agentBase}/shutdown`, allow('VM.PowerMgmt'), nothing),
  operation(
    `GET ${agentBase}/file-read`,
    withAgent(() => ({ content: '', truncated: 0 })),
  ),
  route(`GET ${agentBase}/get-osinfo`, audit, ask(osInfo)),
  route(`GET ${agentBase}/network-get-interfaces`, audit, ask(interfaces)),
  route(
    `POST ${agentBase}/exec`,
    unrestricted,
    withAgent(() => ({ pid: 4242 })),
    { parameters: { command: { type: 'array' }, 'input-data': { ...text, maxLength: 65_536 } } },
  ),
  route(
    `GET ${agentBase}/exec-status`,
    unrestricted,
    withAgent(() => ({ exited: 1, exitcode: 0, 'out-data': '' })),
    { parameters: { pid: { type: 'integer' } } },
  ),
];

/** Any of these privileges; `VM.GuestAgent.Unrestricted` always is one. */
function allow(...privileges: readonly string[]): Permission {
  return anyOf('/vms/{vmid}', ...privileges, 'VM.GuestAgent.Unrestricted');
}

/** @throws {ApiError} 500 with PVE's reason: not there, not configured, not running, not answering */
function requireAgent(call: ApiCall): GuestState {
  const guest = requireGuest(call, 'qemu');
  if (!guest.config.has('agent')) throw failed('No QEMU guest agent configured');
  if (!guest.running) throw failed(`VM ${guest.vmid} is not running`);
  if (!guest.agentAnswers) throw failed('QEMU guest agent is not running');
  return guest;
}

function withAgent(answer: (guest: GuestState) => unknown): (call: ApiCall) => unknown {
  return (call) => answer(requireAgent(call));
}

function ask(answer: (guest: GuestState) => unknown): (call: ApiCall) => unknown {
  return withAgent((guest) => ({ result: answer(guest) }));
}

function pong(): unknown {
  return {};
}

function info(): unknown {
  return { version: '10.0.2', supported_commands: [{ name: 'guest-ping', enabled: true, 'success-response': true }] };
}

function osInfo(guest: GuestState): unknown {
  return {
    id: 'debian',
    name: 'Debian GNU/Linux',
    'pretty-name': 'Debian GNU/Linux 13 (trixie)',
    'version-id': '13',
    'kernel-release': '6.12.48',
    machine: 'x86_64',
    'host-name': guestName(guest),
  };
}

/** The address that cloud-init was given, or one made of the guest's id. */
function interfaces(guest: GuestState): unknown {
  const address = /(?:^|,)ip=([\d.]+)/.exec(String(guest.config.get('ipconfig0') ?? ''))?.[1] ?? `192.168.1.${100 + (guest.vmid % 100)}`;
  const row = (name: string, mac: string, ip: string, prefix: number) => ({
    name,
    'hardware-address': mac,
    'ip-addresses': [{ 'ip-address': ip, 'ip-address-type': 'ipv4', prefix }],
  });
  return [
    row('lo', '00:00:00:00:00:00', '127.0.0.1', 8),
    row('eth0', `bc:24:11:00:00:${(guest.vmid % 256).toString(16).padStart(2, '0')}`, address, 24),
  ];
}
