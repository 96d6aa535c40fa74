import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { keyPart, pageOf } from '../support/paging.ts';
import { listOutcome, storageNeeds } from '../support/visible.ts';

export const getStorage = defineTool({
  name: 'get_storage',
  title: 'Get storage',
  description:
    'Storage pools of the Proxmox VE cluster, a row per node and pool: type, content, used and whole size, shared or not. `disk` is what is used, `maxdisk` the size, in bytes.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({ cluster: clusterArgument, ...pagingArguments }),
  touches: () => [],
  headline: () => say`List the storage pools`,
  run: async (input, context) => {
    const { api } = context.cluster();
    const page = pageOf(await api.resources('storage', context.signal), input, {
      name: `storage of ${api.name}`,
      key: (row) => [keyPart(row['storage']), keyPart(row['node'])],
    });
    return listOutcome({ page, key: 'storage', noun: 'storage pool', needs: storageNeeds }, api, context.signal);
  },
});
