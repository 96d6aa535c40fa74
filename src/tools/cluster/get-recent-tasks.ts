import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import { defineTool } from '#kernel/tool';
import { countMessage, listResult, pageOf } from '../support/paging.ts';

export const getRecentTasks = defineTool({
  name: 'get_recent_tasks',
  title: 'Get recent tasks',
  description:
    'Recent tasks of the Proxmox VE cluster, newest first: UPID, type, node, user, start and end time (Unix seconds), status (`OK` or the error; absent while running).',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  input: z.strictObject({
    cluster: clusterArgument,
    ...pagingArguments,
    limit: z.number().int().min(1).max(500).default(20).meta({ description: 'Most tasks to return.' }),
  }),
  touches: () => [],
  headline: () => 'List the recent tasks',
  run: async (input, context) => {
    const tasks = await context.cluster().api.recentTasks(context.signal);
    const newestFirst = [...tasks].sort((a, b) => Number(b['starttime'] ?? 0) - Number(a['starttime'] ?? 0));
    const page = pageOf(newestFirst, input);
    return { ok: true, message: countMessage(page, 'task'), result: listResult('tasks', page) };
  },
});
