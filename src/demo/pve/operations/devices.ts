/** Disks and network cards as they go into a configuration. */
import { failed } from '../api-error.ts';
import type { ApiCall } from '../api-method.ts';
import { guestOptions } from '../declared/read-tables.ts';
import { allocate, isCdrom, parseDrive, printDrive, withVolume } from '../drives.ts';
import { readProperties, specOf } from '../parameter.ts';
import type { GuestKind } from '../state.ts';
import { newDisk } from './config-rights.ts';

/** `virtio,bridge=vmbr1` → `virtio=BC:24:11:…,bridge=vmbr1`: a card without an address gets one. */
export function networkText(call: ApiCall, option: string, value: string): string {
  const { values } = readProperties(specOf(guestOptions.qemu, 'net0')?.properties ?? {}, value, option);
  const { model = 'virtio', macaddr = randomMac(call), ...rest } = values;
  return [
    `${model}=${macaddr.toUpperCase()}`,
    ...Object.entries(rest)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, one]) => `${key}=${one}`),
  ].join(',');
}

/** An address with the cluster's prefix, the same for the same seed. */
function randomMac({ cluster }: ApiCall): string {
  const configured = cluster.state.options.get('mac_prefix');
  const prefix = typeof configured === 'string' ? configured.toUpperCase() : 'BC:24:11';
  const bytes = Array.from({ length: 6 }, () => Math.floor(cluster.random.next() * 256));
  const tail = bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'));
  return [...prefix.split(':').filter((part) => part !== ''), ...tail].slice(0, 6).join(':');
}

/** A container's card: keys by name, an address and the type filled in. */
export function lxcNetwork(call: ApiCall, value: string): string {
  const { values } = readProperties(specOf(guestOptions.lxc, 'net0')?.properties ?? {}, value, 'net0');
  const { name = 'eth0', hwaddr = randomMac(call), type = 'veth', ...rest } = values;
  const sorted = Object.entries({ ...rest, hwaddr, type }).sort(([one], [other]) => (one < other ? -1 : 1));
  return [`name=${name}`, ...sorted.map(([key, one]) => `${key}=${one}`)].join(',');
}

export interface DiskWish {
  readonly value: string;
  readonly log: (line: string) => void;
  readonly kind: GuestKind;
  readonly vmid: number;
  readonly place: string;
  readonly defaultStorage?: string | undefined;
}

/** @returns the option's text @throws {ApiError} 500 for a volume that is not there */
export function makeDisk(call: ApiCall, { kind, vmid, place, value, log, defaultStorage }: DiskWish): string {
  const { cluster, node } = call;
  const drive = parseDrive(place, value);
  const bare = /^\d+(?:\.\d+)?$/.test(drive.volid) && defaultStorage !== undefined ? `${defaultStorage}:${drive.volid}` : drive.volid;
  const [, storage, gib] = newDisk.exec(bare) ?? [];
  if (storage === undefined || isCdrom(drive)) return existingDisk(call, value, place);
  const size = Math.trunc(Number(gib) * 1024 ** 3);
  const { volume, log: lines } = allocate(cluster, { storage, node, kind, vmid, format: drive.options.get('format'), size });
  for (const line of lines) log(line);
  const options = new Map(drive.options);
  options.delete('format');
  const text = printDrive(withVolume({ ...drive, options }, volume.volid, size));
  if (kind === 'qemu') log(`${place}: successfully created disk '${text}'`);
  return text;
}

function existingDisk({ cluster }: ApiCall, value: string, place: string): string {
  const drive = parseDrive(place, value);
  if (drive.storage === undefined || drive.volid.endsWith(':cloudinit')) return value;
  const volume = cluster.state.volumes.find((one) => one.volid === drive.volid);
  if (volume === undefined) throw failed(`volume '${drive.volid}' does not exist`);
  return printDrive(withVolume(drive, drive.volid, volume.size));
}
