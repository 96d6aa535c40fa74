/** Growing a disk. A VM's request is answered with a task that may then refuse; a container's is checked at once. */
import { ApiError, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { guestOperations } from '../declared/read-tables.ts';
import { type Drive, isCdrom, isFileStorage, parseDrive, parseVolume, printDrive, sizeOf, volumePath, withVolume } from '../drives.ts';
import { digestOf, parseSize } from '../guest-config.ts';
import { checkLock, load, locked } from '../guest-plans.ts';
import { begin, rootOnly, targetOf } from '../methods/guest-actions.ts';
import { requireGuest } from '../methods/guests.ts';
import type { GuestKind, GuestState, VolumeState } from '../state.ts';
import { type TaskContext, TaskError, type TaskPlan } from '../task-engine.ts';
import { asTaskError, changedByOther, checkState } from './config-change.ts';
import { requireOnGuest } from './config-rights.ts';

export const resizeMethods: readonly ApiMethod[] = [
  ...guestOperations('PUT', '/resize', (kind) => (kind === 'qemu' ? resizeQemu : resizeLxc)),
];

/** What is asked for: bytes, or bytes more. */
interface Wish {
  readonly disk: string;
  readonly bytes: number;
  readonly more: boolean;
}

function wishIn({ parameters }: ApiCall): Wish {
  const size = parameters.text('size') ?? '';
  return { disk: parameters.text('disk') ?? '', bytes: parseSize(size.replace(/^\+/, '')) ?? 0, more: size.startsWith('+') };
}

interface Growth {
  readonly drive: Drive;
  readonly from: number;
  readonly to: number;
}

/** @throws {ApiError} 500 with the reason in the words of that kind of guest */
function growthOf(call: ApiCall, guest: GuestState, wish: Wish): Growth {
  const value = guest.config.get(wish.disk);
  if (value === undefined) throw noDisk(guest.kind, wish.disk);
  const drive = parseDrive(wish.disk, value);
  if (drive.storage === undefined) throw failed(`disk '${wish.disk}' has no associated volume`);
  if (isCdrom(drive)) throw failed("you can't resize a cdrom");
  requirePrivilege(call, `/storage/${drive.storage}`, 'Datastore.AllocateSpace');
  const from = volumeOf(call, drive)?.size ?? sizeOf(drive) ?? 0;
  const to = wish.more ? from + wish.bytes : wish.bytes;
  if (to < from) throw failed(guest.kind === 'qemu' ? 'shrinking disks is not supported' : 'unable to shrink disk size');
  return { drive, from, to };
}

function noDisk(kind: GuestKind, disk: string): ApiError {
  if (kind === 'qemu') return failed(`disk '${disk}' does not exist`);
  const reason = 'property is missing and it is not optional';
  return new ApiError(500, 'format error\n', disk === 'rootfs' ? { volume: reason } : { volume: reason, mp: reason });
}

function volumeOf({ cluster }: ApiCall, { volid }: Drive): VolumeState | undefined {
  return cluster.state.volumes.find((one) => one.volid === volid);
}

function grow(call: ApiCall, guest: GuestState, { drive, to }: Growth): void {
  const { volumes } = call.cluster.state;
  const volume = volumeOf(call, drive);
  if (volume !== undefined) volumes.splice(volumes.indexOf(volume), 1, { ...volume, size: to });
  guest.config.set(drive.place, printDrive(withVolume(drive, drive.volid, to)));
}

function resizeQemu(call: ApiCall): string {
  rootOnly(call, 'skiplock');
  requireQuorum(call);
  const target = targetOf(call, 'qemu');
  const plan: TaskPlan = (task) =>
    locked(target, task, function* () {
      const guest = load(target);
      const digest = call.parameters.text('digest') ?? '';
      if (digest !== '' && digest !== digestOf(guest)) throw new TaskError(changedByOther.qemu);
      checkLock(guest);
      const growth = asTaskError(() => growthOf(call, guest, wishIn(call)));
      if (growth.to === growth.from) return;
      yield target.cluster.taskDurationMs;
      if (!guest.running && isFileStorage(target.cluster.state.storages.get(growth.drive.storage ?? ''))) task.log('Image resized.');
      grow(call, guest, growth);
    });
  return begin(target, call, 'resize', plan);
}

function resizeLxc(call: ApiCall): string {
  requireQuorum(call);
  const guest = requireGuest(call, 'lxc');
  const wish = wishIn(call);
  const lock = guest.config.get('lock');
  if (lock !== undefined) throw failed(`CT is locked (${lock})`);
  requireOnGuest({ call, kind: 'lxc', vmid: guest.vmid }, 'VM.Config.Disk');
  checkState(call, guest, changedByOther.lxc);
  const growth = growthOf(call, guest, wish);
  if (growth.to === growth.from) throw failed('disk is already at specified size');
  const target = targetOf(call, 'lxc');
  const plan: TaskPlan = (task) =>
    locked(target, task, function* () {
      yield target.cluster.taskDurationMs;
      logFileSystem(call, guest, growth, task);
      grow(call, guest, growth);
    });
  return begin(target, call, 'resize', plan);
}

/** Of a raw image the file system is grown as well: checked first where the container does not run. */
function logFileSystem({ cluster }: ApiCall, guest: GuestState, { drive, to }: Growth, task: TaskContext): void {
  if (!isFileStorage(cluster.state.storages.get(drive.storage ?? ''))) return;
  task.log('Image resized.');
  if (parseVolume(drive.volid).format !== 'raw') return;
  const path = volumePath(cluster.state, drive.volid);
  const blocks = to / 1024;
  if (!guest.running) {
    task.log('e2fsck 1.47.0 (5-Feb-2023)');
    const passes = [
      'inodes, blocks, and sizes',
      'directory structure',
      'directory connectivity',
      'reference counts',
      'group summary information',
    ];
    for (const [index, what] of passes.entries()) task.log(`Pass ${index + 1}: Checking ${what}`);
    task.log(`${path}: 16/16384 files (0.0% non-contiguous), 13613/65536 blocks`);
  }
  task.log('resize2fs 1.47.0 (5-Feb-2023)');
  task.log(`Resizing the filesystem on ${path} to ${blocks} (1k) blocks.`);
  task.log(`The filesystem on ${path} is now ${blocks} (1k) blocks long.`);
  task.log('');
}
