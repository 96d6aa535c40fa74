/** What a guest's storages can do (`feature`), making a template, and moving a disk to another storage. */
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import type { Cluster } from '../cluster.ts';
import { guestOperations, operation } from '../declared/read-tables.ts';
import {
  allocate,
  type Drive,
  disksOf,
  free,
  isCdrom,
  isFileStorage,
  parseDrive,
  parseVolume,
  printDrive,
  sizeOf,
  usableStorage,
  withVolume,
} from '../drives.ts';
import { type GuestTarget, locked } from '../guest-plans.ts';
import { begin, targetOf } from '../methods/guest-actions.ts';
import { requireGuest } from '../methods/guests.ts';
import type { ConfigValue, GuestKind, GuestState } from '../state.ts';
import { isTemplate } from '../state.ts';
import type { TaskPlan } from '../task-engine.ts';
import { addUnused, dropAttached } from './apply-config.ts';
import { requireSnapshot } from './config.ts';
import { changedByOther, checkState } from './config-change.ts';
import { canSnapshot } from './snapshots.ts';

export const templateMethods: readonly ApiMethod[] = [
  ...guestOperations('GET', '/feature', (kind) => (call) => feature(call, kind)),
  ...guestOperations('POST', '/template', (kind) => (call) => makeTemplate(call, kind)),
  operation('POST /nodes/{node}/qemu/{vmid}/move_disk', (call) => move(call, 'qemu', 'disk')),
  operation('POST /nodes/{node}/lxc/{vmid}/move_volume', (call) => move(call, 'lxc', 'volume')),
];

function feature(call: ApiCall, kind: GuestKind): unknown {
  const guest = requireGuest(call, kind);
  const name = call.parameters.text('snapname');
  const config = name === undefined ? guest.config : new Map(requireSnapshot(guest, name).config);
  const has = hasFeature(call, { kind, config }, call.parameters.text('feature') ?? '') ? 1 : 0;
  return kind === 'lxc' ? { hasFeature: has } : { hasFeature: has, nodes: nodesWith(call, config) };
}

interface Subject {
  readonly kind: GuestKind;
  readonly config: Map<string, ConfigValue>;
}

function hasFeature({ cluster, parameters }: ApiCall, subject: Subject, name: string): boolean {
  if (name === 'snapshot') return canSnapshot(cluster.state, subject);
  if (name === 'copy') return true;
  return parameters.has('snapname') ? false : disksOf(subject.kind, subject.config).every(({ volid }) => canLink(cluster, volid));
}

/** Only a base volume, of a storage that layers, can be the ground of a linked clone. */
export function canLink({ state }: Pick<Cluster, 'state'>, volid: string): boolean {
  const { file, format } = parseVolume(volid);
  const storage = state.storages.get(volid.slice(0, volid.indexOf(':')));
  const layers = isFileStorage(storage) ? format !== 'raw' || storage?.type === 'btrfs' : storage?.type !== 'lvm';
  return layers && /^base(?:vol)?-/.test(file);
}

/** Nodes that have every storage of the guest; only shared ones are on another node too. */
function nodesWith({ cluster: { state }, node: own }: ApiCall, config: Map<string, ConfigValue>): string[] {
  const storages = disksOf('qemu', config).map(({ storage }) => state.storages.get(storage ?? ''));
  const reaches = (node: string) => storages.every((one) => (node === own || one?.shared === true) && one?.nodes?.includes(node) !== false);
  return [...state.nodes.keys()].filter(reaches);
}

function makeTemplate(call: ApiCall, kind: GuestKind): string | null {
  requireQuorum(call);
  const guest = requireGuest(call, kind);
  checkState(call, guest, '');
  const word = kind === 'qemu' ? 'VM' : 'CT';
  if (guest.snapshots.length > 0) throw failed(`unable to create template, because ${word} contains snapshots`);
  if (isTemplate(guest) && !call.parameters.has('disk')) throw failed("you can't convert a template to a template");
  if (guest.running)
    throw failed(
      kind === 'qemu' ? "you can't convert a VM to template if VM is running" : "you can't convert a CT to template if the CT is running",
    );
  const target = targetOf(call, kind);
  const upid = begin(
    target,
    call,
    kind === 'qemu' ? 'qmtemplate' : 'vztemplate',
    templatePlan(target, guest, call.parameters.text('disk')),
  );
  return kind === 'qemu' ? upid : null;
}

/** Its disks become base volumes: other clones may stand on them, nothing may write to them. */
function templatePlan(target: GuestTarget, guest: GuestState, only: string | undefined): TaskPlan {
  return (task) =>
    locked(target, task, function* () {
      guest.config.set('template', 1);
      const { volumes } = target.cluster.state;
      for (const drive of disksOf(guest.kind, guest.config).filter(({ place }) => only === undefined || place === only)) {
        const volid = drive.volid.replace(
          /(^|[:/])(?:vm|subvol)-(\d+-disk-[^/]*)$/,
          (_, before: string, rest: string) => `${before}base-${rest}`,
        );
        const at = volumes.findIndex((one) => one.volid === drive.volid);
        const volume = volumes[at];
        if (volume !== undefined) volumes.splice(at, 1, { ...volume, volid });
        guest.config.set(drive.place, printDrive(withVolume(drive, volid, sizeOf(drive))));
      }
      yield Math.ceil(target.cluster.taskDurationMs / 2);
    });
}

function move(call: ApiCall, kind: GuestKind, key: 'disk' | 'volume'): string {
  const { parameters, cluster } = call;
  const place = parameters.text(key) ?? '';
  const storage = targetStorage(call);
  requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  requireQuorum(call);
  const guest = requireGuest(call, kind);
  checkState(call, guest, changedByOther[kind]);
  const value = guest.config.get(place);
  if (value === undefined)
    throw failed(kind === 'qemu' ? `disk '${place}' does not exist` : `volume '${place}' for container '${guest.vmid}' does not exist`);
  const format = parameters.text('format');
  refuseSamePlace(kind, parseDrive(place, value), { place, storage, format });
  usableStorage(cluster, storage, call.node);
  const target = targetOf(call, kind);
  return begin(target, call, kind === 'qemu' ? 'qmmove' : 'move_volume', movePlan(call, target, guest, { place, storage, format }));
}

/** @throws {ApiError} 400 */
function targetStorage({ parameters }: ApiCall): string {
  const storage = parameters.text('storage');
  if (storage === undefined) throw badParameters({ storage: "need 'storage' or 'target-vmid' to move a disk" });
  if (parameters.has('target-vmid')) throw badParameters({ 'target-vmid': "either set 'storage' or 'target-vmid', but not both" });
  return storage;
}

/** @throws {ApiError} 500 */
function refuseSamePlace(kind: GuestKind, drive: Drive, { storage, format }: Move): void {
  if (isCdrom(drive)) throw failed("you can't move a cdrom");
  if (drive.storage !== storage || (format !== undefined && format !== parseVolume(drive.volid).format)) return;
  throw failed(kind === 'qemu' ? `you can't move to the same storage with same format` : `you can't move to the same storage`);
}

interface Move {
  readonly place: string;
  readonly storage: string;
  readonly format: string | undefined;
}

function movePlan(call: ApiCall, target: GuestTarget, guest: GuestState, { place, storage, format }: Move): TaskPlan {
  const { cluster, kind, vmid } = target;
  return (task) =>
    locked(target, task, function* () {
      const drive = parseDrive(place, guest.config.get(place) ?? '');
      task.log(`create full clone of drive ${place} (${drive.volid})`);
      const wish = { storage, node: target.node, kind, vmid, format: format ?? parseVolume(drive.volid).format, size: sizeOf(drive) ?? 0 };
      const { volume, log } = allocate(cluster, wish);
      for (const line of log) task.log(line);
      yield cluster.taskDurationMs * 2;
      guest.config.set(place, printDrive(withVolume(drive, volume.volid, volume.size)));
      if (call.parameters.flag('delete')) free(cluster, drive.volid);
      else addUnused(guest, drive.volid);
      dropAttached(guest);
    });
}
