import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import { defineTool } from '#kernel/tool';
import { keyPart, pageOf, type RowKey } from '../support/paging.ts';
import { listOutcome } from '../support/visible.ts';

export const getRecentTasks = defineTool({
  name: 'get_recent_tasks',
  title: 'Get recent tasks',
  description:
    'Recent tasks of the Proxmox VE cluster, newest first: UPID, type, node, user, start and end time (Unix seconds), status (`OK` or the error; absent while running).',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({
    cluster: clusterArgument,
    ...pagingArguments,
    limit: z.number().int().min(1).max(500).default(20).meta({ description: 'Most tasks to return.' }),
  }),
  touches: () => [],
  headline: () => 'List the recent tasks',
  run: async (input, context) => {
    const { api } = context.cluster();
    const page = pageOf(await api.recentTasks(context.signal), input, { name: `tasks of ${api.name}`, key: newestFirst });
    return listOutcome({ page, key: 'tasks', noun: 'task', needs: [{ privilege: 'Sys.Audit', path: '/' }] }, api, context.signal);
  },
});

/** `UPID:node:pid:pstart:…`: these three tell two tasks of one second apart, and are short. */
function newestFirst(task: JsonObject): RowKey {
  return [-Number(task['starttime'] ?? 0), String(keyPart(task['upid'])).split(':').slice(1, 4).join(':')];
}
