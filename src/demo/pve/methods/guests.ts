/** `/nodes/{node}/qemu` and `/nodes/{node}/lxc`: what can be read. */
import { createHash } from 'node:crypto';
import { shuffled } from '../../random.ts';
import { badParameters, failed } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { lxcStatus, qemuStatus } from '../figures.ts';
import { hasAgent, missingConfig } from '../guest-plans.ts';
import { haStatusOf } from '../high-availability.ts';
import { type GuestKind, type GuestState, guestOn } from '../state.ts';

const auditGuest = { path: '/vms/{vmid}', privileges: ['VM.Audit'] } as const;

export const guestMethods: readonly ApiMethod[] = (['qemu', 'lxc'] as const).flatMap(readMethods);

function readMethods(kind: GuestKind): ApiMethod[] {
  const base = `/nodes/{node}/${kind}`;
  return [
    {
      verb: 'GET',
      path: base,
      permission: 'all',
      proxied: true,
      unordered: true,
      parameters: kind === 'qemu' ? { full: { type: 'boolean', optional: true } } : {},
      run: (call) => list(call, kind),
    },
    { verb: 'GET', path: `${base}/{vmid}/status/current`, permission: auditGuest, proxied: true, run: (call) => current(call, kind) },
    {
      verb: 'GET',
      path: `${base}/{vmid}/config`,
      permission: auditGuest,
      proxied: true,
      parameters: {
        current: { type: 'boolean', optional: true },
        snapshot: { type: 'string', optional: true, format: 'pve-configid', maxLength: 40 },
      },
      run: (call) => config(call, kind),
    },
    { verb: 'GET', path: `${base}/{vmid}/snapshot`, permission: auditGuest, proxied: true, run: (call) => snapshots(call, kind) },
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

function digestOf(guest: GuestState): string {
  return createHash('sha1')
    .update(JSON.stringify([...guest.config, guest.snapshots]))
    .digest('hex');
}

function config(call: ApiCall, kind: GuestKind): unknown {
  const snapshot = call.parameters.text('snapshot');
  if (snapshot !== undefined && call.parameters.flag('current')) {
    const reason = "cannot use 'snapshot' parameter with 'current'";
    throw badParameters({ snapshot: reason, current: reason });
  }
  const guest = requireGuest(call, kind);
  if (snapshot !== undefined && !guest.snapshots.some((one) => one.name === snapshot))
    throw failed(`snapshot '${snapshot}' does not exist`);
  return { ...Object.fromEntries(guest.config), digest: digestOf(guest) };
}

function snapshots(call: ApiCall, kind: GuestKind): unknown {
  const guest = requireGuest(call, kind);
  const rows: object[] = shuffled(call.cluster.random, guest.snapshots).map(({ name, description, parent, vmstate, snaptime }) => ({
    ...{ name, description, snaptime },
    ...(kind === 'qemu' ? { vmstate: vmstate ? 1 : 0 } : {}),
    ...(parent === undefined ? {} : { parent }),
  }));
  const parent = guest.snapshots.at(-1)?.name;
  const here = { name: 'current', description: 'You are here!', digest: digestOf(guest), running: guest.running ? 1 : 0 };
  return [...rows, parent === undefined ? here : { ...here, parent }];
}
