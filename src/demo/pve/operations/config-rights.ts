/** Which privilege each option of a guest's configuration takes (`check_vm_modify_config_perm`, `check_ct_modify_config_perm`). */
import { badParameters, failed, forbidden } from '../api-error.ts';
import { type ApiCall, requirePrivilege } from '../api-method.ts';
import { isCdrom, isDrive, isUnused, parseDrive, parseVolume, usableStorage } from '../drives.ts';
import { splitList } from '../formats.ts';
import type { ConfigValue, GuestKind } from '../state.ts';

/** Options by what they take; numbered ones and those with rules of their own are below. */
const qemuOptions: Readonly<Record<string, string>> = {
  'VM.Config.CPU': 'cores cpu runningcpu cpulimit cpuunits numa smp sockets vcpus',
  'VM.Config.Memory': 'memory balloon shares allow-ksm',
  'VM.Config.HWType': 'acpi hotplug kvm machine runningmachine scsihw smbios1 tablet vga watchdog audio0 rng0',
  'VM.Config.Options': [
    'agent autostart bios description keyboard localtime migrate_downtime migrate_speed name onboot ostype protection reboot',
    'startdate startup tdf template',
  ].join(' '),
  'VM.PowerMgmt': 'freeze',
  'VM.Config.Disk': 'boot bootdisk vmstatestorage',
  'VM.Config.Cloudinit|VM.Config.Network': 'cicustom cipassword citype ciuser ciupgrade nameserver searchdomain sshkeys',
};

const lxcOptions: Readonly<Record<string, string>> = {
  'VM.Config.CPU': 'cores cpuunits cpulimit',
  'VM.Config.Memory': 'memory swap',
  'VM.Config.Network': 'nameserver searchdomain hostname',
};

const privilegeOf: Readonly<Record<GuestKind, ReadonlyMap<string, string>>> = { qemu: byOption(qemuOptions), lxc: byOption(lxcOptions) };

function byOption(table: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(table).flatMap(([privilege, names]) => names.split(' ').map((name) => [name, privilege])));
}

/** What is asked for, and for whom. `pool`: the guest is made in it, and its rights count too. */
export interface ConfigAsk {
  readonly call: ApiCall;
  readonly kind: GuestKind;
  readonly vmid: number;
  readonly pool?: string | undefined;
}

/** Any of the privileges on the guest or its pool to be. @throws {ApiError} 403 */
export function requireOnGuest({ call, vmid, pool }: ConfigAsk, ...privileges: readonly string[]): void {
  const holds = (path: string) => privileges.some((one) => call.cluster.access.holds(call.user, path, one));
  if (pool !== undefined && holds(`/pool/${pool}`)) return;
  if (!holds(`/vms/${vmid}`)) throw forbidden(`/vms/${vmid}, ${privileges.join('|')}`);
}

/** @throws {ApiError} 403, or 500 for what only root may */
export function checkOptions(ask: ConfigAsk, options: Iterable<string>): void {
  if (ask.call.user === 'root@pam') return;
  for (const option of options) if (ask.kind === 'qemu') checkQemu(ask, option);
}

function checkQemu(ask: ConfigAsk, option: string): void {
  // The privilege of these depends on the value; it is asked for where that is known.
  if (isDrive('qemu', option) || option === 'cdrom' || option === 'tags') return;
  if (/^(?:unused|serial|usb|hostpci|virtiofs)\d+$/.test(option)) return;
  const privilege = qemuPrivilege(option);
  if (privilege === undefined) throw failed(`only root can set '${option}' config`);
  requireOnGuest(ask, ...privilege.split('|'));
  if (option === 'startup') requirePrivilege(ask.call, '/', 'Sys.Modify');
}

function qemuPrivilege(option: string): string | undefined {
  if (/^numa\d+$/.test(option)) return 'VM.Config.CPU';
  if (/^net\d+$/.test(option)) return 'VM.Config.Network';
  if (/^ipconfig\d+$/.test(option)) return 'VM.Config.Cloudinit|VM.Config.Network';
  return privilegeOf.qemu.get(option);
}

/** A container's options, with their old and new values (undefined: deleted). @throws {ApiError} 403 */
export function checkLxc(ask: ConfigAsk, changes: ReadonlyMap<string, string | undefined>, old: ReadonlyMap<string, ConfigValue>): void {
  if (ask.call.user === 'root@pam') return;
  for (const [option, value] of changes) checkLxcOption(ask, option, value, old);
}

function checkLxcOption(ask: ConfigAsk, option: string, value: string | undefined, old: ReadonlyMap<string, ConfigValue>): void {
  const stem = option.replace(/\d+$/, '');
  const own = lxcRules[stem];
  if (own === undefined) requireOnGuest(ask, privilegeOf.lxc.get(option) ?? 'VM.Config.Options');
  else own({ ask, option, value, old });
}

interface LxcChange {
  readonly ask: ConfigAsk;
  readonly option: string;
  /** Undefined: it goes. */
  readonly value: string | undefined;
  readonly old: ReadonlyMap<string, ConfigValue>;
}

/** Options, without their number, that take more than a privilege on the guest. */
const lxcRules: Readonly<Record<string, (change: LxcChange) => void>> = {
  rootfs: checkMount,
  mp: checkMount,
  net: checkNetwork,
  tags: ({ ask, value, old }) => checkTags(ask, String(old.get('tags') ?? ''), value ?? ''),
  features: checkFeatures,
  dev: () => {
    throw forbidden('configuring device passthrough is only allowed for root@pam');
  },
  hookscript: () => {
    throw forbidden('changing the hookscript is only allowed for root@pam');
  },
};

function checkNetwork({ ask, option, value, old }: LxcChange): void {
  requireOnGuest(ask, 'VM.Config.Network');
  for (const one of [old.get(option), value]) if (one !== undefined) checkBridge(ask.call, String(one));
}

function checkFeatures({ ask, value = '', old }: LxcChange): void {
  if (old.get('unprivileged') !== 1) throw forbidden('changing feature flags for privileged container is only allowed for root@pam');
  const [before, after] = [splitList(String(old.get('features') ?? '')), splitList(value)];
  const changed = [...before, ...after].filter((one) => !(before.includes(one) && after.includes(one)));
  if (changed.some((one) => !one.startsWith('nesting')))
    throw forbidden('changing feature flags (except nesting) is only allowed for root@pam');
  if (changed.length > 0) requireOnGuest(ask, 'VM.Allocate');
}

/** `STORAGE:SIZE`: a new disk of so many GiB. */
export const newDisk = /^([a-z][a-z0-9\-_.]*[a-z0-9]):(\d+(?:\.\d+)?)$/i;

function checkMount({ ask, option, value }: LxcChange): void {
  requireOnGuest(ask, 'VM.Config.Disk');
  if (value === undefined) return;
  const { volid, storage } = parseDrive(option, value);
  if (storage === undefined) {
    const type = volid.startsWith('/dev/') ? 'device' : 'bind';
    throw forbidden(`mount point type ${type} is only allowed for root@pam`);
  }
  if (newDisk.test(volid)) requirePrivilege(ask.call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  else checkVolume(ask, volid);
}

/** `PVE::Storage::check_volume_access`: the guest's own volume, or one that the caller may use. @throws {ApiError} */
export function checkVolume({ call, vmid }: Pick<ConfigAsk, 'call' | 'vmid'>, volid: string): void {
  const [, storage, folder] = /^([^:/]+):(?:(\w+)\/)?/.exec(volid) ?? [];
  if (storage === undefined) {
    if (call.user !== 'root@pam') throw failed('Only root can pass arbitrary filesystem paths.');
    return;
  }
  if (!call.cluster.state.storages.has(storage)) throw failed(`storage '${storage}' does not exist`);
  const path = `/storage/${storage}`;
  if (call.cluster.access.holds(call.user, path, 'Datastore.Allocate')) return;
  if (isMedium(folder)) requireAny(call, path, 'Datastore.AllocateSpace', 'Datastore.Audit');
  else if (parseVolume(volid).owner !== vmid) checkForeign(call, volid, { path, folder });
}

/** What no guest owns and many use. */
function isMedium(folder: string | undefined): boolean {
  return folder === 'iso' || folder === 'vztmpl' || folder === 'import';
}

interface Place {
  readonly path: string;
  readonly folder: string | undefined;
}

function checkForeign(call: ApiCall, volid: string, { path, folder }: Place): void {
  const { owner } = parseVolume(volid);
  if (owner === undefined || folder === 'snippets') throw failed(`missing privileges to access ${volid}`);
  const [onStorage, onGuest] = folder === 'backup' ? ['Datastore.AllocateSpace', 'VM.Backup'] : ['Datastore.Audit', 'VM.Config.Disk'];
  requirePrivilege(call, path, onStorage);
  requirePrivilege(call, `/vms/${owner}`, onGuest);
}

function requireAny({ cluster, user }: ApiCall, path: string, ...privileges: readonly string[]): void {
  if (!privileges.some((one) => cluster.access.holds(user, path, one))) throw forbidden(`${path}, ${privileges.join('|')}`);
}

/** `$check_storage_access`: new disks take space, others must be the caller's to use. @throws {ApiError} */
export function checkStorages(ask: ConfigAsk, options: ReadonlyMap<string, string>, defaultStorage?: string): void {
  const { call } = ask;
  for (const [place, value] of options) {
    if (isDrive('qemu', place)) checkDisk(ask, place, value, defaultStorage);
    if (isUnused(place)) checkVolume(ask, parseDrive(place, value).volid);
  }
  const saved = options.get('vmstatestorage');
  if (saved !== undefined) requirePrivilege(call, `/storage/${saved}`, 'Datastore.AllocateSpace');
}

function checkDisk(ask: ConfigAsk, place: string, value: string, defaultStorage: string | undefined): void {
  const { call } = ask;
  const drive = parseDrive(place, value);
  if (['none', 'cloudinit'].includes(drive.volid) || drive.volid.endsWith(':cloudinit')) return;
  if (isCdrom(drive) && drive.volid === 'cdrom') {
    requirePrivilege(call, '/', 'Sys.Console');
    return;
  }
  const storage = /^\d+(?:\.\d+)?$/.test(drive.volid) ? defaultStorage : newDisk.exec(drive.volid)?.[1];
  if (storage === undefined || isCdrom(drive)) {
    checkVolume(ask, drive.volid);
    return;
  }
  requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  const known = usableStorage(call.cluster, storage, undefined);
  if (!known.content.includes('images')) throw badParameters({ storage: `storage '${storage}' does not support vm images` });
}

/** Using a bridge takes `SDN.Use` on it, and on the VLAN where one is named. @throws {ApiError} 403 */
export function checkBridge({ cluster, user }: ApiCall, value: string): void {
  const [, bridge] = /(?:^|,)bridge=([^,]+)/.exec(value) ?? [];
  if (bridge === undefined) return;
  const [, tag] = /(?:^|,)tag=(\d+)/.exec(value) ?? [];
  const path = `/sdn/zones/localnetwork/${bridge}${tag === undefined ? '' : `/${tag}`}`;
  if (!cluster.access.holds(user, path, 'SDN.Use')) throw forbidden(`${path}, SDN.Use`);
}

/** Tags that the caller adds or takes away must be open to it: a registered one takes `Sys.Modify`. @throws {ApiError} 403 */
export function checkTags(ask: ConfigAsk, old: string, wanted: string): void {
  const { call } = ask;
  requireOnGuest(ask, 'VM.Config.Options');
  if (call.cluster.access.holds(call.user, '/', 'Sys.Modify')) return;
  const [before, after] = [splitList(old), splitList(wanted)];
  const changed = [...new Set([...before, ...after])].filter((tag) => before.includes(tag) !== after.includes(tag));
  const bad = changed.find((tag) => !isOpenTag(call, tag));
  if (bad !== undefined) throw forbidden(`/, Sys.Modify for modifying tag '${bad}'`);
}

function isOpenTag({ cluster }: ApiCall, tag: string): boolean {
  const { state } = cluster;
  const registered = (state.options.get('registered-tags') ?? []) as readonly string[];
  if (registered.includes(tag)) return false;
  const rule = (state.options.get('user-tag-access') ?? {}) as {
    readonly 'user-allow'?: string;
    readonly 'user-allow-list'?: readonly string[];
  };
  const mode = rule['user-allow'] ?? 'free';
  if (mode === 'free') return true;
  if (mode === 'none') return false;
  const listed = rule['user-allow-list']?.includes(tag) === true;
  if (mode === 'list' || listed) return listed;
  return [...state.guests.values()].some((guest) => splitList(String(guest.config.get('tags') ?? '')).includes(tag));
}

/** Sorted, lower-cased, each once (`get_unique_tags`, with the default style). */
export function uniqueTags(tags: string): string {
  return [...new Set(splitList(tags.toLowerCase()))].sort().join(';');
}
