/** What a person's views read of a cluster, straight from its API: no call of a tool, so nothing in the trail. */

import { toFault } from '#kernel/errors';
import type { JsonValue } from '#kernel/json';
import type { ClusterOverview, GuestSheet, LiveLists, TaskLook, Unreadable } from '#kernel/live';
import type { ClusterPort, GuestRef } from '#kernel/ports/cluster';
import { redactJson } from '#redaction/redact';

const maxText = 20_000;
const shownTasks = 50;

/** @param secrets that this process has used; what is read of guests and tasks may hold others, too */
export function clusterLooks(
  portOf: (cluster: string) => ClusterPort,
  secrets: ReadonlySet<string>,
): Pick<LiveLists, 'overview' | 'guest' | 'task'> {
  const redact = <T>(value: T): T =>
    redactJson(value as JsonValue, { knownSecrets: [...secrets], maxStringLength: maxText }) as unknown as T;
  return {
    overview: async (cluster, signal) => readOverview(portOf(cluster), signal),
    guest: async (cluster, guest, signal) => redact(await readSheet(portOf(cluster), guest, signal)),
    task: async (cluster, upid, signal) => redact(await readTask(portOf(cluster), upid, signal)),
  };
}

/** @throws {Fault} where the cluster does not answer; tasks that cannot be read are left out */
async function readOverview(api: ClusterPort, signal: AbortSignal): Promise<ClusterOverview> {
  const [resources, tasks] = await Promise.all([api.resources(undefined, signal), api.recentTasks(signal).catch(() => undefined)]);
  return { resources, ...(tasks === undefined ? {} : { tasks }) };
}

async function readSheet(api: ClusterPort, guest: GuestRef, signal: AbortSignal): Promise<GuestSheet> {
  const or = <T>(work: Promise<T>): Promise<T | Unreadable> => work.catch((thrown: unknown) => ({ failed: toFault(thrown).message }));
  const [status, config, snapshots, backups, tasks, metrics] = await Promise.all([
    or(api.guestStatus(guest, signal)),
    or(api.guestConfig(guest, signal)),
    or(api.snapshots(guest, signal)),
    or(api.guestBackups(guest, signal)),
    or(api.rows({ rows: 'tasks', node: guest.node, vmid: guest.vmid }, signal).then((rows) => rows.slice(0, shownTasks))),
    or(api.rows({ rows: 'metrics', of: guest, timeframe: 'hour' }, signal)),
  ]);
  signal.throwIfAborted();
  return { status, config, snapshots, backups, tasks, metrics };
}

async function readTask(api: ClusterPort, upid: string, signal: AbortSignal): Promise<TaskLook> {
  const [{ running, exitStatus }, lines] = await Promise.all([api.taskStatus(upid, signal), api.taskLog(upid, signal)]);
  return { running, lines, ...(exitStatus === undefined ? {} : { exitStatus }) };
}
