import * as z from 'zod';
import { guestOperationShape, storageArgument, text } from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { wordOf } from '#kernel/json';
import { describeTarget, targetWords } from '#kernel/resource';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { conditionOf } from '../support/condition.ts';
import { lookAtGuest } from '../support/obstacles.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import {
  backupFact,
  diskFacts,
  obstacleOf,
  onGuest,
  onStorage,
  sizeWords,
  stateFact,
  storageObstacle,
} from '../support/operation-facts.ts';
import { guestOf } from '../support/targets.ts';

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
  touches: ({ vmid, node, storage }) => [
    { kind: 'guest', access: 'operate', vmid, ...(node === undefined ? {} : { node }) },
    { kind: 'storage', access: 'operate', storage, vmid },
  ],
  headline: ({ storage, mode }, targets) =>
    mode === 'snapshot'
      ? say`Back up ${targetWords(guestOf(targets))} to ${storage}`
      : say`Back up ${targetWords(guestOf(targets))} to ${storage}, in mode ${mode}`,
  precondition: async (_input, { cluster, targets, signal }) => [await conditionOf(cluster().api, guestOf(targets), signal)],
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
