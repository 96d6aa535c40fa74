/** The tools that look at storage and at the backups on it. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, pagingArguments, storageArgument } from '#kernel/arguments';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { keyPart, pageOf } from '../support/paging.ts';
import { nodeOf } from '../support/targets.ts';
import { listOutcome, type Need, storageNeeds } from '../support/visible.ts';

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

export const getBackups = defineTool({
  name: 'get_backups',
  title: 'Get backups',
  description:
    'Backups (vzdump archives) on one storage of a Proxmox VE node: volume id, guest, size, time, notes. Sizes are bytes, times Unix seconds.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  outsideText: ['notes'],
  input: z.strictObject({
    node: nodeArgument,
    storage: storageArgument.default('local').meta({ description: 'Storage to look in; left out: `local`. See get_storage.' }),
    cluster: clusterArgument,
    ...pagingArguments,
  }),
  touches: ({ node }) => [{ kind: 'node', access: 'read', node }],
  headline: (input, targets) => say`List the backups on ${input.storage} of node ${nodeOf(targets).node}`,
  run: async (input, context) => {
    const { node } = nodeOf(context.targets);
    const { api } = context.cluster();
    const backups = await api.backups(node, input.storage, context.signal);
    const page = pageOf(backups, input, {
      name: `backups on ${input.storage} of ${node} in ${api.name}`,
      key: (row) => [-Number(row['ctime'] ?? 0), keyPart(row['volid'])],
    });
    const extra = { node, storage: input.storage };
    return listOutcome({ page, key: 'backups', noun: 'backup', needs: backupNeeds(input.storage), extra }, api, context.signal);
  },
});

/** What `PVE::Storage::check_volume_access` asks for before a backup is listed: on its storage, and on the guest it is of. */
function backupNeeds(storage: string): readonly Need[] {
  const path = `/storage/${storage}`;
  return [
    { privilege: 'Datastore.AllocateSpace', path, unless: { privilege: 'Datastore.Allocate', path } },
    { privilege: 'VM.Backup', path: '/vms', below: true, unless: { privilege: 'Datastore.Allocate', path } },
  ];
}
