/** `/nodes/{node}/tasks`. A token sees its own tasks, a user those of its tokens too; `Sys.Audit` on the node shows all. */
import { badParameters, failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, count, flag, guestId, route, text } from '../api-method.ts';
import { splitList } from '../formats.ts';
import type { TaskRecord } from '../task-engine.ts';
import { decodeUpid, splitTokenId } from '../upid.ts';

export const taskMethods: readonly ApiMethod[] = [
  route('GET /nodes/{node}/tasks', 'all', list, {
    parameters: {
      start: count,
      limit: count,
      userfilter: text,
      typefilter: text,
      vmid: { ...guestId, optional: true },
      errors: flag,
      source: { ...text, enum: ['archive', 'active', 'all'] },
      since: { type: 'integer', optional: true },
      until: { type: 'integer', optional: true },
      statusfilter: { ...text, format: 'pve-task-status-type-list' },
    },
  }),
  route('GET /nodes/{node}/tasks/{upid}/status', 'all', status),
  route('GET /nodes/{node}/tasks/{upid}/log', 'all', log, { parameters: { start: count, limit: count, download: flag } }),
  route('DELETE /nodes/{node}/tasks/{upid}', 'all', stop),
];

function list(call: ApiCall): unknown {
  const { cluster, node, parameters } = call;
  const source = parameters.text('source') ?? 'archive';
  const tasks = cluster.tasks.list().filter((task) => task.node === node);
  const active = source === 'archive' ? [] : tasks.filter((task) => task.exitstatus === undefined);
  const archived = source === 'active' ? [] : tasks.filter((task) => task.exitstatus !== undefined);
  const chosen = [...active, ...archived].filter(taskFilter(call));
  const start = parameters.integer('start') ?? 0;
  const page = chosen.slice(start, start + (parameters.integer('limit') ?? 50));
  return { page: page.map(row), total: chosen.length };
}

type TaskTest = (task: TaskRecord) => boolean;

/** One test per filter that was given. */
function taskFilter(call: ApiCall): TaskTest {
  const { cluster, parameters, user } = call;
  const auditor = cluster.access.holds(user, `/nodes/${parameters.text('node')}`, 'Sys.Audit');
  const kinds = wantedKinds(call);
  const tests: TaskTest[] = [(task) => auditor || isOwner(task, user), (task) => kinds.has(kindOf(task.exitstatus)), ...givenFilters(call)];
  return (task) => tests.every((test) => test(task));
}

function givenFilters({ parameters }: ApiCall): TaskTest[] {
  const makers: Readonly<Record<string, (value: string) => TaskTest>> = {
    // A finished task's token has been split off by then.
    userfilter: (value) => (task) =>
      (task.exitstatus === undefined ? task.user : ownerOf(task).user).toLowerCase().includes(value.toLowerCase()),
    typefilter: (value) => (task) => task.type === value,
    vmid: (value) => (task) => task.id === value,
    since: (value) => (task) => task.starttime >= Number(value),
    until: (value) => (task) => task.starttime <= Number(value),
  };
  return Object.entries(makers).flatMap(([name, make]) => {
    const value = parameters.text(name);
    return value === undefined || value === '' ? [] : [make(value)];
  });
}

function wantedKinds({ parameters }: ApiCall): ReadonlySet<string> {
  if (parameters.flag('errors')) return new Set(['warning', 'error', 'unknown']);
  const filter = parameters.text('statusfilter');
  return new Set(filter === undefined ? ['ok', 'warning', 'error', 'unknown'] : splitList(filter.toLowerCase()));
}

function kindOf(exitstatus: string | undefined): string {
  if (exitstatus === undefined || exitstatus === 'unexpected status') return 'unknown';
  if (exitstatus === 'OK') return 'ok';
  return /^WARNINGS: \d+$/.test(exitstatus) ? 'warning' : 'error';
}

/** A running row comes from another file: the full user, `saved`, and no `tokenid`. */
function row(task: TaskRecord): object {
  const { upid, node, pid, pstart, starttime, type, id } = task;
  const common = { upid, node, pid, pstart, starttime, type, id };
  if (task.exitstatus === undefined) return { ...common, user: task.user, status: 'RUNNING', saved: '0' };
  return { ...common, ...ownerOf(task), endtime: task.endtime, status: task.exitstatus };
}

function ownerOf(task: TaskRecord): { readonly user: string; readonly tokenid?: string } {
  const { user, tokenid } = splitTokenId(task.user);
  return tokenid === undefined ? { user } : { user, tokenid };
}

function isOwner(task: { readonly user: string }, user: string): boolean {
  return user === task.user || user === splitTokenId(task.user).user;
}

/** @throws {ApiError} 400 for a text that is no UPID or (with `mustExist`) no task of this node */
function taskOf(call: ApiCall, mustExist: boolean): TaskRecord | undefined {
  const upid = call.parameters.text('upid') ?? '';
  if (decodeUpid(upid) === undefined) throw badParameters({ upid: 'unable to parse worker upid' });
  const task = call.cluster.tasks.find(upid);
  // The log file lies on the node where the task runs; every other node knows nothing of it.
  const here = task?.node === call.node ? task : undefined;
  if (here === undefined && mustExist) throw badParameters({ upid: 'no such task' });
  return here;
}

function demand(call: ApiCall, privilege: string): void {
  const owner = decodeUpid(call.parameters.text('upid') ?? '');
  if (owner !== undefined && isOwner(owner, call.user)) return;
  const path = `/nodes/${call.parameters.text('node')}`;
  if (!call.cluster.access.holds(call.user, path, privilege)) throw forbidden(`${path}, ${privilege}`);
}

function status(call: ApiCall): unknown {
  const task = taskOf(call, true);
  if (task === undefined) return null;
  demand(call, 'Sys.Audit');
  const { upid, node, pid, pstart, starttime, type, id } = task;
  const state = task.exitstatus === undefined ? { status: 'running' } : { status: 'stopped', exitstatus: task.exitstatus };
  return { upid, node, pid, pstart, starttime, type, id, ...ownerOf(task), ...state };
}

function log(call: ApiCall): unknown {
  const task = taskOf(call, false);
  demand(call, 'Sys.Audit');
  if (call.parameters.flag('download') && (call.parameters.has('start') || call.parameters.has('limit')))
    throw failed("'download' cannot be used together with 'start' or 'limit' parameters");
  if (task === undefined) return { page: [{ n: 1, t: 'unable to open file - No such file or directory' }], total: 1 };
  if (task.log.length === 0) return { page: [{ n: 1, t: 'no content' }], total: 1 };
  const start = call.parameters.integer('start') ?? 0;
  const limit = call.parameters.integer('limit') ?? 50;
  const end = limit === 0 ? task.log.length : start + limit;
  return { page: task.log.slice(start, end).map((t, index) => ({ n: start + index + 1, t })), total: task.log.length };
}

function stop(call: ApiCall): null {
  const task = taskOf(call, true);
  demand(call, 'Sys.Modify');
  if (task !== undefined) call.cluster.tasks.interrupt(task.upid);
  return null;
}
