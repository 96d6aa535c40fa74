/** Restoring a guest from a backup, under a new id or over the old guest (`force`). */
import { randomUuid } from '../../random.ts';
import { failed } from '../api-error.ts';
import type { ApiCall } from '../api-method.ts';
import {
  allocate,
  disksOf,
  free,
  isUnused,
  parseDrive,
  parseVolume,
  printDrive,
  sizeOf,
  storagePath,
  volumesIn,
  withVolume,
} from '../drives.ts';
import { parseGuestFile, typedValue } from '../guest-config.ts';
import { begin } from '../methods/guest-actions.ts';
import type { ConfigValue, GuestKind, GuestState, VolumeState } from '../state.ts';
import { type TaskContext, TaskError, type TaskPlan } from '../task-engine.ts';
import { setOption } from './apply-config.ts';
import { lxcNetwork, networkText } from './devices.ts';
import { addToPool, claim, finish, guestTarget, makeMounts, type NewGuest, orForget, requireUnused } from './new-guest.ts';

/** Keys of the original that a restored guest does not have. */
const dropped = /^(?:lock|parent|template|vmstate|snaptime|running(?:machine|cpu)|running-nets-host-mtu|unused\d+)$/;

/** The configuration in a backup. One that nobody ever read: a guest with a name and nothing else. */
function archivedConfig({ call, vmid }: NewGuest, kind: GuestKind, archive: string): ReadonlyMap<string, ConfigValue> {
  const volume = call.cluster.state.volumes.find((one) => one.volid === archive);
  if (volume?.archived !== undefined) return parseGuestFile(kind, volume.archived).config;
  const original = call.cluster.state.guests.get(volume?.vmid ?? vmid);
  if (original?.kind === kind) return original.config;
  return new Map<string, ConfigValue>(
    kind === 'qemu'
      ? [['name', volume?.notes ?? `VM-${vmid}`]]
      : [
          ['hostname', `CT${vmid}`],
          ['memory', 512],
        ],
  );
}

function fileOf({ cluster }: ApiCall, archive: string): string {
  const [, storage = '', name = ''] = /^([^:]+):backup\/(.*)$/.exec(archive) ?? [];
  return `${storagePath(cluster.state, storage)}/dump/${name}`;
}

export function restoreQemu(wish: NewGuest, archive: string): string {
  const { call, vmid } = wish;
  const before = `unable to restore VM ${vmid} - `;
  const old = call.cluster.state.guests.get(vmid);
  const overwrites = call.parameters.flag('force') && old?.kind === 'qemu' && old.node === call.node;
  if (!overwrites) requireUnused(call, vmid, before);
  const lock = overwrites ? old.config.get('lock') : undefined;
  if (lock !== undefined) throw failed(`${before}VM is locked (${lock})`);
  const source = archivedConfig(wish, 'qemu', archive);
  const guest = overwrites ? old : claim(wish);
  return begin(guestTarget(wish), call, 'qmrestore', restorePlan(wish, guest, { archive, source, overwrites }));
}

interface Restoration {
  readonly archive: string;
  readonly source: ReadonlyMap<string, ConfigValue>;
  readonly overwrites: boolean;
}

function restorePlan(wish: NewGuest, guest: GuestState, { archive, source, overwrites }: Restoration): TaskPlan {
  const { call, vmid, pool } = wish;
  const { cluster } = call;
  return function* (task) {
    if (overwrites && guest.config.get('protection') === 1) throw new TaskError(`unable to restore VM ${vmid} - protection mode enabled`);
    if (overwrites && guest.running) throw new TaskError(`unable to restore VM ${vmid} - vm is running`);
    const file = fileOf(call, archive);
    const fifo = `/var/tmp/vzdumptmp${1000 + (vmid % 1000)}`;
    task.log(`restore vma archive: ${unpacker(file)} ${file} | vma extract -v -r ${fifo}.fifo - ${fifo}`);
    const volumes = clearOld(wish, guest, overwrites);
    yield cluster.taskDurationMs;
    copyConfig(wish, guest, source);
    for (const line of restoreDisks(wish, guest, source)) task.log(line);
    for (const volid of volumes) free(cluster, volid);
    yield cluster.taskDurationMs * 2;
    task.log('rescan volumes...');
    guest.config.delete('lock');
    if (source.get('template') === 1) guest.config.set('template', 1);
    addToPool(call, pool, vmid);
    finish(wish, guest, task);
  };
}

function unpacker(file: string): string {
  if (file.endsWith('.zst')) return 'zstd -q -d -c';
  return file.endsWith('.gz') ? 'zcat' : file.endsWith('.lzo') ? 'lzop -d -c' : 'cat';
}

/** @returns volumes of the old guest that go once the new ones are there */
function clearOld({ kind }: NewGuest, guest: GuestState, overwrites: boolean): string[] {
  if (!overwrites) return [];
  const own = volumesIn(kind, guest.config).filter(({ volid }) => parseVolume(volid).owner === guest.vmid);
  guest.config.clear();
  guest.config.set('lock', 'create');
  guest.pending.clear();
  guest.snapshots.splice(0);
  return own.map(({ volid }) => volid);
}

function copyConfig({ call, kind, values }: NewGuest, guest: GuestState, source: ReadonlyMap<string, ConfigValue>): void {
  const unique = call.parameters.flag('unique');
  for (const [key, value] of source) {
    if (dropped.test(key) || isUnused(key)) continue;
    const bare = String(value)
      .replace(/=?[0-9a-f]{2}(?::[0-9a-f]{2}){5}/i, '')
      .replace(/,?hwaddr(?=,|$)/, '');
    const fresh = /^net\d+$/.test(key) && unique;
    guest.config.set(key, fresh ? (kind === 'qemu' ? networkText(call, key, bare) : lxcNetwork(call, bare)) : value);
  }
  for (const [option, value] of values) setOption(guest, option, typedValue(kind, option, value));
  if (kind === 'qemu' && guest.config.has('vmgenid')) guest.config.set('vmgenid', randomUuid(call.cluster.random));
}

function restoreDisks({ call, kind, vmid, storage }: NewGuest, guest: GuestState, source: ReadonlyMap<string, ConfigValue>): string[] {
  return disksOf(kind, source).flatMap((drive) => {
    const size = sizeOf(drive) ?? 0;
    const wish = {
      storage: storage ?? drive.storage ?? 'local',
      node: call.node,
      kind,
      vmid,
      format: parseVolume(drive.volid).format,
      size,
    };
    const { volume, log } = allocate(call.cluster, wish);
    guest.config.set(drive.place, printDrive(withVolume(drive, volume.volid, size)));
    return [...log, `new volume ID is '${volume.volid}'`];
  });
}

export function restoreLxc(wish: NewGuest, archive: string, overwrites: boolean): string {
  const { call, vmid } = wish;
  const old = call.cluster.state.guests.get(vmid);
  const lock = overwrites ? old?.config.get('lock') : undefined;
  if (lock !== undefined) throw failed(`unable to restore CT ${vmid} - CT is locked (${lock})`);
  const volume = call.cluster.state.volumes.find((one) => one.volid === archive);
  const source = archivedConfig(wish, 'lxc', archive);
  const guest = overwrites && old !== undefined ? old : claim(wish);
  return begin(guestTarget(wish), call, 'vzrestore', restoreLxcPlan(wish, guest, { archive, source, overwrites, volume }));
}

function restoreLxcPlan(
  wish: NewGuest,
  guest: GuestState,
  { archive, source, overwrites, volume }: Restoration & { readonly volume: VolumeState | undefined },
): TaskPlan {
  const { call, vmid, pool, values } = wish;
  return function* (task: TaskContext) {
    task.log(`recovering backed-up configuration from '${archive}'`);
    if (volume === undefined)
      orForget(wish, `unable to restore CT ${vmid} - `, () => {
        throw new TaskError(`volume '${archive}' does not exist`);
      });
    const mounts = values.has('rootfs') ? values : mountsOf(wish, source);
    const gone = clearOld(wish, guest, overwrites);
    copyConfig(wish, guest, source);
    orForget(wish, `unable to restore CT ${vmid} - `, () => makeMounts(wish, guest, mounts, task));
    for (const volid of gone) free(call.cluster, volid);
    task.log(`restoring '${archive}' now..`);
    task.log(`extracting archive '${fileOf(call, archive)}'`);
    yield call.cluster.taskDurationMs * 2;
    task.log('Total bytes read: 194560 (190KiB, 93MiB/s)');
    task.log('merging backed-up and given configuration..');
    guest.config.delete('lock');
    if (source.get('template') === 1) guest.config.set('template', 1);
    addToPool(call, pool, vmid);
    finish(wish, guest, task);
  };
}

/** The volumes of the original, made anew on the storage that was asked for. */
function mountsOf({ storage = 'local' }: NewGuest, source: ReadonlyMap<string, ConfigValue>): Map<string, string> {
  return new Map(
    disksOf('lxc', source).map((drive) => {
      const gib = (sizeOf(drive) ?? 4 * 1024 ** 3) / 1024 ** 3;
      const options = new Map(parseDrive(drive.place, source.get(drive.place) ?? '').options);
      options.delete('size');
      return [drive.place, printDrive({ volid: `${storage}:${gib}`, options })];
    }),
  );
}
