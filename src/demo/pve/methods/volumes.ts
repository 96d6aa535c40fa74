/** One volume (`/nodes/{node}/storage/{storage}/content/{volume}`), its making and its end; and backups (`/nodes/{node}/vzdump`). */
import { badParameters, failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, count, flag, guestId, on, requirePrivilege, route, text } from '../api-method.ts';
import type { ParameterSpecs } from '../parameter.ts';
import { type GuestState, guestName, type StorageState, type VolumeState } from '../state.ts';
import { type TaskContext, TaskError, type TaskSteps } from '../task-engine.ts';
import { readStorage, requireStorage } from './storage.ts';

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
  route('GET /nodes/{node}/storage/{storage}/prunebackups', readStorage, prunable, {
    parameters: { 'prune-backups': text, type: { ...text, enum: ['qemu', 'lxc'] }, vmid: { ...guestId, optional: true } },
  }),
];

/** @throws {ApiError} 400 where the name has another storage in front than the path */
function volidOf({ parameters }: ApiCall): string {
  const volume = parameters.text('volume') ?? '';
  const own = volume.slice(0, Math.max(0, volume.indexOf(':')));
  if (own !== '' && own !== parameters.text('storage'))
    throw badParameters({ volume: `storage ID mismatch (${own} != ${parameters.text('storage')})\n` });
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

function demand({ cluster, user }: ApiCall, where: string, ...privileges: readonly string[]): void {
  if (!privileges.some((one) => cluster.access.holds(user, where, one))) throw forbidden(`${where}, ${privileges.join('|')}`);
}

/** `PVE::Storage::check_volume_access`. @throws {ApiError} 403 */
function demandVolume(call: ApiCall, volume: VolumeState | undefined): void {
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
  const volume = found(call);
  demandVolume(call, volume);
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

/** A backup goes with what its making takes. Who waits (`delay`) gets no UPID. A volume that is gone already is removed all the same. */
function remove(call: ApiCall): string | null {
  const { cluster, user } = call;
  const volume = found(call);
  const where = `/storage/${call.parameters.text('storage')}`;
  if (volume?.content === 'backup') {
    demand(call, where, 'Datastore.AllocateSpace');
    demand(call, `/vms/${volume.vmid}`, 'VM.Backup');
  } else demand(call, where, 'Datastore.Allocate');
  const waits = call.parameters.has('delay');
  const storage = requireStorage(call);
  const volid = volidOf(call);
  const [, owner] = /:(\d+)\//.exec(volid) ?? [];
  const id = owner === undefined ? storage.id : `${owner}@${storage.id}`;
  const upid = cluster.tasks.start({ node: call.node, type: 'imgdel', id, user }, function* (task) {
    if (!waits) yield Math.ceil(cluster.taskDurationMs / 2);
    const at = cluster.state.volumes.findIndex((one) => one.volid === volid);
    if (at >= 0) cluster.state.volumes.splice(at, 1);
    else task.log(`disk image '${fileOf(storage, volid, 'images')}' does not exist`);
    task.log(`Removed volume '${volid}'`);
  });
  return waits ? null : upid;
}

function prunable(call: ApiCall): unknown {
  const storage = requireStorage(call);
  const backups = call.cluster.state.volumes.filter((one) => one.storage === storage.id && one.content === 'backup');
  const visible = backups.filter(({ vmid }) => call.cluster.access.holds(call.user, `/vms/${vmid}`, 'VM.Backup'));
  return visible.map(({ volid, ctime, vmid, subtype }) => ({ volid, ctime, mark: 'keep', type: subtype, vmid }));
}

const backupParameters: ParameterSpecs = {
  node: { ...text, format: 'pve-node' },
  all: flag,
  quiet: flag,
  remove: flag,
  stdexcludes: flag,
  stdout: flag,
  stop: flag,
  bwlimit: count,
  lockwait: count,
  stopwait: count,
  ionice: { ...count, maximum: 8 },
  maxfiles: { ...count, minimum: 1 },
  pigz: { type: 'integer', optional: true },
  zstd: { type: 'integer', optional: true },
  dumpdir: text,
  fleecing: text,
  mailto: text,
  performance: text,
  pool: text,
  'prune-backups': text,
  script: text,
  tmpdir: text,
  'exclude-path': { type: 'array', optional: true },
  'job-id': { ...text, maxLength: 50, pattern: '\\S+' },
  'notes-template': { ...text, maxLength: 1024, requires: 'storage' },
  protected: { ...flag, requires: 'storage' },
  vmid: { ...text, format: 'pve-vmid-list' },
  exclude: { ...text, format: 'pve-vmid-list' },
  storage: { ...text, format: 'pve-storage-id' },
  compress: { ...text, enum: ['0', '1', 'gzip', 'lzo', 'zstd'] },
  mode: { ...text, enum: ['snapshot', 'suspend', 'stop'] },
  mailnotification: { ...text, enum: ['always', 'failure'] },
  'notification-mode': { ...text, enum: ['auto', 'legacy-sendmail', 'notification-system'] },
  'pbs-change-detection-mode': { ...text, enum: ['legacy', 'data', 'metadata'] },
};

const rootOnly = ['tmpdir', 'dumpdir', 'script', 'job-id'];
const tuning = ['bwlimit', 'performance', 'ionice'];

export const backupMethods: readonly ApiMethod[] = [route('POST /nodes/{node}/vzdump', 'all', backup, { parameters: backupParameters })];

function backup(call: ApiCall): string {
  checkRights(call);
  const wanted = call.parameters.list('vmid').map(Number);
  checkChoice(call, wanted);
  const { state } = call.cluster;
  const all = call.parameters.flag('all') ? [...state.guests.keys()] : wanted;
  // A guest that is gone is kept, so that the task fails visibly; one on another node is left to that node.
  const here = all.filter((vmid) => (state.guests.get(vmid)?.node ?? call.node) === call.node);
  if (here.length === 0 && !call.parameters.flag('all')) return 'OK';
  const storage = call.parameters.text('storage') ?? 'local';
  requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  const id = here.length === 1 ? String(here[0]) : '';
  return call.cluster.tasks.start({ node: call.node, type: 'vzdump', id, user: call.user }, (task) => dump(call, here, storage, task));
}

function checkRights(call: ApiCall): void {
  for (const name of rootOnly)
    if (call.parameters.has(name) && call.user !== 'root@pam') throw badParameters({ [name]: 'Only root may set this option.' });
  if (tuning.some((name) => call.parameters.has(name))) requirePrivilege(call, '/', 'Sys.Modify');
  if (call.parameters.flag('stdout')) throw badParameters({ stdout: 'option is only allowed on the command line interface.' });
}

function checkChoice({ parameters: given }: ApiCall, wanted: readonly number[]): void {
  for (const name of ['all', 'exclude', 'pool']) {
    if (wanted.length > 0 && given.has(name) && given.text(name) !== '0')
      throw badParameters({ [name]: "option conflicts with option 'vmid'" });
  }
  if (wanted.length === 0 && !['all', 'stop', 'pool'].some((name) => given.has(name))) throw badParameters({ vmid: 'property is missing' });
}

function* dump(call: ApiCall, vmids: readonly number[], storage: string, task: TaskContext): TaskSteps {
  task.log(`INFO: starting new backup job: vzdump ${vmids.join(' ')} --storage ${storage}`);
  const failures = [];
  for (const vmid of vmids) {
    const guest = call.cluster.state.guests.get(vmid);
    const error =
      guest === undefined || !call.cluster.access.holds(call.user, `/vms/${vmid}`, 'VM.Backup') ? missing(vmid, guest) : undefined;
    if (guest === undefined || error !== undefined) {
      failures.push(error);
      task.log(`ERROR: Backup of VM ${vmid} failed - ${error}`);
      continue;
    }
    task.log(`INFO: Starting Backup of VM ${vmid} (${guest.kind})`);
    yield call.cluster.taskDurationMs * 2;
    keep(call, guest, storage, task);
  }
  task.log(failures.length === 0 ? 'INFO: Backup job finished successfully' : 'INFO: Backup job finished with errors');
  if (failures.length > 0) throw new TaskError('job errors');
}

function missing(vmid: number, guest: GuestState | undefined): string {
  return guest === undefined ? `unable to find VM '${vmid}'` : 'Permission check failed';
}

function keep(call: ApiCall, guest: GuestState, storage: string, task: TaskContext): void {
  const date = new Date(task.now());
  const stamp = date
    .toISOString()
    .slice(0, 19)
    .replace('T', '-')
    .replace(/:/g, '_')
    .replace(/^(\d+)-(\d+)-(\d+)/, '$1_$2_$3');
  const format = guest.kind === 'qemu' ? 'vma.zst' : 'tar.zst';
  call.cluster.state.volumes.push({
    storage,
    node: call.cluster.state.storages.get(storage)?.shared === true ? undefined : call.node,
    volid: `${storage}:backup/vzdump-${guest.kind}-${guest.vmid}-${stamp}.${format}`,
    content: 'backup',
    format,
    size: 734_003_200,
    ctime: Math.floor(task.now() / 1000),
    vmid: guest.vmid,
    subtype: guest.kind,
    notes: guestName(guest),
    protected: call.parameters.flag('protected'),
    ...{ used: undefined, parent: undefined },
  });
  task.log(`INFO: Finished Backup of VM ${guest.vmid}`);
}
