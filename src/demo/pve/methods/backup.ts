/** `POST /nodes/{node}/vzdump`. */
import { badParameters, forbidden } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import type { ParameterSpecs } from '../parameter.ts';
import { type GuestState, guestName } from '../state.ts';
import { type TaskContext, TaskError, type TaskSteps } from '../task-engine.ts';

const flag = { type: 'boolean', optional: true } as const;
const count = { type: 'integer', optional: true, minimum: 0 } as const;
const text = { type: 'string', optional: true } as const;

const parameters: ParameterSpecs = {
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

export const backupMethods: readonly ApiMethod[] = [
  { verb: 'POST', path: '/nodes/{node}/vzdump', permission: 'all', proxied: true, parameters, run: backup },
];

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
  require(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  const id = here.length === 1 ? String(here[0]) : '';
  return call.cluster.tasks.start({ node: call.node, type: 'vzdump', id, user: call.user }, (task) => dump(call, here, storage, task));
}

function require({ cluster, user }: ApiCall, path: string, privilege: string): void {
  if (!cluster.access.holds(user, path, privilege)) throw forbidden(`${path}, ${privilege}`);
}

function checkRights(call: ApiCall): void {
  for (const name of rootOnly)
    if (call.parameters.has(name) && call.user !== 'root@pam') throw badParameters({ [name]: 'Only root may set this option.' });
  if (tuning.some((name) => call.parameters.has(name))) require(call, '/', 'Sys.Modify');
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
