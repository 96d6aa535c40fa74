/** `/nodes/{node}/storage/{storage}/content/{volume}`: one volume, its making and its end. */
import { failed, forbidden } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import type { StorageState, VolumeState } from '../state.ts';
import { readStorage, requireStorage } from './storage.ts';

const path = '/nodes/{node}/storage/{storage}/content/{volume}';

export const volumeMethods: readonly ApiMethod[] = [
  {
    verb: 'POST',
    path: '/nodes/{node}/storage/{storage}/content',
    permission: { path: '/storage/{storage}', privileges: ['Datastore.AllocateSpace'] },
    proxied: true,
    parameters: {
      vmid: { type: 'integer', format: 'pve-vmid', minimum: 100, maximum: 999_999_999 },
      filename: { type: 'string' },
      size: { type: 'string', pattern: '\\d+[MG]?' },
      format: { type: 'string', optional: true, enum: ['raw', 'qcow2', 'subvol', 'vmdk'], requires: 'size' },
    },
    run: allocate,
  },
  { verb: 'GET', path, permission: 'all', proxied: true, run: attributes },
  {
    verb: 'DELETE',
    path,
    permission: 'all',
    proxied: true,
    parameters: { delay: { type: 'integer', optional: true, minimum: 1, maximum: 30 } },
    run: remove,
  },
  {
    verb: 'GET',
    path: '/nodes/{node}/storage/{storage}/prunebackups',
    permission: readStorage,
    proxied: true,
    parameters: {
      'prune-backups': { type: 'string', optional: true },
      type: { type: 'string', optional: true, enum: ['qemu', 'lxc'] },
      vmid: { type: 'integer', optional: true, format: 'pve-vmid', minimum: 100, maximum: 999_999_999 },
    },
    run: prunable,
  },
];

function volidOf({ parameters }: ApiCall): string {
  const volume = parameters.text('volume') ?? '';
  return volume.includes(':') ? volume : `${parameters.text('storage')}:${volume}`;
}

function found(call: ApiCall): VolumeState | undefined {
  const volid = volidOf(call);
  return call.cluster.state.volumes.find((one) => one.volid === volid && (one.node === undefined || one.node === call.node));
}

const directories: Readonly<Record<string, string>> = {
  images: 'images',
  rootdir: 'images',
  iso: 'template/iso',
  vztmpl: 'template/cache',
  backup: 'dump',
};

function fileOf(storage: StorageState, volid: string, content: string): string {
  const name = volid.slice(volid.indexOf(':') + 1).replace(/^(?:iso|vztmpl|backup)\//, '');
  return `${storage.options['path'] ?? '/var/lib/vz'}/${directories[content] ?? 'images'}/${name}`;
}

function demand({ cluster, user, parameters }: ApiCall, privilege: string): void {
  const where = `/storage/${parameters.text('storage')}`;
  if (!cluster.access.holds(user, where, privilege)) throw forbidden(`${where}, ${privilege}`);
}

function attributes(call: ApiCall): unknown {
  const { cluster, user } = call;
  const volume = found(call);
  const readable = volume?.content === 'iso' || volume?.content === 'vztmpl';
  if (!readable || !cluster.access.holds(user, `/storage/${call.parameters.text('storage')}`, 'Datastore.AllocateSpace'))
    demand(call, 'Datastore.Audit');
  const storage = requireStorage(call);
  if (volume === undefined) throw failed(`volume_size_info on '${volidOf(call)}' failed - no such volume`);
  const { size, format, used = size } = volume;
  return {
    path: fileOf(storage, volume.volid, volume.content),
    size,
    format,
    used,
    ...(volume.notes === undefined ? {} : { notes: volume.notes }),
  };
}

function allocate(call: ApiCall): string {
  const { cluster, parameters } = call;
  const storage = requireStorage(call);
  const vmid = parameters.integer('vmid') ?? 0;
  const name = parameters.text('filename') ?? '';
  const volid = `${storage.id}:${vmid}/${name}`;
  if (cluster.state.volumes.some((one) => one.volid === volid)) throw failed(`disk image '${name}' already exists`);
  const format = parameters.text('format') ?? extensionOf(name);
  cluster.state.volumes.push({
    ...{ storage: storage.id, node: storage.shared ? undefined : call.node, volid, content: 'images', format },
    ...{ size: bytesOf(parameters.text('size')), ctime: Math.floor(cluster.clock.now() / 1000), vmid, used: 4096, parent: null },
    ...{ subtype: undefined, notes: undefined, protected: false },
  });
  return volid;
}

function extensionOf(name: string): string {
  return name.split('.').at(-1) ?? 'raw';
}

/** KiB where no unit is given. */
function bytesOf(size = '0'): number {
  const factor = size.endsWith('G') ? 1_073_741_824 : size.endsWith('M') ? 1_048_576 : 1024;
  return Number.parseInt(size, 10) * factor;
}

/** A backup may go with less: who could have made it may remove it. A volume that is gone already is removed all the same. */
function remove(call: ApiCall): string {
  const { cluster, user } = call;
  const volume = found(call);
  const where = `/storage/${call.parameters.text('storage')}`;
  const ownBackup = volume?.content === 'backup' && cluster.access.holds(user, `/vms/${volume.vmid}`, 'VM.Backup');
  if (!ownBackup || !cluster.access.holds(user, where, 'Datastore.AllocateSpace')) demand(call, 'Datastore.Allocate');
  const storage = requireStorage(call);
  const volid = volidOf(call);
  const [, owner] = /:(\d+)\//.exec(volid) ?? [];
  const id = owner === undefined ? storage.id : `${owner}@${storage.id}`;
  return cluster.tasks.start({ node: call.node, type: 'imgdel', id, user }, function* (task) {
    yield Math.ceil(cluster.taskDurationMs / 2);
    const at = cluster.state.volumes.findIndex((one) => one.volid === volid);
    if (at >= 0) cluster.state.volumes.splice(at, 1);
    else task.log(`disk image '${fileOf(storage, volid, 'images')}' does not exist`);
    task.log(`Removed volume '${volid}'`);
  });
}

function prunable(call: ApiCall): unknown {
  const storage = requireStorage(call);
  const backups = call.cluster.state.volumes.filter((one) => one.storage === storage.id && one.content === 'backup');
  const visible = backups.filter(({ vmid }) => call.cluster.access.holds(call.user, `/vms/${vmid}`, 'VM.Backup'));
  return visible.map(({ volid, ctime, vmid, subtype }) => ({ volid, ctime, mark: 'keep', type: subtype, vmid }));
}
