/** `…/config` and `…/pending`: what a guest's configuration says, and changing a container's. Changing a VM's is `config-qemu.ts`. */
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requireQuorum } from '../api-method.ts';
import { guestOperations, operation } from '../declared/read-tables.ts';
import { isDrive, parseDrive } from '../drives.ts';
import { digestOf, snapshotValues } from '../guest-config.ts';
import { requireGuest } from '../methods/guests.ts';
import type { ConfigValue, GuestKind, GuestState, SnapshotState } from '../state.ts';
import { applyPending, setPending } from './apply-config.ts';
import { changedByOther, changeOf, checkNames, checkState, refuseProtected } from './config-change.ts';
import { configQemuMethods } from './config-qemu.ts';
import { checkLxc, uniqueTags } from './config-rights.ts';
import { lxcNetwork, makeDisk } from './devices.ts';

export const configMethods: readonly ApiMethod[] = [
  ...guestOperations('GET', '/config', (kind) => (call) => readConfig(call, kind)),
  ...guestOperations('GET', '/pending', (kind) => (call) => pendingRows(requireGuest(call, kind))),
  ...configQemuMethods,
  operation('PUT /nodes/{node}/lxc/{vmid}/config', changeLxc),
];

function readConfig(call: ApiCall, kind: GuestKind): unknown {
  const name = call.parameters.text('snapshot');
  if (name !== undefined && call.parameters.flag('current')) {
    const reason = "cannot use 'snapshot' parameter with 'current'";
    throw badParameters({ snapshot: reason, current: reason });
  }
  const guest = requireGuest(call, kind);
  if (name === undefined) return { ...Object.fromEntries(shown(guest, call.parameters.flag('current'))), digest: digestOf(guest) };
  return { ...Object.fromEntries(snapshotValues(requireSnapshot(guest, name))), digest: digestOf(guest) };
}

/** @throws {ApiError} 500 */
export function requireSnapshot(guest: GuestState, name: string): SnapshotState {
  const snapshot = guest.snapshots.find((one) => one.name === name);
  if (snapshot === undefined) throw failed(`snapshot '${name}' does not exist`);
  return snapshot;
}

/** With pending changes as if they were made, unless the current values are wanted. */
function shown(guest: GuestState, current: boolean): Map<string, ConfigValue> {
  const values = new Map(guest.config);
  if (!current) {
    for (const [key, value] of guest.pending) {
      if (value === null) values.delete(key);
      else values.set(key, value);
    }
  }
  if (values.has('cipassword')) values.set('cipassword', '**********');
  return values;
}

function pendingRows(guest: GuestState): unknown {
  const rows = [...guest.config].map(([key, value]) => {
    const pending = guest.pending.get(key);
    return { key, value, ...(pending === null ? { delete: 1 } : pending === undefined ? {} : { pending }) };
  });
  const added = [...guest.pending].filter(([key]) => !guest.config.has(key));
  const more = added.map(([key, pending]) => (pending === null ? { key, delete: 1 } : { key, pending }));
  return [...rows, ...more, { key: 'digest', value: digestOf(guest) }];
}

/** `update_pct_config` */
function changeLxc(call: ApiCall): null {
  const change = changeOf(call, 'lxc');
  const { ask, values, deletes, reverts } = change;
  requireQuorum(call);
  const guest = requireGuest(call, 'lxc');
  checkState(call, guest, changedByOther.lxc);
  checkLxc(ask, new Map([...deletes, ...reverts].map((option) => [option, undefined])), guest.config);
  checkNames(change);
  checkLxc(ask, values, guest.config);
  for (const option of reverts) guest.pending.delete(option);
  for (const option of deletes) deleteLxcOption(guest, option);
  for (const [option, value] of values) setPending(guest, option, lxcValue(call, guest, option, value));
  applyPending(call.cluster, guest);
  return null;
}

function deleteLxcOption(guest: GuestState, option: string): void {
  if (!guest.config.has(option) && !guest.pending.has(option)) return;
  if (['memory', 'rootfs', 'ostype'].includes(option)) throw failed(`unable to delete required option '${option}'`);
  if (option === 'unprivileged') throw failed(`unable to delete read-only option: '${option}'`);
  if (/^(?:unused|mp)\d+$/.test(option)) refuseProtected(guest, `can't remove CT ${guest.vmid} drive '${option}'`);
  setPending(guest, option, null);
}

function lxcValue(call: ApiCall, guest: GuestState, option: string, value: string): string {
  if (option === 'unprivileged') throw failed(`unable to modify read-only option: '${option}'`);
  if (option === 'tags') return uniqueTags(value);
  if (/^net\d+$/.test(option)) return lxcNetwork(call, value);
  if (!isDrive('lxc', option)) return value;
  refuseProtected(guest, `can't update CT ${guest.vmid} drive '${option}'`);
  requireRootdir(call, option, value);
  return makeDisk(call, { kind: 'lxc', vmid: guest.vmid, place: option, value, log: () => undefined });
}

function requireRootdir({ cluster }: ApiCall, place: string, value: string): void {
  const { storage = '' } = parseDrive(place, value);
  const known = cluster.state.storages.get(storage);
  if (known?.content.includes('rootdir') === false) throw failed(`storage '${storage}' does not allow content type 'rootdir' (Container)`);
}
