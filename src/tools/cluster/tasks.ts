/** The tools that look at tasks. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, pagingArguments, vmidArgument } from '#kernel/arguments';
import { Fault, faultMessage } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { type ClusterPort, offlineStatus } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { sanitizeText } from '#kernel/text/text';
import { defineTool, type ToolContext, type ToolResult } from '#kernel/tool';
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
  const words = say`how the task stands is not known: it is not in the cluster's list, and ${faultMessage(seen)}`;
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

/** `30m`, `6h`, `2d`, or a time. */
const span = /^(\d{1,5})([mhd])$/;
const secondsOf: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

const sinceArgument = z
  .string()
  .transform(sanitizeText)
  .refine(
    (text) => span.test(text) || !Number.isNaN(Date.parse(text)),
    'must be a span such as `30m`, `6h`, `2d`, or a time such as `2026-01-31T08:00:00Z`',
  )
  .optional()
  .meta({ description: 'Only tasks begun since: `6h`, `2d` ago, or a time such as `2026-01-31T08:00:00Z`.' });

const upidArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(
    z
      .string()
      .regex(
        /^UPID:[a-zA-Z0-9_-]{1,63}:[0-9A-Fa-f:]{26,27}:[^:\s/]+:[^:\s/]*:[^:\s/]+:$/,
        'must be a UPID as a tool or get_recent_tasks gave it',
      ),
  )
  .optional()
  .meta({ description: 'The task to read: its state and log.' });

const inputSchema = z.strictObject({
  upid: upidArgument,
  vmid: vmidArgument.optional(),
  node: nodeArgument.optional(),
  errors: z.boolean().optional().meta({ description: 'Only tasks that failed.' }),
  since: sinceArgument,
  cluster: clusterArgument,
  ...pagingArguments,
});
type Input = z.output<typeof inputSchema>;

export const getTask = defineTool({
  name: 'get_task',
  title: 'Get task',
  description:
    'One Proxmox VE task by its UPID (running or its exit status, and its log), or tasks by guest, node, errors and time. Use it to follow a backup, migration or clone that outlived its call. The newest of all: get_recent_tasks.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  outsideText: ['log'],
  input: inputSchema,
  touches: ({ upid, node }) => [
    ...(upid === undefined ? [] : [{ kind: 'node', access: 'read', node: upid.split(':')[1] ?? '' } as const]),
    ...(node === undefined ? [] : [{ kind: 'node', access: 'read', node } as const]),
  ],
  headline: ({ upid }) => (upid === undefined ? say`List tasks` : say`Read task ${upid}`),
  run: (input, context) => (input.upid === undefined ? listTasks(input, context) : readTask(input.upid, context)),
});

async function readTask(upid: string, context: ToolContext): Promise<ToolResult> {
  const { api } = context.cluster();
  const seen = await lookAt(api, upid, context.signal);
  if ('code' in seen) throw seen;
  const log = await api.taskLog(upid, context.signal).catch(() => undefined);
  const state = seen.running ? 'running' : 'stopped';
  const ended = seen.exitStatus === undefined ? '' : ` with exit status ${seen.exitStatus}`;
  return {
    ok: true,
    message: seen.running ? `task ${upid} is running` : `task ${upid} has ended${ended}`,
    result: {
      upid,
      node: seen.node,
      status: state,
      ...(seen.exitStatus === undefined ? {} : { exitstatus: seen.exitStatus }),
      log: log === undefined ? null : [...log],
    },
    ...(seen.running ? { next: 'call again in a while; do not repeat what started it before it has ended' } : {}),
  };
}

async function listTasks(input: Input, context: ToolContext): Promise<ToolResult> {
  const { api } = context.cluster();
  const { rows, silent } = await tasksOf(api, input, context);
  const page = pageOf(
    rows,
    { ...input, limit: input.limit ?? 50 },
    { name: `tasks ${JSON.stringify([input.vmid, input.node, input.errors, input.since])} of ${api.name}`, key: newestLine },
  );
  const also = silent.length === 0 ? '' : `; not asked, since it does not answer: ${silent.join(', ')}`;
  return listOutcome({ page, key: 'tasks', noun: 'task', needs: [{ privilege: 'Sys.Audit', path: '/' }], also }, api, context.signal);
}

/** Each node has the index of its own tasks. A node that does not answer is named, not taken for one without tasks. */
async function tasksOf(api: ClusterPort, { vmid, node, errors, since }: Input, { signal, clock }: ToolContext) {
  const nodes = node === undefined ? (await api.nodes(signal)).map((row) => row.node) : [node];
  const filters = {
    ...(vmid === undefined ? {} : { vmid }),
    ...(errors === undefined ? {} : { errors }),
    ...(since === undefined ? {} : { since: startOf(since, clock.now()) }),
  };
  const lists = await Promise.allSettled(nodes.map((name) => api.rows({ rows: 'tasks', node: name, ...filters }, signal)));
  signal.throwIfAborted();
  const [first] = lists.filter((list) => list.status === 'rejected');
  if (first !== undefined && lists.every((list) => list.status === 'rejected')) throw first.reason;
  return {
    rows: lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : [])),
    silent: nodes.filter((_, index) => lists[index]?.status === 'rejected'),
  };
}

/** In seconds since the epoch. */
function startOf(since: string, now: number): number {
  const [, count, unit = ''] = span.exec(since) ?? [];
  const seconds = secondsOf[unit];
  if (count !== undefined && seconds !== undefined) return Math.floor(now / 1_000) - Number(count) * seconds;
  const at = Date.parse(since);
  if (Number.isNaN(at)) throw new Fault('invalid_input', '`since`: must be a span or a time', { audience: 'user' });
  return Math.floor(at / 1_000);
}

function newestLine(task: JsonObject) {
  return [-Number(task['starttime'] ?? 0), keyPart(task['upid'])];
}
