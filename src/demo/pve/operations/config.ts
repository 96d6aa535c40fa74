/** `…/config` and `…/pending`: what a guest's configuration says. Changing it is `config-qemu.ts` and `config-lxc.ts`. */
import { badParameters, failed } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { guestOperations } from '../declared/read-tables.ts';
import { digestOf, snapshotValues } from '../guest-config.ts';
import { requireGuest } from '../methods/guests.ts';
import type { ConfigValue, GuestKind, GuestState, SnapshotState } from '../state.ts';
import { configLxcMethods } from './config-lxc.ts';
import { configQemuMethods } from './config-qemu.ts';

export const configMethods: readonly ApiMethod[] = [
  ...guestOperations('GET', '/config', (kind) => (call) => readConfig(call, kind)),
  ...guestOperations('GET', '/pending', (kind) => (call) => pendingRows(requireGuest(call, kind))),
  ...configQemuMethods,
  ...configLxcMethods,
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
