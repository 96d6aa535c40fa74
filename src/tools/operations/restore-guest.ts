import * as z from 'zod';
import { clusterArgument, nodeArgument, poolArgument, reasonArgument, storageArgument, vmidArgument } from '#kernel/arguments';
import { wordOf } from '#kernel/json';
import type { GuestType } from '#kernel/resource';
import { listed, say } from '#kernel/text/message';
import { sanitizeText } from '#kernel/text/text';
import { defineTool, type Obstacle } from '#kernel/tool';
import { absent } from '../support/condition.ts';
import { lackedRight } from '../support/obstacles.ts';
import { runOperation } from '../support/operation.ts';
import {
  ageWords,
  nodeOfGuest,
  onNewGuest,
  onStorage,
  poolObstacle,
  sizeWords,
  storageObstacle,
  takenObstacle,
  targetObstacle,
} from '../support/operation-facts.ts';
import { nodeOf } from '../support/targets.ts';

const archiveArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(
    z
      .string()
      .regex(
        /^[a-zA-Z][a-zA-Z0-9._-]{0,99}:backup\/(?:vzdump-(?:qemu|lxc)-\d{3,9}-[\w.-]+|(?:vm|ct)\/\d{3,9}\/[\w:.-]+)$/,
        'must be the volume id of a backup such as `local:backup/vzdump-qemu-100-….vma.zst`; see get_backups',
      ),
  )
  .meta({ description: 'Volume id of the backup, as in get_backups or get_guest.' });

const inputSchema = z.strictObject({
  archive: archiveArgument,
  new_vmid: vmidArgument.meta({ description: 'Number of the new guest; nothing is overwritten.' }),
  node: nodeArgument.meta({ description: 'Node that sees the backup and gets the guest.' }),
  storage: storageArgument.optional().meta({ description: 'Storage for its disks; left out: as it was.' }),
  pool: poolArgument.optional(),
  cluster: clusterArgument,
  reason: reasonArgument,
});

function typeOf(archive: string): GuestType {
  return /:backup\/(?:vzdump-lxc-|ct\/)/.test(archive) ? 'lxc' : 'qemu';
}

/** Whose backup it is, as Proxmox VE names its files; on a backup server as the group is named. */
function guestIn(archive: string): number {
  return Number(/:backup\/(?:vzdump-(?:qemu|lxc)-|(?:vm|ct)\/)(\d+)/.exec(archive)?.[1]);
}

export const restoreGuest = defineTool({
  name: 'restore_guest',
  title: 'Restore guest',
  description:
    'Restore a backup to a NEW guest of the Proxmox VE cluster, stopped, with a number that nobody has: nothing that exists is overwritten. It takes minutes to hours: it may answer that the task still runs; follow it with get_task. Mind that the new guest has the addresses of the old one. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'reversible',
  permission: 'cluster:operate',
  rare: true,
  outsideText: ['log'],
  input: inputSchema,
  touches: ({ archive, new_vmid: vmid, node, storage, pool }) => [
    {
      kind: 'new_guest',
      access: 'operate',
      vmid,
      from: { vmid: guestIn(archive), node, archive },
      ...(pool === undefined ? {} : { pool }),
    },
    { kind: 'node', access: 'operate', node, place: true },
    ...(storage === undefined ? [] : [{ kind: 'storage', access: 'operate', storage, node } as const]),
    { kind: 'tags', access: 'operate', vmid, archive: { node, volume: archive } },
  ],
  headline: ({ archive, new_vmid: vmid, pool }, targets) => {
    const name = archive.slice(archive.lastIndexOf('/') + 1);
    const { node } = nodeOf(targets);
    const restore =
      typeOf(archive) === 'qemu'
        ? say`Restore ${name} to the new VM ${vmid} on ${node}`
        : say`Restore ${name} to the new container ${vmid} on ${node}`;
    return pool === undefined ? restore : say`${restore} in pool ${pool}`;
  },
  precondition: async ({ new_vmid: vmid }) => [absent(vmid)],
  inverse: ({ new_vmid: vmid }) => ({
    tool: 'delete_guest',
    input: { vmid },
    loses: listed('which takes a backup of it, unless `protected.deleteUnsaved` is set'),
  }),
  precheck: async ({ archive, new_vmid: vmid, storage, pool }, { cluster, targets, signal }): Promise<Obstacle | undefined> => {
    const { api } = cluster();
    const { node } = nodeOf(targets);
    const [permissions, nodes] = await Promise.all([
      api.permissions(signal).catch(() => undefined),
      api.nodes(signal).catch(() => undefined),
    ]);
    const lacked = lackedRight(permissions, [onNewGuest(vmid, pool), ...onStorage(storage)]);
    if (lacked !== undefined) return { ...lacked.obstacle, next: await api.grantHint(lacked.right.privilege, lacked.right.path, signal) };
    const content = typeOf(archive) === 'qemu' ? 'images' : 'rootdir';
    return (
      targetObstacle({ nodes }, node) ??
      (await takenObstacle(api, vmid, signal)) ??
      (await poolObstacle(api, pool, signal)) ??
      (storage === undefined ? undefined : await storageObstacle(api, { node, storage, content }, signal))
    );
  },
  preview: async ({ archive }, context) => {
    const { api } = context.cluster();
    const { node } = nodeOf(context.targets);
    const rows = await api.rows({ rows: 'content', node, storage: archive.split(':')[0] ?? '', content: 'backup' }, context.signal);
    const row = rows.find((one) => one['volid'] === archive);
    if (row === undefined) return [say`the backup is not seen on that node: the task will fail`];
    const made = say`a backup of guest ${wordOf(row['vmid'])}, made ${ageWords(row['ctime'], context.clock.now())}`;
    return [
      typeof row['size'] === 'number' ? say`${made}, ${sizeWords(row['size'])}` : made,
      say`it has the addresses and names of the old one: both must not run at the same time in one network`,
    ];
  },
  run: ({ archive, new_vmid: vmid, storage, pool }, context) => {
    const { node } = nodeOf(context.targets);
    const guestType = typeOf(archive);
    return runOperation(
      {
        headline: `Restore ${archive} to ${vmid} on ${node}`,
        at: { vmid, node, guestType },
        operation: {
          ...{ kind: 'restore', archive },
          ...(storage === undefined ? {} : { storage }),
          ...(pool === undefined ? {} : { pool }),
        },
        result: { vmid, node, type: guestType, archive },
        look: async ({ signal }) => {
          const on = await nodeOfGuest(context.cluster().api, vmid, signal);
          return on === node
            ? { reached: true, words: `guest ${vmid} is on ${node}` }
            : { reached: false, words: `guest ${vmid} is not there` };
        },
      },
      context,
    );
  },
});
