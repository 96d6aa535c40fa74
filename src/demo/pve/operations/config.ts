/** `…/config` and `…/pending`: what a guest's configuration says, and changing it. */

import { randomUuid } from '../../random.ts';
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { guestOperations, operation } from '../declared/read-tables.ts';
import { free, isCdrom, isDrive, isUnused, parseDrive, parseVolume, volumesIn } from '../drives.ts';
import { splitList } from '../formats.ts';
import { digestOf, snapshotValues } from '../guest-config.ts';
import { checkLock } from '../guest-plans.ts';
import { rootOnly } from '../methods/guest-actions.ts';
import { requireGuest } from '../methods/guests.ts';
import type { ConfigValue, GuestKind, GuestState, SnapshotState } from '../state.ts';
import type { TaskPlan } from '../task-engine.ts';
import { applyPending, setPending } from './apply-config.ts';
import {
  asTaskError,
  type Change,
  changedByOther,
  changeOf,
  checkNames,
  checkState,
  directives,
  refuseProtected,
} from './config-change.ts';
import {
  type ConfigAsk,
  checkBridge,
  checkLxc,
  checkOptions,
  checkStorages,
  checkTags,
  requireOnGuest,
  uniqueTags,
} from './config-rights.ts';
import { lxcNetwork, makeDisk, networkText } from './devices.ts';

// Changing a VM's configuration (`update_vm_api`): at once (PUT) or in a task (POST).

const configQemuMethods: readonly ApiMethod[] = [
  operation('PUT /nodes/{node}/qemu/{vmid}/config', changeQemu),
  operation('POST /nodes/{node}/qemu/{vmid}/config', changeQemuInTask),
  operation('PUT /nodes/{node}/qemu/{vmid}/unlink', unlink),
];

/** Everything before the configuration is read: names, values, rights. */
function prepareQemu(call: ApiCall): Change {
  rootOnly(call, 'skiplock');
  const change = changeOf(call, 'qemu');
  checkNames(change);
  const { ask, values, deletes } = change;
  for (const [option, value] of values) values.set(option, normalValue(call, option, value));
  checkOptions(ask, deletes);
  checkOptions(ask, values.keys());
  checkStorages(ask, values);
  for (const [option, value] of values) if (/^net\d+$/.test(option)) checkBridge(call, value);
  return change;
}

/** A value as it is kept. @throws {ApiError} 400 */
function normalValue(call: ApiCall, option: string, value: string): string {
  if (/^net\d+$/.test(option)) return networkText(call, option, value);
  if (option === 'vmgenid' && value === '1') return randomUuid(call.cluster.random);
  if (option === 'hookscript') checkHook(call, value);
  if (isDrive('qemu', option)) checkIso(option, value);
  return value;
}

function checkIso(place: string, value: string): void {
  const drive = parseDrive(place, value);
  if (/:iso\//.test(drive.volid) && !isCdrom(drive)) throw badParameters({ [place]: "explicit 'media=cdrom' is required for iso images" });
}

function checkHook(call: ApiCall, volid: string): void {
  if (!/:snippets\//.test(volid)) throw badParameters({ hookscript: `'${volid}' is not in the snippets directory\n` });
  if (!call.cluster.state.volumes.some((one) => one.volid === volid))
    throw badParameters({ hookscript: `script '${volid}' does not exist\n` });
}

function changeQemu(call: ApiCall): null {
  const change = prepareQemu(call);
  requireQuorum(call);
  const guest = requireGuest(call, 'qemu');
  checkState(call, guest, changedByOther.qemu);
  checkBalloon(guest, change.values);
  updateQemu(change, guest, () => undefined);
  return null;
}

function changeQemuInTask(call: ApiCall): string {
  const change = prepareQemu(call);
  requireQuorum(call);
  const guest = requireGuest(call, 'qemu');
  checkState(call, guest, changedByOther.qemu);
  checkBalloon(guest, change.values);
  const plan: TaskPlan = function* (task) {
    checkLock(guest);
    const names = call.parameters.names().filter((name) => name === 'delete' || name === 'revert' || !directives.has(name));
    const text = (name: string) => (name === 'cipassword' ? '<hidden>' : (change.values.get(name) ?? call.parameters.text(name) ?? ''));
    task.log(
      `update VM ${guest.vmid}: ${[...names]
        .sort()
        .map((name) => `-${name} ${text(name)}`)
        .join(' ')}`,
    );
    yield 1;
    asTaskError(() => updateQemu(change, guest, task.log));
  };
  return call.cluster.tasks.start({ node: call.node, type: 'qmconfig', id: String(guest.vmid), user: call.user }, plan);
}

function checkBalloon(guest: GuestState, values: ReadonlyMap<string, string>): void {
  if (!values.has('memory') && !values.has('balloon')) return;
  const current = (key: string) => values.get(key) ?? guest.pending.get(key) ?? guest.config.get(key);
  const memory = Number(/(?:^|current=)(\d+)/.exec(String(current('memory') ?? 512))?.[1] ?? 512);
  const balloon = Number(current('balloon') ?? 0);
  if (balloon > memory) throw failed('balloon value too large (must be smaller than assigned memory)');
}

function updateQemu(change: Change, guest: GuestState, log: (line: string) => void): void {
  const { ask, values, deletes, reverts } = change;
  const { cluster } = ask.call;
  for (const option of reverts) guest.pending.delete(option);
  for (const option of deletes) deleteOption(ask, guest, option, log);
  for (const [option, value] of values) if (String(guest.pending.get(option) ?? '') !== value) changeOption(change, guest, option, log);
  applyPending(cluster, guest, { force: ask.call.parameters.flag('force') });
}

function deleteOption(ask: ConfigAsk, guest: GuestState, option: string, log: (line: string) => void): void {
  const value = guest.config.get(option) ?? guest.pending.get(option);
  if (value === undefined || value === null) {
    log(`cannot delete '${option}' - not set in current configuration!`);
    return;
  }
  checkDeletion(ask, guest, option, String(value));
  dropFromBootOrder(guest, option);
  setPending(guest, option, null);
  if (isUnused(option) || option === 'tags') applyAtOnce(ask, guest, option);
}

/** What deleting takes, by what it is. @throws {ApiError} */
function checkDeletion(ask: ConfigAsk, guest: GuestState, option: string, value: string): void {
  if (isUnused(option)) {
    refuseProtected(guest, `can't remove unused disk '${parseDrive(option, value).volid}'`);
    requireOnGuest(ask, 'VM.Config.Disk');
  } else if (isDrive('qemu', option)) {
    refuseProtected(guest, `can't remove drive '${option}'`);
    requireForDrive(ask, option, value);
  } else if (option === 'tags') checkTags(ask, value, '');
  else if (/^net\d+$/.test(option)) checkBridge(ask.call, value);
}

/** Unused disks and tags are nothing that runs. A disk of the guest's own is destroyed, unless a snapshot stands on it. */
function applyAtOnce({ call }: ConfigAsk, guest: GuestState, option: string): void {
  const value = guest.config.get(option);
  guest.pending.delete(option);
  if (isUnused(option) && value !== undefined) destroyUnused(call, guest, option, String(value));
  guest.config.delete(option);
}

function destroyUnused(call: ApiCall, guest: GuestState, option: string, value: string): void {
  const { volid, storage } = parseDrive(option, value);
  if (parseVolume(volid).owner !== guest.vmid) return;
  requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  const elsewhere = [...guest.config].some(
    ([key, one]) => key !== option && (isDrive('qemu', key) || isUnused(key)) && parseDrive(key, one).volid === volid,
  );
  const inSnapshot = guest.snapshots.some(({ config }) => volumesIn('qemu', config).some((drive) => drive.volid === volid));
  if (elsewhere || inSnapshot) throw failed(`unable to delete '${volid}' - volume is still in use (snapshot?)`);
  free(call.cluster, volid);
}

function requireForDrive(ask: ConfigAsk, place: string, value: string): void {
  requireOnGuest(ask, isCdrom(parseDrive(place, value)) ? 'VM.Config.CDROM' : 'VM.Config.Disk');
}

function bootOrderOf(guest: GuestState): string[] {
  const [, order = ''] = /^order=(.*)$/.exec(String(guest.config.get('boot') ?? '')) ?? [];
  return splitList(order);
}

function dropFromBootOrder(guest: GuestState, option: string): void {
  const order = bootOrderOf(guest);
  if (order.includes(option)) setPending(guest, 'boot', `order=${order.filter((one) => one !== option).join(';')}`);
}

function changeOption({ ask, values }: Change, guest: GuestState, option: string, log: (line: string) => void): void {
  const value = values.get(option) ?? '';
  if (isDrive('qemu', option)) setPending(guest, option, attachedDisk(ask, guest, option, { value, log }));
  else if (option === 'tags') {
    checkTags(ask, String(guest.config.get('tags') ?? ''), value);
    setPending(guest, option, uniqueTags(value));
  } else {
    checkDevice(ask, option, value);
    if (option === 'boot') checkBootOrder(guest, value, values);
    setPending(guest, option, value);
  }
}

/** Real devices of the host are root's. */
function checkDevice(ask: ConfigAsk, option: string, value: string): void {
  if (/^serial\d+$/.test(option) && value === 'socket') requireOnGuest(ask, 'VM.Config.HWType');
  else if (/^(?:serial|parallel)\d+$/.test(option) && ask.call.user !== 'root@pam')
    throw failed(`only root can modify '${option}' config for real devices`);
  if (/^usb\d+$/.test(option) && ask.call.user !== 'root@pam' && !/^(?:host=)?spice/i.test(value))
    throw failed(`only root can set '${option}' config for real devices`);
}

function checkBootOrder(guest: GuestState, value: string, values: ReadonlyMap<string, string>): void {
  for (const device of splitList(/^order=(.*)$/.exec(value)?.[1] ?? '')) {
    const there = guest.config.has(device) || values.has(device) || guest.pending.get(device) !== undefined;
    if (!there) throw failed(`invalid bootorder: device '${device}' does not exist'`);
  }
}

interface NewValue {
  readonly value: string;
  readonly log: (line: string) => void;
}

/** The disk as it goes into the configuration: a new one is made, an existing one gets its size. */
function attachedDisk(ask: ConfigAsk, guest: GuestState, place: string, { value, log }: NewValue): string {
  const old = guest.config.get(place);
  if (old !== undefined) requireForDrive(ask, place, String(old));
  requireForDrive(ask, place, value);
  return makeDisk(ask.call, { kind: 'qemu', vmid: guest.vmid, place, value, log });
}

/** `unlink` is a deletion with another name. */
function unlink(call: ApiCall): null {
  const guest = requireGuest(call, 'qemu');
  const ask: ConfigAsk = { call, kind: 'qemu', vmid: guest.vmid };
  checkState(call, guest, changedByOther.qemu);
  for (const option of call.parameters.list('idlist')) deleteOption(ask, guest, option, () => undefined);
  applyPending(call.cluster, guest, { force: call.parameters.flag('force') });
  return null;
}

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
