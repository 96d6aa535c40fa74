/**
 * What a change does to a guest's configuration (`update_vm_api`, `vmconfig_hotplug_pending`, `vmconfig_apply_pending`,
 * `update_pct_config`): everything becomes pending first; what a running guest cannot take over stays so.
 */
import type { Cluster } from '../cluster.ts';
import { free, isCdrom, isDrive, isUnused, parseDrive, parseVolume } from '../drives.ts';
import { typedValue } from '../guest-config.ts';
import type { ConfigValue, GuestKind, GuestState } from '../state.ts';

/** Options that do not touch what runs. */
const atOnce: Readonly<Record<GuestKind, ReadonlySet<string>>> = {
  qemu: new Set([
    ...['description', 'hookscript', 'lock', 'migrate_downtime', 'migrate_speed', 'name', 'onboot', 'protection', 'shares', 'startup'],
    ...['tags', 'vmstatestorage', 'cicustom', 'cipassword', 'citype', 'ciuser', 'ciupgrade', 'nameserver', 'searchdomain', 'sshkeys'],
  ]),
  lxc: new Set(['description', 'onboot', 'startup', 'protection', 'hostname', 'hookscript', 'cores', 'tags', 'lock']),
};

/** Options that a running guest can take over. */
function isHotPluggable(guest: GuestState, option: string): boolean {
  if (guest.kind === 'lxc') return /^(?:cpulimit|cpuunits|memory|swap|net\d+|mp\d+|unused\d+)$/.test(option);
  const features = String(guest.config.get('hotplug') ?? 'network,disk,usb');
  if (/^(?:balloon|cpuunits|cpulimit|ipconfig\d+)$/.test(option)) return true;
  if (/^net\d+$/.test(option)) return features.includes('network');
  if (/^(?:scsi|virtio)\d+$/.test(option)) return features.includes('disk');
  if (option === 'vcpus') return features.includes('cpu');
  return option === 'memory' && features.includes('memory');
}

/** Makes a change pending. Null: the option goes. */
export function setPending(guest: GuestState, option: string, value: string | null): void {
  guest.pending.set(option, value === null ? null : typedValue(guest.kind, option, value));
}

/** Sets an option in the configuration itself. */
export function setOption(guest: GuestState, option: string, value: ConfigValue | undefined): void {
  if (value === undefined || (option === 'description' && value === '')) guest.config.delete(option);
  // A container's description is read back with a line end.
  else if (option === 'description' && guest.kind === 'lxc') guest.config.set(option, `${String(value).replace(/\n$/, '')}\n`);
  else guest.config.set(option, value);
}

export interface ApplyOptions {
  /** Detached disks are destroyed. */
  readonly force: boolean;
}

/** Takes over what can be, and forgets what changes nothing. */
export function applyPending(cluster: Cluster, guest: GuestState, options: ApplyOptions = { force: false }): void {
  dropNeedless(guest);
  const deletions = [...guest.pending].filter(([, value]) => value === null);
  const changes = [...guest.pending].filter(([, value]) => value !== null);
  for (const [option, value] of [...deletions, ...changes]) {
    if (guest.running && !atOnce[guest.kind].has(option) && !isHotPluggable(guest, option)) continue;
    applyOne(cluster, guest, option, { value, ...options });
    guest.pending.delete(option);
  }
  dropAttached(guest);
}

function applyOne(
  cluster: Cluster,
  guest: GuestState,
  option: string,
  { value, force }: ApplyOptions & { readonly value: ConfigValue | null },
): void {
  const old = guest.config.get(option);
  guest.config.delete(option);
  if (old !== undefined && isDrive(guest.kind, option) && !sameVolume(option, old, value))
    detach(cluster, guest, option, { old, force: force && value === null });
  if (isUnused(option) && value === null && old !== undefined) free(cluster, parseDrive(option, old).volid);
  if (value !== null) setOption(guest, option, value);
}

function sameVolume(place: string, old: ConfigValue, value: ConfigValue | null): boolean {
  return value !== null && parseDrive(place, old).volid === parseDrive(place, value).volid;
}

/** A detached disk of the guest's own is kept as `unusedN`; a container's mount point likewise. */
function detach(
  cluster: Cluster,
  guest: GuestState,
  place: string,
  { old, force }: { readonly old: ConfigValue; readonly force: boolean },
): void {
  const drive = parseDrive(place, old);
  if (drive.storage === undefined || isCdrom(drive) || parseVolume(drive.volid).owner !== guest.vmid) return;
  if (force) free(cluster, drive.volid);
  else addUnused(guest, drive.volid);
}

/** Keeps a volume that nothing refers to any more under the first free `unusedN`. */
export function addUnused(guest: GuestState, volid: string): void {
  let index = 0;
  while (guest.config.has(`unused${index}`)) index += 1;
  guest.config.set(`unused${index}`, volid);
}

/** A pending value that is the current one, or the end of an option that is not there, is no change. */
function dropNeedless(guest: GuestState): void {
  for (const [option, value] of [...guest.pending]) {
    const current = guest.config.get(option);
    if (value === null ? current === undefined : current !== undefined && String(current) === String(value)) guest.pending.delete(option);
  }
}

/** What is attached is not unused: PVE cleans up at each write. */
export function dropAttached(guest: GuestState): void {
  const attached = new Set(
    [...guest.config].filter(([key]) => isDrive(guest.kind, key)).map(([key, value]) => parseDrive(key, value).volid),
  );
  for (const [key, value] of [...guest.config]) if (isUnused(key) && attached.has(parseDrive(key, value).volid)) guest.config.delete(key);
}
