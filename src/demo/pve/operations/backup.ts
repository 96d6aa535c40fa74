/**
 * `vzdump`: one job a node at a time, others wait for the lock. A guest on another node is left to that node, without a word. In stop mode
 * the guest is shut down first, up to ten minutes, and started again.
 */
import { badParameters } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { storagePath, unusable } from '../drives.ts';
import type { StorageState } from '../state.ts';
import { type TaskContext, TaskError, TaskInterrupted, type TaskPlan, type TaskSteps } from '../task-engine.ts';
import { backUp } from './backup-guest.ts';
import { requirePool } from './new-guest.ts';

export const backupMethods: readonly ApiMethod[] = [operation('POST /nodes/{node}/vzdump', start)];

const rootOnly = ['tmpdir', 'dumpdir', 'script', 'job-id'];
const tuning = ['bwlimit', 'performance', 'ionice'];

/** Rights that a backup and a backup job take alike. @throws {ApiError} */
export function checkBackupRights(call: ApiCall): void {
  if (call.user === 'root@pam') return;
  for (const name of rootOnly) if (call.parameters.has(name)) throw badParameters({ [name]: 'Only root may set this option.' });
  if (tuning.some((name) => call.parameters.has(name))) requirePrivilege(call, '/', 'Sys.Modify');
}

/** @param complete whether something has to be chosen @throws {ApiError} 400 */
export function checkChoice({ parameters }: Pick<ApiCall, 'parameters'>, complete: boolean): void {
  const given = (name: string) => !['', '0'].includes(parameters.text(name) ?? '');
  const conflict = given('vmid') ? ['all', 'exclude', 'pool'].find(given) : undefined;
  if (conflict !== undefined) throw badParameters({ [conflict]: "option conflicts with option 'vmid'" });
  const template = parameters.text('notes-template') ?? '';
  const unknown = template.includes('\n') ? 'contains a line feed' : unknownIn(template);
  if (unknown !== undefined) throw badParameters({ 'notes-template': `${unknown}\n` });
  if (complete && !['vmid', 'all', 'exclude', 'pool', 'stop'].some(given)) throw badParameters({ vmid: 'property is missing' });
}

/** Escapes and variables that a template of notes may not have; undefined: none. */
function unknownIn(template: string): string | undefined {
  const escapes = [...template.matchAll(/\\(.)/g)].filter(([, one]) => one !== 'n' && one !== '\\');
  const variables = [...template.matchAll(/\{\{([^\s{}]+)\}\}/g)].filter(
    ([, name = '']) => !['cluster', 'guestname', 'node', 'vmid'].includes(name),
  );
  const problems = [
    ...escapes.map((one) => `escape sequence '${one[0]}' at char ${one.index}`),
    ...variables.map((one) => `variable '${one[1]}' at char ${one.index + 4}`),
  ];
  return problems.length === 0 ? undefined : `found unknown: ${problems.join(', ')}`;
}

function start(call: ApiCall): string {
  const { parameters, cluster, node, user } = call;
  refuseForTerminal(call);
  checkBackupRights(call);
  const storage = parameters.text('storage') ?? 'local';
  if (parameters.has('prune-backups') && user !== 'root@pam') requirePrivilege(call, `/storage/${storage}`, 'Datastore.Allocate');
  checkChoice(call, true);
  if (parameters.flag('stop')) stopRunning(call);
  const { local, elsewhere } = chosenGuests(call);
  if (local.length === 0 && !everything(call)) return 'OK';
  requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  const id = local.length === 1 ? String(local[0]) : '';
  return cluster.tasks.start({ node, type: 'vzdump', id, user }, jobPlan(call, { local, elsewhere, storage }));
}

/** @throws {ApiError} 400 */
function refuseForTerminal({ parameters, node }: ApiCall): void {
  const reason = 'option is only allowed on the command line interface.';
  if (parameters.has('node') && parameters.text('node') !== node) throw badParameters({ node: reason });
  if (parameters.flag('stdout')) throw badParameters({ stdout: reason });
}

/** `stop`: the node's running job ends first. @throws {ApiError} 403 */
function stopRunning(call: ApiCall): void {
  const { tasks } = call.cluster;
  requirePrivilege(call, `/nodes/${call.node}`, 'Sys.Modify');
  const running = tasks.list().filter((task) => task.type === 'vzdump' && task.node === call.node && task.exitstatus === undefined);
  for (const { upid } of running) tasks.interrupt(upid);
}

function everything({ parameters }: ApiCall): boolean {
  return parameters.flag('all') || (parameters.has('exclude') && !parameters.has('pool'));
}

interface Choice {
  readonly local: readonly number[];
  readonly elsewhere: readonly number[];
}

/** A guest that is gone counts as local, so that the job fails visibly. */
function chosenGuests(call: ApiCall): Choice {
  const { state } = call.cluster;
  const { parameters } = call;
  const pool = parameters.text('pool');
  requirePool(call, pool);
  const excluded = new Set(parameters.list('exclude').map(Number));
  const ofPool = pool === undefined ? undefined : [...(state.pools.get(pool)?.guests ?? [])];
  const all = everything(call) ? [...state.guests.keys()].filter((vmid) => !excluded.has(vmid)) : [];
  const wanted = ofPool ?? (parameters.has('vmid') ? [...new Set(parameters.list('vmid').map(Number))] : all);
  const isLocal = (vmid: number) => (state.guests.get(vmid)?.node ?? call.node) === call.node;
  return { local: wanted.filter(isLocal), elsewhere: wanted.filter((vmid) => !isLocal(vmid)) };
}

type Job = Choice & { readonly storage: string };

function jobPlan(call: ApiCall, job: Job): TaskPlan {
  return function* (task) {
    checkTarget(call, job.storage);
    yield* withLock(call, task, () => runJob(call, job, task));
  };
}

/** @throws {TaskError} */
function checkTarget({ cluster, node }: ApiCall, id: string): StorageState | undefined {
  const storage = cluster.state.storages.get(id);
  const inactive = unusable(cluster.state, id, node);
  const wrong =
    storage === undefined
      ? inactive
      : storage.content.includes('backup')
        ? undefined
        : `can't use storage '${id}' for backups - wrong content type`;
  const reasons = [
    ...(inactive === undefined ? [] : [`could not activate storage '${id}': ${inactive}`]),
    ...(wrong === undefined ? [] : [`could not get storage information for '${id}': ${wrong}`]),
  ];
  if (reasons.length > 0) throw new TaskError(reasons.join(' '));
  return storage;
}

const lockPollMs = 1000;
const lockFile = '/var/run/vzdump.lock';

/** The node's one lock. A worker that is stopped while it waits ends without a last line. */
function* withLock({ cluster, node, parameters }: ApiCall, task: TaskContext, steps: () => TaskSteps): TaskSteps {
  const { backupsRunning } = cluster.state;
  const limitMs = (parameters.integer('lockwait') ?? 180) * 60_000;
  if (backupsRunning.has(node)) {
    task.log('INFO: trying to get global lock - waiting...');
    const failure = yield* waitForLock(() => !backupsRunning.has(node), limitMs);
    if (failure !== undefined) {
      task.log(`ERROR: can't acquire lock '${lockFile}' - ${failure}`);
      yield Number.POSITIVE_INFINITY;
    }
    task.log('INFO: got global lock');
  }
  backupsRunning.add(node);
  try {
    return yield* steps();
  } finally {
    backupsRunning.delete(node);
  }
}

function* waitForLock(done: () => boolean, limitMs: number): Generator<number, string | undefined, undefined> {
  try {
    for (let waited = 0; !done(); waited += lockPollMs) {
      if (waited >= limitMs) return 'got timeout';
      yield lockPollMs;
    }
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof TaskInterrupted)) throw thrown;
    return 'interrupted by signal';
  }
}

/** The request as PVE tells it again. */
function commandLine({ parameters, node }: ApiCall): string {
  const names = parameters.names().filter((name) => !['vmid', 'stdout', 'job-id', 'node'].includes(name) && parameters.text(name) !== '');
  const shown = new Map([...names.map((name): [string, string] => [name, parameters.text(name) ?? '']), ['node', node]]);
  const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
  return ['vzdump', ...parameters.list('vmid'), ...[...shown].map(([name, value]) => `--${name} ${quote(value)}`)].join(' ');
}

function* runJob(call: ApiCall, job: Job, task: TaskContext): TaskSteps {
  const { cluster } = call;
  task.log(`INFO: starting new backup job: ${commandLine(call)}`);
  const skipped = [...job.elsewhere].sort((one, other) => one - other);
  if (skipped.length > 0) task.log(`INFO: skip external VMs: ${skipped.join(', ')}`);
  let failures = 0;
  for (const vmid of allowedGuests(call, job)) {
    const path = `${storagePath(cluster.state, job.storage)}/dump`;
    const wish = { call, vmid, guest: cluster.state.guests.get(vmid), storage: job.storage, path, task };
    if (!(yield* backUp(wish))) failures += 1;
  }
  task.log(failures === 0 ? 'INFO: Backup job finished successfully' : 'INFO: Backup job finished with errors');
  if (failures > 0) throw new TaskError('job errors');
}

/** Of all guests those that the caller may save; one that was named and may not is the job's end. @throws {TaskError} */
function allowedGuests(call: ApiCall, { local }: Job): number[] {
  const { cluster, user } = call;
  const mayNot = (vmid: number) => cluster.state.guests.has(vmid) && !cluster.access.holds(user, `/vms/${vmid}`, 'VM.Backup');
  const ids = [...local].sort((one, other) => one - other);
  const refused = everything(call) ? undefined : ids.find(mayNot);
  if (refused !== undefined) throw new TaskError(`403 Permission check failed (/vms/${refused}, VM.Backup)`);
  return ids.filter((vmid) => !mayNot(vmid));
}
