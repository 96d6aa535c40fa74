/** `/cluster` but its resources. */
import { shuffled } from '../../random.ts';
import { badParameters } from '../api-error.ts';
import type { ApiCall, ApiMethod } from '../api-method.ts';
import { type Cluster, seesOnline } from '../cluster.ts';
import type { NodeState } from '../state.ts';
import type { TaskRecord } from '../task-engine.ts';
import { splitTokenId } from '../upid.ts';

export const clusterMethods: readonly ApiMethod[] = [
  { verb: 'GET', path: '/cluster/status', permission: { path: '/', privileges: ['Sys.Audit'] }, proxied: false, run: status },
  { verb: 'GET', path: '/cluster/tasks', permission: 'all', proxied: false, run: recentTasks },
  {
    verb: 'GET',
    path: '/cluster/nextid',
    permission: 'all',
    proxied: false,
    parameters: { vmid: { type: 'integer', optional: true, format: 'pve-vmid', minimum: 100, maximum: 999_999_999 } },
    run: nextId,
  },
];

/** A standalone node has no cluster row and node id 0. */
function status({ cluster, node: local }: ApiCall): unknown {
  const nodes = shuffled(cluster.random, [...cluster.state.nodes.values()]);
  const clustered = nodes.length > 1;
  const rows = nodes.map((node) => ({
    type: 'node',
    id: `node/${node.name}`,
    name: node.name,
    nodeid: clustered ? node.nodeid : 0,
    ip: node.ip,
    level: '',
    local: node.name === local ? 1 : 0,
    online: seesOnline(cluster, local, node) ? 1 : 0,
  }));
  if (!clustered) return rows;
  const { name, version, quorate } = cluster.state;
  return [{ type: 'cluster', id: 'cluster', name, version, nodes: nodes.length, quorate: quorate ? 1 : 0 }, ...rows];
}

const finishedShown = 25;
const freshMs = 10_000;

/**
 * All running tasks and the last 25 finished ones of each node, node after node: only the rows of one node are in the order of time.
 * A caller without `Sys.Audit` sees its own user's only.
 */
function recentTasks({ cluster, user }: ApiCall): unknown {
  const all = cluster.access.holds(user, '/', 'Sys.Audit');
  const shown: TaskRecord[] = [];
  for (const node of cluster.state.nodes.values()) {
    const tasks = cluster.tasks
      .list()
      .filter((task) => task.node === node.name)
      .map((task) => asLastHeard(task, node));
    const running = tasks.filter((task) => task.exitstatus === undefined);
    const finished = tasks.filter((task) => task.exitstatus !== undefined).slice(0, Math.max(0, finishedShown - running.length));
    shown.push(...running, ...finished);
  }
  return shown.map((task) => row(cluster, task)).filter((task) => all || task.user === user);
}

/** Each node tells the others of its tasks: one that is gone cannot say that a task of it has ended. */
function asLastHeard(task: TaskRecord, { downSince }: NodeState): TaskRecord {
  const endedUnheard = downSince !== undefined && task.endtime !== undefined && task.endtime * 1000 + 999 >= downSince;
  return endedUnheard ? { ...task, exitstatus: undefined, endtime: undefined } : task;
}

function row(cluster: Cluster, task: TaskRecord) {
  const { user, tokenid } = splitTokenId(task.user);
  return {
    ...{ upid: task.upid, node: task.node, type: task.type, id: task.id, starttime: task.starttime, user },
    ...(tokenid === undefined ? {} : { tokenid }),
    ...(task.exitstatus === undefined
      ? { saved: '0' }
      : { status: task.exitstatus, endtime: task.endtime, saved: savedMark(cluster, task) }),
  };
}

/** PVE's own quirk: a number in the broadcast that archived the task, a string once the list was read back from its file. */
function savedMark(cluster: Cluster, task: TaskRecord): 1 | '1' {
  const newest = cluster.tasks.list().find((one) => one.node === task.node);
  const fresh = cluster.clock.now() - (task.endtime ?? 0) * 1000 < freshMs;
  return newest === task && fresh ? 1 : '1';
}

function nextId({ cluster, parameters }: ApiCall): unknown {
  const wanted = parameters.integer('vmid');
  if (wanted !== undefined) {
    if (cluster.state.guests.has(wanted)) throw badParameters({ vmid: `VM ${wanted} already exists` });
    return parameters.text('vmid');
  }
  let candidate = 100;
  while (cluster.state.guests.has(candidate)) candidate += 1;
  return String(candidate);
}
