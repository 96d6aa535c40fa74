/** Backups: made, and restored. */
import * as z from 'zod';
import {
  clusterArgument,
  guestOperationShape,
  nodeArgument,
  poolArgument,
  reasonArgument,
  storageArgument,
  text,
  vmidArgument,
} from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { wordOf } from '#kernel/json';
import { describeTarget, type GuestType, targetWords } from '#kernel/resource';
import { listed, say } from '#kernel/text/message';
import { sanitizeText } from '#kernel/text/text';
import { defineTool, type Obstacle } from '#kernel/tool';
import { absent, ownCondition } from '../support/condition.ts';
import { lackedRight, lookAtGuest } from '../support/obstacles.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import {
  ageWords,
  backupFact,
  diskFacts,
  nodeOfGuest,
  obstacleOf,
  onGuest,
  onNewGuest,
  onStorage,
  poolObstacle,
  sizeWords,
  stateFact,
  storageObstacle,
  takenObstacle,
  targetObstacle,
} from '../support/operation-facts.ts';
import { guestNamed, guestOf, nodeOf } from '../support/targets.ts';

export const backupGuest = defineTool({
  name: 'backup_guest',
  title: 'Back up guest',
  description:
    'Make a backup (vzdump) of a Proxmox VE guest, and look that the archive is there. Mode `snapshot` (default) lets it run, `suspend` pauses it for a while, `stop` shuts it down first and starts it again. Where its task outlasts the call, follow it with get_task. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'disruptive',
  permission: 'cluster:operate',
  outsideText: ['log'],
  input: z.strictObject({
    ...guestOperationShape,
    storage: storageArgument,
    mode: z.enum(['snapshot', 'suspend', 'stop']).default('snapshot').meta({ description: 'How the guest is held still.' }),
    notes: text('Kept with the archive.').optional(),
  }),
  touches: ({ vmid, node, storage }) => [guestNamed('operate', { vmid, node }), { kind: 'storage', access: 'operate', storage, vmid }],
  headline: ({ storage, mode }, targets) =>
    mode === 'snapshot'
      ? say`Back up ${targetWords(guestOf(targets))} to ${storage}`
      : say`Back up ${targetWords(guestOf(targets))} to ${storage}, in mode ${mode}`,
  precondition: ownCondition,
  inverse: ({ storage }) => noWayBack(say`an archive is added on ${storage}, which a person removes; the guest stays as it is`),
  precheck: ({ storage }, context) =>
    obstacleOf(
      context,
      ({ vmid }) => ({ done: 'backed up', rights: [...onGuest(vmid, 'VM.Backup'), ...onStorage(storage)] }),
      ({ guest }, api) => storageObstacle(api, { node: guest.node, storage, content: 'backup' }, context.signal),
    ),
  takes: ({ mode }, targets) => (mode === 'snapshot' ? [] : [{ kind: 'guest', vmid: guestOf(targets).vmid }]),
  preview: async ({ mode, storage }, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const [look, backups, room] = await Promise.all([
      lookAtGuest(api, guest, context.signal),
      backupFact(api, guest, context),
      api.record({ record: 'storage', node: guest.node, storage }, context.signal).catch(() => undefined),
    ]);
    const others = (look.tasks ?? []).filter(
      (task) => task['type'] === 'vzdump' && task['node'] === guest.node && task['endtime'] === undefined,
    );
    const isRunning = look.state.status === 'running';
    return [
      ...(mode === 'stop' && isRunning
        ? [
            say`it is shut down first, which may take ten minutes, and started again afterwards; until then no other backup runs on this node`,
          ]
        : []),
      ...(mode === 'suspend' && isRunning ? [say`it stands still while it is copied`] : []),
      say`it is locked meanwhile: nothing else can be done to it`,
      stateFact(look),
      ...diskFacts(look.config),
      ...(typeof room?.['avail'] === 'number' ? [say`${storage} has ${sizeWords(room['avail'])} free`] : []),
      ...(others.length === 0 ? [] : [say`a backup is running on ${guest.node}: this one waits for it`]),
      backups,
    ];
  },
  run: async ({ storage, mode, notes }, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const archives = async () => {
      const rows = await api.rows({ rows: 'content', node: guest.node, storage, content: 'backup' }, context.signal);
      return rows.filter((row) => Number(row['vmid']) === guest.vmid).map((row) => wordOf(row['volid']));
    };
    const before = new Set(await archives());
    return runOperation(
      {
        headline: `Back up ${describeTarget(guest)} to ${storage}`,
        at: guest,
        operation: { kind: 'backup', storage, mode, ...(notes === undefined ? {} : { notes }) },
        result: { ...guestResult(guest), storage, mode },
        // The word of the task is not enough: on another node than the guest's it ends well and saves nothing.
        look: async () => {
          const [made] = (await archives()).filter((volume) => !before.has(volume));
          if (made === undefined) return { reached: false, words: `no new archive of it is on ${storage}` };
          return { reached: true, words: `the archive is ${made}`, result: { archive: made } };
        },
      },
      context,
    );
  },
});

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
