/** Disks of guests: how a configuration names them, and the volumes behind them (`PVE/QemuServer/Drive.pm`, `PVE/Storage.pm`). */
import { failed } from './api-error.ts';
import type { Cluster } from './cluster.ts';
import { drivePlaces, mountPlaces } from './declared/read-tables.ts';
import { formatSize, parseSize } from './guest-config.ts';
import type { ClusterState, ConfigValue, GuestKind, GuestState, StorageState, VolumeState } from './state.ts';

export interface Drive {
  /** `scsi0`, `rootfs`, `unused1`. */
  readonly place: string;
  /** The volume, or what stands there instead: `none`, `cdrom`, a path. */
  readonly volid: string;
  /** Undefined: no volume of a storage. */
  readonly storage: string | undefined;
  /** Everything behind the volume, in its order. */
  readonly options: ReadonlyMap<string, string>;
}

const places: Readonly<Record<GuestKind, ReadonlySet<string>>> = { qemu: new Set(drivePlaces), lxc: new Set(mountPlaces) };

/** Whether an option is a disk or mount point. */
export function isDrive(kind: GuestKind, place: string): boolean {
  return places[kind].has(place);
}

export function isUnused(place: string): boolean {
  return /^unused\d+$/.test(place);
}

export function parseDrive(place: string, value: ConfigValue): Drive {
  const options = new Map<string, string>();
  let volid = '';
  for (const part of String(value).split(',')) {
    const [key = '', text] = part.split(/=(.*)/s);
    if (text === undefined || key === 'file' || key === 'volume') volid = text ?? key;
    else options.set(key, text);
  }
  const [, storage] = /^([a-z][a-z0-9\-_.]*[a-z0-9]):/i.exec(volid) ?? [];
  return { place, volid, storage, options };
}

/** As PVE writes it: the volume first, then the options by name. */
export function printDrive({ volid, options }: Pick<Drive, 'volid' | 'options'>): string {
  const pairs = [...options].sort(([one], [other]) => (one < other ? -1 : 1));
  return [volid, ...pairs.map(([key, value]) => `${key}=${value}`)].join(',');
}

export function isCdrom({ options }: Drive): boolean {
  return options.get('media') === 'cdrom';
}

export function sizeOf({ options }: Drive): number | undefined {
  return parseSize(options.get('size') ?? '');
}

/** A copy with another volume or size. */
export function withVolume(drive: Drive, volid: string, size: number | undefined): Drive {
  const options = new Map(drive.options);
  if (size === undefined) options.delete('size');
  else options.set('size', formatSize(size));
  return { ...drive, volid, options };
}

/** Disks with a volume behind them, in PVE's order of places: no CD-ROM, nothing unused. */
export function disksOf(kind: GuestKind, config: ReadonlyMap<string, ConfigValue>): Drive[] {
  const order = kind === 'qemu' ? drivePlaces : mountPlaces;
  const present = [...config.keys()].filter((key) => isDrive(kind, key));
  return present
    .sort((one, other) => order.indexOf(one) - order.indexOf(other))
    .map((place) => parseDrive(place, config.get(place) ?? ''))
    .filter((drive) => drive.storage !== undefined && !isCdrom(drive));
}

/** The same, with those that are not attached any more. */
export function volumesIn(kind: GuestKind, config: ReadonlyMap<string, ConfigValue>): Drive[] {
  const loose = [...config.keys()].filter(isUnused).map((place) => parseDrive(place, config.get(place) ?? ''));
  return [...disksOf(kind, config), ...loose];
}

/** What a volume's name says: `901/base-901-disk-0.qcow2/123/vm-123-disk-0.qcow2` is guest 123's, on top of 901's. */
export interface VolumeName {
  /** The last part: `vm-123-disk-0.qcow2`. */
  readonly file: string;
  readonly owner: number | undefined;
  readonly format: string;
  /** The volume that this one is a linked clone of. */
  readonly base: string | undefined;
}

export function parseVolume(volid: string): VolumeName {
  const [, storage = '', name = ''] = /^([^:]*):(.*)$/s.exec(volid) ?? [];
  const parts = name.split('/');
  const file = parts.at(-1) ?? '';
  const [, owner] = /^(?:vm|base|subvol|basevol|vzdump-(?:qemu|lxc))-(\d+)-/.exec(file) ?? [];
  const base = baseIn(parts);
  return {
    file,
    owner: owner === undefined ? undefined : Number(owner),
    format: formatOf(file),
    base: base === undefined ? undefined : `${storage}:${base}`,
  };
}

function formatOf(file: string): string {
  if (file.startsWith('subvol-')) return 'subvol';
  return /\.(raw|qcow2|vmdk|subvol)$/.exec(file)?.[1] ?? 'raw';
}

/** The part of a linked clone's name that is its base: two levels of a file's, one of another's. */
function baseIn(parts: readonly string[]): string | undefined {
  if (parts.length > 2) return parts.slice(0, 2).join('/');
  return parts.length === 2 && parts[0]?.startsWith('base-') === true ? parts[0] : undefined;
}

/** The volumes that a guest's configuration names, for a state that knows of no others. */
export function namedVolumes(
  guest: Pick<GuestState, 'kind' | 'node' | 'vmid' | 'config'>,
  shared: (storage: string) => boolean,
): VolumeState[] {
  return volumesIn(guest.kind, guest.config).map((drive) => {
    const { owner, format, base } = parseVolume(drive.volid);
    const storage = drive.storage ?? '';
    return {
      ...{ storage, node: shared(storage) ? undefined : guest.node, volid: drive.volid, format, parent: base ?? null },
      ...{ content: guest.kind === 'lxc' ? 'rootdir' : 'images', size: sizeOf(drive) ?? 1024 ** 3, vmid: owner ?? guest.vmid },
      ...{ ctime: 1_795_374_344, used: 200_704, subtype: undefined, notes: undefined, protected: false },
    };
  });
}

/** A directory of files; the others have names without a directory. */
const fileTypes: ReadonlySet<string> = new Set(['dir', 'nfs', 'cifs', 'cephfs', 'btrfs']);

export function isFileStorage(storage: StorageState | undefined): boolean {
  return storage === undefined || fileTypes.has(storage.type);
}

export function storagePath(state: ClusterState, storage: string): string {
  const known = state.storages.get(storage);
  return known?.options['path'] ?? (known?.type === 'nfs' ? `/mnt/pve/${storage}` : '/var/lib/vz');
}

/** Path of a volume's file. */
export function volumePath(state: ClusterState, volid: string): string {
  const at = volid.indexOf(':');
  const name = volid.slice(at + 1);
  const parts = name.split('/');
  return `${storagePath(state, volid.slice(0, at))}/images/${parts.length > 2 ? parts.slice(2).join('/') : name}`;
}

export interface Allocation {
  readonly storage: string;
  readonly node: string;
  readonly kind: GuestKind;
  readonly vmid: number;
  /** Undefined: the storage's own. */
  readonly format: string | undefined;
  readonly size: number;
  /** The volume that it is a linked clone of. */
  readonly base?: string;
}

/** Makes a volume under the next free name. @returns the volume, and what the tools print */
export function allocate(cluster: Cluster, wish: Allocation): { readonly volume: VolumeState; readonly log: readonly string[] } {
  const { state } = cluster;
  const storage = state.storages.get(wish.storage);
  const format = wish.format ?? 'raw';
  const files = isFileStorage(storage);
  const index = nextIndex(state, wish);
  const file = `vm-${wish.vmid}-disk-${index}${files ? `.${format}` : ''}`;
  const own = files ? `${wish.vmid}/${file}` : file;
  const volume: VolumeState = {
    ...{ storage: wish.storage, node: storage?.shared === true ? undefined : wish.node, format, size: wish.size, vmid: wish.vmid },
    ...{ volid: `${wish.base ?? `${wish.storage}:`}${wish.base === undefined ? '' : '/'}${own}`, parent: wish.base ?? null, used: 200_704 },
    ...{ content: wish.kind === 'lxc' ? 'rootdir' : 'images', ctime: Math.floor(cluster.clock.now() / 1000) },
    ...{ subtype: undefined, notes: undefined, protected: false },
  };
  state.volumes.push(volume);
  return { volume, log: [creationLine(state, volume)] };
}

/** The first number that none of the guest's volumes on the storage has. */
function nextIndex(state: ClusterState, { storage, vmid }: Allocation): number {
  const files = state.volumes.filter((one) => one.storage === storage).map(({ volid }) => parseVolume(volid).file);
  const taken = new Set(files.map((file) => new RegExp(`^(?:vm|base)-${vmid}-disk-(\\d+)`).exec(file)?.[1]));
  let index = 0;
  while (taken.has(String(index))) index += 1;
  return index;
}

/** What the tools print when they make a volume. */
export function creationLine(state: ClusterState, made: Pick<VolumeState, 'volid' | 'storage' | 'size' | 'format' | 'parent'>): string {
  const { volid, storage, size, format, parent } = made;
  const { file } = parseVolume(volid);
  if (!isFileStorage(state.storages.get(storage))) return `  Logical volume "${file}" created.`;
  const head = `Formatting '${volumePath(state, volid)}', fmt=${format}`;
  if (format !== 'qcow2') return `${head} size=${size} preallocation=off`;
  const backing =
    parent == null ? '' : ` backing_file=../${parent.slice(parent.indexOf(':') + 1)} backing_fmt=${parseVolume(parent).format}`;
  const clusters = parent == null ? 'cluster_size=65536 extended_l2=off' : 'cluster_size=131072 extended_l2=on';
  return `${head} ${clusters} preallocation=metadata compression_type=zlib size=${size}${backing} lazy_refcounts=off refcount_bits=16`;
}

/** Takes a volume away. @returns whether it was there */
export function free({ state }: Cluster, volid: string): boolean {
  const at = state.volumes.findIndex((one) => one.volid === volid);
  if (at >= 0) state.volumes.splice(at, 1);
  return at >= 0;
}

/** @throws {ApiError} 500 in PVE's three ways: no such storage, disabled, not on that node */
export function usableStorage({ state }: Cluster, id: string, node: string | undefined): StorageState {
  const reason = unusable(state, id, node);
  const storage = state.storages.get(id);
  if (reason !== undefined || storage === undefined) throw failed(reason ?? '');
  return storage;
}

/** Why a storage cannot be used on a node; undefined: it can. */
export function unusable(state: ClusterState, id: string, node: string | undefined): string | undefined {
  const storage = state.storages.get(id);
  if (storage === undefined) return `storage '${id}' does not exist`;
  if (storage.disabled) return `storage '${id}' is disabled`;
  if (node !== undefined && storage.nodes?.includes(node) === false) return `storage '${id}' is not available on node '${node}'`;
  return undefined;
}
