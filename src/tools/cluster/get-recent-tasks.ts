import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { type ClusterPort, offlineStatus } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { lookAt } from '../support/follow-task.ts';
import { keyPart, pageOf, type RowKey } from '../support/paging.ts';
import { listOutcome } from '../support/visible.ts';

export const getRecentTasks = defineTool({
  name: 'get_recent_tasks',
  title: 'Get recent tasks',
  description:
    'Recent tasks of the Proxmox VE cluster, newest first: UPID, type, node, user, times, status. Times are Unix seconds; the status is `OK` or the error, absent while running, unknown where the node went offline meanwhile.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({
    cluster: clusterArgument,
    ...pagingArguments,
    limit: z.number().int().min(1).max(500).default(20).meta({ description: 'Most rows to return.' }),
  }),
  touches: () => [],
  headline: () => say`List the recent tasks`,
  run: async (input, context) => {
    const { api } = context.cluster();
    const listed = await withoutStale(api, await api.recentTasks(context.signal), context.signal);
    const asked = await unlisted(api, listed, { upid: input.filter, signal: context.signal });
    const page = pageOf([...listed, ...asked], input, { name: `tasks of ${api.name}`, key: newestFirst });
    return listOutcome({ page, key: 'tasks', noun: 'task', needs: [{ privilege: 'Sys.Audit', path: '/' }] }, api, context.signal);
  },
});

/** `UPID:node:pid:pstart:…`: these three tell two tasks of one second apart, and are short. */
function newestFirst(task: JsonObject): RowKey {
  return [-Number(task['starttime'] ?? 0), String(keyPart(task['upid'])).split(':').slice(1, 4).join(':')];
}

/** A node that went offline stays in the list as it was last heard of: that its task was running then does not say that it is. */
async function withoutStale(api: ClusterPort, tasks: readonly JsonObject[], signal: AbortSignal): Promise<readonly JsonObject[]> {
  if (tasks.every((task) => task['status'] !== undefined)) return tasks;
  const nodes = await api.nodes(signal).catch(() => []);
  signal.throwIfAborted();
  const offline = new Set<unknown>(nodes.flatMap(({ node, status }) => (status === 'offline' ? [node] : [])));
  const isStale = (task: JsonObject) => task['status'] === undefined && offline.has(task['node']);
  return tasks.map((task) => (isStale(task) ? { ...task, status: offlineStatus } : task));
}

/**
 * A task that is asked for by its whole UPID and is not in the cluster's list, which holds the newest 25 of each node that is up: as its
 * node has it. "0 tasks" would read as if it had never been.
 * @throws {Fault} where its node does not know it, or cannot be asked
 */
async function unlisted(
  api: ClusterPort,
  listed: readonly JsonObject[],
  { upid = '', signal }: { readonly upid: string | undefined; readonly signal: AbortSignal },
): Promise<readonly JsonObject[]> {
  const named = rowNamed(upid);
  if (named === undefined || listed.some((task) => task['upid'] === upid)) return [];
  const seen = await lookAt(api, upid, signal);
  if (!('code' in seen)) return [{ ...named, ...(seen.running ? {} : { status: seen.exitStatus ?? 'no exit status' }) }];
  const words = `how the task stands is not known: it is not in the cluster's list, and ${seen.message}`;
  throw new Fault(seen.code, words, seen.next === undefined ? {} : { next: seen.next });
}

/** What the UPID itself says of its task, as a row of the list; undefined for what is no whole UPID. */
function rowNamed(upid: string): JsonObject | undefined {
  const pattern = /^UPID:(?<node>[\w-]+):\w+:\w+:(?<start>[0-9A-F]+):(?<type>[^:]+):(?<id>[^:]*):(?<user>[^:]+):$/i;
  const named = pattern.exec(upid)?.groups;
  if (named === undefined) return undefined;
  const { start = '', ...rest } = named;
  return { upid, ...rest, starttime: Number.parseInt(start, 16) };
}
