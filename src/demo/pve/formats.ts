/** Formats of single values, with the texts of `PVE/JSONSchema.pm` and of those that register more. */

type Format = (value: string) => string | undefined;

function matching(pattern: RegExp, reason: (value: string) => string): Format {
  return (value) => (pattern.test(value) ? undefined : reason(value));
}

function eachOf(check: Format): Format {
  return (list) =>
    splitList(list)
      .map(check)
      .find((reason) => reason !== undefined);
}

const vmid = matching(/^[1-9][0-9]{2,8}$/, () => 'value does not look like a valid VM ID');
const configId = matching(/^[a-z][a-z0-9_-]+$/i, (value) => `invalid configuration ID '${value}'`);
const storageContent = matching(
  /^(?:images|rootdir|vztmpl|iso|backup|snippets|none|import)$/,
  (value) => `invalid content type '${value}'`,
);

/** Format → why a text is none; undefined: it is one. */
export const formats = {
  'pve-node': matching(/^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/, () => 'value does not look like a valid node name'),
  'pve-vmid': vmid,
  'pve-vmid-list': eachOf(vmid),
  'pve-configid': configId,
  'pve-configid-list': eachOf(configId),
  'pve-storage-id': storageId,
  'pve-storage-content': storageContent,
  'pve-storage-content-list': eachOf(storageContent),
  'pve-ha-resource-or-vm-id': matching(/^(?:[a-z]+:\S+|\d+)$/, () => 'value does not look like a valid ha resource id'),
  'pve-userid': userId,
  'pve-volume-id': volumeId,
  'pve-volume-id-or-qm-path': (value) => (/^(?:none$|cdrom$|\/)/.test(value) ? undefined : volumeId(value)),
  'pve-lxc-mp-string': matching(/^(?:[^:\s]|:(?!\.\.))+$/, () => 'value does not look like a valid mount point'),
  'pve-storage-id-list': eachOf(storageId),
  'pve-poolid': poolId,
  'pve-bridge-id': matching(/^[-_.\w\d]+$/, (value) => `invalid bridge ID '${value}'`),
  'pve-tag-list': eachOf(matching(/^[a-z0-9_][a-z0-9_\-+.]*$/i, () => 'invalid characters in tag')),
  'pve-startup-order': matching(
    /^(?:(?:order=)?\d+|(?:up|down)=\d+)(?:,(?:(?:order=)?\d+|(?:up|down)=\d+))*$/,
    () => 'unable to parse startup options',
  ),
  'pve-calendar-event': calendarEvent,
  'pve-cpuset': matching(/^\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*$/, (value) => `unable to parse cpuset '${value}'`),
  'pve-qm-boot': bootOrder,
  'prune-backups': pruneOptions,
  'dns-name': matching(
    /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i,
    () => 'value does not look like a valid DNS name',
  ),
  'mac-addr': matching(/^[a-f0-9][02468ace](?::[a-f0-9]{2}){5}$/i, () => 'value does not look like a valid unicast MAC address'),
  'mac-prefix': matching(/^[a-f0-9][02468ace](?::[a-f0-9]{2}){0,2}:?$/i, () => 'value is not a valid unicast MAC address prefix'),
  'disk-size': matching(/^\d+(?:\.\d+)?[KMGT]?$/, (value) => `value does not look like a valid disk size: ${value}`),
  CIDR: matching(/^[0-9a-f.:]+\/\d{1,3}$/i, () => 'value does not look like a valid CIDR network'),
  'pve-task-status-type-list': eachOf(matching(/^(?:ok|error|warning|unknown)$/i, (value) => `invalid status '${value}'`)),
} as const satisfies Record<string, Format>;

function userId(value: string): string | undefined {
  if (value.length < 3) return `user name '${value}' is too short`;
  if (value.length > 64) return `user name '${value}' is too long (${value.length} > 64)`;
  return /^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+$/.test(value) ? undefined : `value '${value}' does not look like a valid user name`;
}

function storageId(value: string): string | undefined {
  if (value.length < 2) return `storage ID '${value}' cannot be shorter than 2 characters`;
  return /^[a-z][a-z0-9_.-]*[a-z0-9]$/i.test(value) ? undefined : `storage ID '${value}' contains illegal characters`;
}

function volumeId(value: string): string | undefined {
  return /^[a-z][a-z0-9\-_.]*[a-z0-9]:.+$/i.test(value) ? undefined : `unable to parse volume ID '${value}'\n`;
}

function poolId(value: string): string | undefined {
  if (value.split('/').length > 3) return `pool name '${value}' nested too deeply (max levels = 3)`;
  return /^[A-Za-z0-9.\-_]+(?:\/[A-Za-z0-9.\-_]+){0,2}$/.test(value) ? undefined : `pool name '${value}' contains invalid characters`;
}

const days = '(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*';

/** The common part of systemd's calendar events: days of the week, a date, times with steps, and the named ones. */
function calendarEvent(value: string): string | undefined {
  const named = /^(?:minutely|hourly|daily|weekly|monthly|yearly|annually|quarterly|semi-?annually)$/;
  const weekdays = new RegExp(`^${days}(?:(?:,|\\.\\.|-)${days})*$`, 'i');
  const time = /^[\d*/,.:-]+$/;
  const words = value.trim().split(/\s+/);
  const fits = named.test(value) || (value !== '' && words.every((word) => weekdays.test(word) || time.test(word)));
  return fits ? undefined : `invalid calendar event '${value}' - unable to parse calendar event`;
}

function bootOrder(value: string): string | undefined {
  if (/^(?:legacy=)?[acdn]{1,4}$/.test(value) || /^order=(?:[a-z]+\d+(?:;[a-z]+\d+)*)?$/.test(value)) return undefined;
  return 'unable to parse boot options\n';
}

function pruneOptions(value: string): string | undefined {
  const bad = value.split(',').find((part) => !/^keep-(?:all=[01]|(?:last|hourly|daily|weekly|monthly|yearly)=\d+)$/.test(part));
  return bad === undefined ? undefined : `invalid key in comma-separated list property: ${bad.split('=', 1)[0]}`;
}

/** PVE's `split_list`: commas, semicolons, white space and NULs separate. */
export function splitList(list: string): string[] {
  return list.split(/[,;\s\0]+/).filter((one) => one !== '');
}
