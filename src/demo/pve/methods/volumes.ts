/** One volume (`/nodes/{node}/storage/{storage}/content/{volume}`), its making and its end. */
import { badParameters, failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, guestId, on, route, text } from '../api-method.ts';
import { free, parseVolume } from '../drives.ts';
import type { StorageState, VolumeState } from '../state.ts';
import { TaskError } from '../task-engine.ts';
import { requireStorage } from './storage.ts';

const path = '/nodes/{node}/storage/{storage}/content/{volume}';

export const volumeMethods: readonly ApiMethod[] = [
  route('POST /nodes/{node}/storage/{storage}/content', on('/storage/{storage}', 'Datastore.AllocateSpace'), allocate, {
    parameters: {
      vmid: guestId,
      filename: { type: 'string' },
      size: { type: 'string', pattern: '\\d+[MG]?' },
      format: { ...text, enum: ['raw', 'qcow2', 'subvol', 'vmdk'], requires: 'size' },
    },
  }),
  route(`GET ${path}`, 'all', attributes),
  route(`DELETE ${path}`, 'all', remove, { parameters: { delay: { type: 'integer', optional: true, minimum: 1, maximum: 30 } } }),
];

/** @throws {ApiError} 400 where the name has another storage in front than the path */
export function volidOf({ parameters }: ApiCall): string {
  const volume = parameters.text('volume') ?? '';
  const own = volume.slice(0, Math.max(0, volume.indexOf(':')));
  if (own !== '' && own !== parameters.text('storage'))
    throw badParameters({ volume: `storage ID mismatch (${own} != ${parameters.text('storage')})\n` });
  return volume.includes(':') ? volume : `${parameters.text('storage')}:${volume}`;
}

export function findVolume(call: ApiCall): VolumeState | undefined {
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

function demand({ cluster, user }: ApiCall, where: string, ...privileges: readonly string[]): void {
  if (!privileges.some((one) => cluster.access.holds(user, where, one))) throw forbidden(`${where}, ${privileges.join('|')}`);
}

/** `PVE::Storage::check_volume_access`. @throws {ApiError} 403 */
export function demandVolume(call: ApiCall, volume: VolumeState | undefined): void {
  const where = `/storage/${call.parameters.text('storage')}`;
  if (call.cluster.access.holds(call.user, where, 'Datastore.Allocate')) return;
  if (['iso', 'vztmpl', 'import'].includes(volume?.content ?? '')) {
    demand(call, where, 'Datastore.AllocateSpace', 'Datastore.Audit');
    return;
  }
  const [onStorage, onGuest] =
    volume?.content === 'backup' ? ['Datastore.AllocateSpace', 'VM.Backup'] : ['Datastore.Audit', 'VM.Config.Disk'];
  demand(call, where, onStorage);
  if (volume?.vmid !== undefined) demand(call, `/vms/${volume.vmid}`, onGuest);
}

function attributes(call: ApiCall): unknown {
  const volume = findVolume(call);
  demandVolume(call, volume);
  const storage = requireStorage(call);
  if (volume === undefined) throw failed(`volume_size_info on '${volidOf(call)}' failed - no such volume`);
  const { size, format, used = size, notes } = volume;
  const common = { path: fileOf(storage, volume.volid, volume.content), size, used, ...(notes === undefined ? {} : { notes }) };
  // An archive is a file like any other to the tool that looks.
  return volume.content === 'backup' ? { ...common, format: 'raw', protected: volume.protected ? 1 : 0 } : { ...common, format };
}

function allocate(call: ApiCall): string {
  const { cluster, parameters } = call;
  const storage = requireStorage(call);
  const vmid = parameters.integer('vmid') ?? 0;
  const name = parameters.text('filename') ?? '';
  const volid = `${storage.id}:${vmid}/${name}`;
  const [, format] = /\.(raw|qcow2|vmdk)$/.exec(name) ?? [];
  const wanted = parameters.text('format') ?? format;
  if (wanted !== format && format !== undefined) throw badParameters({ format: `different storage formats (${wanted} != ${format})` });
  if (format === undefined) throw failed(`unable to parse volume filename '${name}'`);
  if (cluster.state.volumes.some((one) => one.volid === volid))
    throw failed(`disk image '${fileOf(storage, volid, 'images')}' already exists`);
  cluster.state.volumes.push({
    ...{ storage: storage.id, node: storage.shared ? undefined : call.node, volid, content: 'images', format },
    ...{ size: bytesOf(parameters.text('size')), ctime: Math.floor(cluster.clock.now() / 1000), vmid, used: 4096, parent: null },
    ...{ subtype: undefined, notes: undefined, protected: false },
  });
  return volid;
}

/** KiB where no unit is given. */
function bytesOf(size = '0'): number {
  const factor = size.endsWith('G') ? 1_073_741_824 : size.endsWith('M') ? 1_048_576 : 1024;
  return Number.parseInt(size, 10) * factor;
}

/** @throws {TaskError} for a protected backup, or a base that clones stand on */
function refuseKept({ cluster }: ApiCall, volid: string): void {
  const [storage, name] = volid.split(/:(.*)/s);
  if (cluster.state.volumes.some((one) => one.parent === volid))
    throw new TaskError(
      `base volume '${name}' is still in use (use by '${cluster.state.volumes.find((one) => one.parent === volid)?.volid}')`,
    );
  if (cluster.state.volumes.find((one) => one.volid === volid)?.protected === true)
    throw new TaskError(`cannot remove protected volume '${name}' on '${storage}'`);
}

/** A backup goes with what its making takes. Who waits (`delay`) gets no UPID. A volume that is gone already is removed all the same. */
function remove(call: ApiCall): string | null {
  const { cluster, user } = call;
  const volid = volidOf(call);
  const where = `/storage/${call.parameters.text('storage')}`;
  const { owner } = parseVolume(volid);
  if (/:backup\//.test(volid) && owner !== undefined) {
    demand(call, where, 'Datastore.AllocateSpace');
    demand(call, `/vms/${owner}`, 'VM.Backup');
  } else demand(call, where, 'Datastore.Allocate');
  const waits = call.parameters.has('delay');
  const storage = requireStorage(call);
  const id = owner === undefined ? storage.id : `${owner}@${storage.id}`;
  const upid = cluster.tasks.start({ node: call.node, type: 'imgdel', id, user }, function* (task) {
    if (!waits) yield Math.ceil(cluster.taskDurationMs / 2);
    refuseKept(call, volid);
    const content = /:(backup|iso|vztmpl)\//.exec(volid)?.[1] ?? 'images';
    if (!free(cluster, volid)) task.log(`disk image '${fileOf(storage, volid, content)}' does not exist`);
    task.log(`Removed volume '${volid}'`);
  });
  return waits ? null : upid;
}
