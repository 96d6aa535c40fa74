/** `/nodes/{node}/storage`. */
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, anyOf, flag, guestId, route, text } from '../api-method.ts';
import type { Cluster } from '../cluster.ts';
import { given } from '../figures.ts';
import { splitList } from '../formats.ts';
import type { StorageState, VolumeState } from '../state.ts';

export const readStorage = anyOf('/storage/{storage}', 'Datastore.Audit', 'Datastore.AllocateSpace');

export const storageMethods: readonly ApiMethod[] = [
  route('GET /nodes/{node}/storage', 'all', list, {
    unordered: true,
    parameters: {
      storage: { ...text, format: 'pve-storage-id' },
      content: { ...text, format: 'pve-storage-content-list' },
      enabled: flag,
      target: { ...text, format: 'pve-node' },
      format: flag,
    },
  }),
  route('GET /nodes/{node}/storage/{storage}/content', readStorage, content, {
    parameters: { content: { ...text, format: 'pve-storage-content' }, vmid: { ...guestId, optional: true } },
  }),
  route('GET /nodes/{node}/storage/{storage}/status', readStorage, status),
];

function isOn(storage: StorageState, node: string): boolean {
  return storage.nodes?.includes(node) ?? true;
}

function isEnabled(storage: StorageState, node: string): boolean {
  return !storage.disabled && isOn(storage, node);
}

/** A storage that is disabled or not for this node is described all the same, with zeros. */
function figures(storage: StorageState, node: string): Record<string, unknown> {
  const enabled = isEnabled(storage, node);
  const total = enabled ? storage.totalBytes : 0;
  const used = enabled ? storage.usedBytes : 0;
  const state = { enabled: enabled ? 1 : 0, active: enabled ? 1 : 0, shared: storage.shared ? 1 : 0 };
  return { type: storage.type, content: storage.content.join(','), ...state, total, used, avail: total - used };
}

function list({ cluster, node, user, parameters }: ApiCall): unknown {
  const only = parameters.text('storage');
  const types = parameters.has('content') ? splitList(parameters.text('content') ?? '') : undefined;
  const target = ['localhost', node].includes(parameters.text('target') ?? node) ? undefined : parameters.text('target');
  const known = [...cluster.state.storages.values()].filter(
    (storage) => types === undefined || (isEnabled(storage, node) && types.some((type) => storage.content.includes(type))),
  );
  if (only !== undefined && !known.some((storage) => storage.id === only)) throw badParameters({ storage: 'No such storage.' });
  return known
    .filter((storage) => only === undefined || storage.id === only)
    .filter((storage) => mayRead(cluster, user, storage.id))
    .filter((storage) => !parameters.flag('enabled') || !storage.disabled)
    .filter((storage) => target === undefined || (storage.shared && isOn(storage, node) && isOn(storage, target)))
    .map((storage) => {
      const formats = parameters.flag('format') && isEnabled(storage, node) ? formatsOf(storage.type) : {};
      const fraction = isEnabled(storage, node) ? { used_fraction: storage.usedBytes / storage.totalBytes } : {};
      return { storage: storage.id, ...figures(storage, node), ...fraction, ...formats };
    });
}

const fileFormats = ['raw', 'qcow2', 'vmdk', 'subvol'];

/** Image formats of a storage type, and the one taken by default: both in the old form and the new. */
function formatsOf(type: string): object {
  const byType: Readonly<Record<string, readonly string[]>> = {
    btrfs: ['raw', 'subvol'],
    lvmthin: ['raw'],
    lvm: ['raw'],
    rbd: ['raw'],
    zfspool: ['raw', 'subvol'],
  };
  const supported = byType[type] ?? fileFormats;
  return { format: [Object.fromEntries(supported.map((one) => [one, 1])), 'raw'], formats: { supported, default: 'raw' } };
}

function mayRead(cluster: Cluster, user: string, storage: string): boolean {
  return readStorage.privileges.some((privilege) => cluster.access.holds(user, `/storage/${storage}`, privilege));
}

/** @throws {ApiError} 500 in PVE's three ways: no such storage, disabled, not on this node */
export function requireStorage({ cluster, node, parameters }: ApiCall): StorageState {
  const id = parameters.text('storage') ?? '';
  const storage = cluster.state.storages.get(id);
  if (storage === undefined) throw failed(`storage '${id}' does not exist`);
  if (storage.disabled) throw failed(`storage '${id}' is disabled`);
  if (!isOn(storage, node)) throw failed(`storage '${id}' is not available on node '${node}'`);
  return storage;
}

function content(call: ApiCall): unknown {
  const storage = requireStorage(call);
  const type = call.parameters.text('content');
  const vmid = call.parameters.integer('vmid');
  return call.cluster.state.volumes
    .filter((volume) => volume.storage === storage.id && (volume.node === undefined || volume.node === call.node))
    .filter((volume) => storage.content.includes(volume.content) && (type === undefined || volume.content === type))
    .filter((volume) => vmid === undefined || volume.vmid === vmid)
    .filter((volume) => maySee(call, volume))
    .sort((one, other) => (one.volid.toLowerCase() < other.volid.toLowerCase() ? -1 : 1))
    .map(row);
}

/**
 * Volumes the caller may not use are left out without a word (`PVE::Storage::check_volume_access`): a backup needs
 * `Datastore.AllocateSpace` on the storage and `VM.Backup` on its guest, a disk `VM.Config.Disk`.
 */
function maySee({ cluster, user }: ApiCall, volume: VolumeState): boolean {
  const storagePath = `/storage/${volume.storage}`;
  const onStorage = (privilege: string) => cluster.access.holds(user, storagePath, privilege);
  const onGuest = (privilege: string) => cluster.access.holds(user, `/vms/${volume.vmid}`, privilege);
  if (onStorage('Datastore.Allocate')) return true;
  if (['iso', 'vztmpl', 'import'].includes(volume.content)) return true;
  if (volume.vmid === undefined) return false;
  if (volume.content === 'backup') return onStorage('Datastore.AllocateSpace') && onGuest('VM.Backup');
  return onStorage('Datastore.Audit') && onGuest('VM.Config.Disk');
}

function row({ content: type, protected: kept, ...volume }: VolumeState): object {
  const { volid, format, size, ctime, vmid, subtype, notes, used, parent } = volume;
  return given({ volid, content: type, format, size, ctime, vmid, subtype, notes, used, parent, protected: kept ? 1 : undefined });
}

function status({ cluster, node, parameters }: ApiCall): unknown {
  const storage = cluster.state.storages.get(parameters.text('storage') ?? '');
  if (storage === undefined) throw badParameters({ storage: 'No such storage.' });
  return figures(storage, node);
}
