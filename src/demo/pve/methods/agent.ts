/** `/nodes/{node}/qemu/{vmid}/agent`: the QEMU guest agent. Privileges as of 9.x. */
import { failed } from '../api-error.ts';
import type { ApiCall, ApiMethod, Permission } from '../api-method.ts';
import { type GuestState, guestName } from '../state.ts';
import { requireGuest } from './guests.ts';

const audit: Permission = { path: '/vms/{vmid}', privileges: ['VM.GuestAgent.Audit', 'VM.GuestAgent.Unrestricted'], any: true };
const unrestricted: Permission = { path: '/vms/{vmid}', privileges: ['VM.GuestAgent.Unrestricted'] };
const base = '/nodes/{node}/qemu/{vmid}/agent';

const auditPrivileges = ['VM.GuestAgent.Audit', 'VM.GuestAgent.Unrestricted'];

/** Commands that the demo's guests have no answer to: what matters is who may ask and what an absent agent says. */
const questions: readonly {
  readonly verb: 'GET' | 'POST';
  readonly name: string;
  readonly privileges?: readonly string[];
}[] = [
  { verb: 'GET', name: 'get-fsinfo' },
  { verb: 'GET', name: 'get-host-name' },
  { verb: 'GET', name: 'get-time' },
  {
    verb: 'POST',
    name: 'fsfreeze-status',
    privileges: ['VM.GuestAgent.Audit', 'VM.GuestAgent.FileSystemMgmt', 'VM.GuestAgent.Unrestricted'],
  },
  { verb: 'POST', name: 'fstrim', privileges: ['VM.GuestAgent.FileSystemMgmt', 'VM.GuestAgent.Unrestricted'] },
  { verb: 'POST', name: 'shutdown', privileges: ['VM.PowerMgmt', 'VM.GuestAgent.Unrestricted'] },
];

export const agentMethods: readonly ApiMethod[] = [
  { verb: 'POST', path: `${base}/ping`, permission: audit, proxied: true, run: ask(() => ({})) },
  {
    verb: 'GET',
    path: `${base}/info`,
    permission: audit,
    proxied: true,
    run: ask(() => ({ version: '10.0.2', supported_commands: [{ name: 'guest-ping', enabled: true, 'success-response': true }] })),
  },
  ...questions.map(
    ({ verb, name, privileges = auditPrivileges }): ApiMethod => ({
      ...{ verb, path: `${base}/${name}`, proxied: true, run: ask(() => null) },
      permission: { path: '/vms/{vmid}', privileges, any: true },
    }),
  ),
  { verb: 'GET', path: `${base}/get-osinfo`, permission: audit, proxied: true, run: ask(osInfo) },
  { verb: 'GET', path: `${base}/network-get-interfaces`, permission: audit, proxied: true, run: ask(interfaces) },
  {
    verb: 'POST',
    path: `${base}/exec`,
    permission: unrestricted,
    proxied: true,
    parameters: { command: { type: 'array' }, 'input-data': { type: 'string', optional: true, maxLength: 65_536 } },
    run: (call) => {
      requireAgent(call);
      return { pid: 4242 };
    },
  },
  {
    verb: 'GET',
    path: `${base}/exec-status`,
    permission: unrestricted,
    proxied: true,
    parameters: { pid: { type: 'integer' } },
    run: (call) => {
      requireAgent(call);
      return { exited: 1, exitcode: 0, 'out-data': '' };
    },
  },
];

/** @throws {ApiError} 500 with PVE's reason: not there, not configured, not running, not answering */
function requireAgent(call: ApiCall): GuestState {
  const guest = requireGuest(call, 'qemu');
  if (!guest.config.has('agent')) throw failed('No QEMU guest agent configured');
  if (!guest.running) throw failed(`VM ${guest.vmid} is not running`);
  if (!guest.agentAnswers) throw failed('QEMU guest agent is not running');
  return guest;
}

function ask(answer: (guest: GuestState) => unknown): (call: ApiCall) => unknown {
  return (call) => ({ result: answer(requireAgent(call)) });
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
