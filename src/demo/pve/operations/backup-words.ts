/** What a backup says of times, disks and figures; the command that packs a container; notes from a template. */
import type { ApiCall } from '../api-method.ts';
import { type Drive, sizeOf } from '../drives.ts';
import { formatSize } from '../guest-config.ts';
import { type GuestState, guestName } from '../state.ts';

/** `2026-11-22 19:09:26` */
export function stamp(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}

export function isIncluded(kind: GuestState['kind'], { place, options }: Drive): boolean {
  if (kind === 'qemu') return !['0', 'no', 'off'].includes(options.get('backup') ?? '1');
  return place === 'rootfs' || options.get('backup') === '1';
}

export function diskLine(drive: Drive): string {
  if (!isIncluded('qemu', drive)) return `exclude disk '${drive.place}' '${drive.volid}' (backup=no)`;
  const size = sizeOf(drive);
  return `include disk '${drive.place}' '${drive.volid}'${size === undefined ? '' : ` ${formatSize(size)}`}`;
}

export function mountLine(drive: Drive): string {
  const where = drive.place === 'rootfs' ? '/' : (drive.options.get('mp') ?? '');
  if (isIncluded('lxc', drive)) return `including mount point ${drive.place} ('${where}') in backup`;
  return `excluding volume mount point ${drive.place} ('${where}') from backup (disabled)`;
}

export function logTransfer(bytes: number, info: (line: string) => void): void {
  const [total, rate] = [gib(bytes), gib(bytes / 3)];
  info(`100% (${total} of ${total}) in 3s, read: ${rate}/s, write: 0 B/s`);
  info(`backup is sparse: ${total} (100%) total zero data`);
  info(`transferred ${total} in 3 seconds (${rate}/s)`);
}

function gib(bytes: number): string {
  return bytes >= 1024 ** 3 ? `${(bytes / 1024 ** 3).toFixed(1)} GiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

export function tarCommand(archive: string): string {
  const base = archive.replace(/\.tar(?:\.\w+)?$/, '');
  const fixed = [
    "--totals --one-file-system -p --sparse --numeric-owner --acls --xattrs '--xattrs-include=user.*'",
    "'--xattrs-include=security.capability' '--warning=no-file-ignored' '--warning=no-xattr-write' --one-file-system",
    "'--warning=no-file-ignored'",
  ].join(' ');
  const files = `'--directory=${base}.tmp' ./etc/vzdump/pct.conf ./etc/vzdump/pct.fw '--directory=/mnt/vzsnap0'`;
  const excludes =
    "--no-anchored '--exclude=lost+found' --anchored '--exclude=./tmp/?*' '--exclude=./var/tmp/?*' '--exclude=./var/run/?*.pid' ./";
  return `set -o pipefail && tar cpf - ${fixed} ${files} ${excludes} >${base}.dat`;
}

const variables = /\{\{(\w+)\}\}/g;

export function fillNotes(call: ApiCall, guest: GuestState, template: string): string {
  const values: Readonly<Record<string, string>> = {
    cluster: call.cluster.state.name,
    guestname: guestName(guest),
    node: call.node,
    vmid: String(guest.vmid),
  };
  return template
    .replace(variables, (whole, name: string) => values[name] ?? whole)
    .replace(/\\n/g, '\n')
    .replace(/\\\\/g, '\\');
}
