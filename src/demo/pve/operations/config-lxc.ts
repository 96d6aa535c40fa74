/** Changing a container's configuration (`update_pct_config`). */
import { failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requireQuorum } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { isDrive, parseDrive } from '../drives.ts';
import { requireGuest } from '../methods/guests.ts';
import type { GuestState } from '../state.ts';
import { applyPending, setPending } from './apply-config.ts';
import { changedByOther, changeOf, checkNames, checkState, refuseProtected } from './config-change.ts';
import { checkLxc, uniqueTags } from './config-rights.ts';
import { lxcNetwork, makeDisk } from './devices.ts';

export const configLxcMethods: readonly ApiMethod[] = [operation('PUT /nodes/{node}/lxc/{vmid}/config', changeLxc)];

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
