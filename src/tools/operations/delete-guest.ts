import * as z from 'zod';
import { guestOperationShape } from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { describeTarget, targetWords } from '#kernel/resource';
import { plural, say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { conditionOf, realSnapshots } from '../support/condition.ts';
import { lookAtGuest } from '../support/obstacles.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import { backupFact, diskFacts, nodeOfGuest, nothingWritten, obstacleOf, onGuest } from '../support/operation-facts.ts';
import { guestOf } from '../support/targets.ts';

export const deleteGuest = defineTool({
  name: 'delete_guest',
  title: 'Delete guest',
  description:
    'Destroy a stopped VM or container of the Proxmox VE cluster with its disks and snapshots. Refused while it runs, and where no backup of it is seen. A person approves each call first, and types its name.',
  group: 'cluster',
  tier: 'red',
  impact: 'irreversible',
  permission: 'cluster:operate',
  rare: true,
  outsideText: ['log'],
  input: z.strictObject({
    ...guestOperationShape,
    purge: z
      .boolean()
      .default(false)
      .meta({ description: 'Take it out of backup jobs, replication and high availability, too; needed for a guest under HA.' }),
  }),
  touches: ({ vmid, node }) => [{ kind: 'guest', access: 'operate', vmid, destroyed: true, ...(node === undefined ? {} : { node }) }],
  headline: (_input, targets) => say`Delete ${targetWords(guestOf(targets))} with its disks`,
  precondition: async (_input, { cluster, targets, signal }) => [await conditionOf(cluster().api, guestOf(targets), signal)],
  inverse: () => noWayBack(say`its disks and snapshots are gone; restore_guest makes a new guest of a backup`),
  precheck: ({ purge }, context) =>
    obstacleOf(
      context,
      ({ vmid }) => ({ done: 'deleted', rights: onGuest(vmid, 'VM.Allocate'), withoutQuorum: nothingWritten }),
      ({ guest, state, config }) => {
        const what = describeTarget(guest);
        if (state.status === 'running')
          return {
            code: 'guest_running',
            message: `${what} runs, and only a stopped guest is deleted`,
            next: 'shut it down first, if that is meant',
          };
        if (Number(config?.['protection'] ?? 0) === 1)
          return {
            code: 'guest_protected',
            message: `${what} has \`protection\` set in its configuration`,
            next: 'a person takes that off first, if that is meant',
          };
        if (state.haState === undefined || purge) return undefined;
        return { code: 'ha_managed', message: `${what} is managed by HA`, next: 'with `purge` true it is taken out of HA, too' };
      },
    ),
  takes: (_input, targets) => [{ kind: 'guest', vmid: guestOf(targets).vmid }],
  preview: async ({ purge }, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const [look, rows, backups] = await Promise.all([
      lookAtGuest(api, guest, context.signal),
      api.snapshots(guest, context.signal).catch(() => []),
      backupFact(api, guest, context),
    ]);
    const snapshots = realSnapshots(rows).length;
    return [
      ...diskFacts(look.config),
      ...(snapshots === 0 ? [] : [plural(snapshots, say`1 snapshot go with it`, say`${snapshots} snapshots go with it`)]),
      backups,
      purge ? say`it is taken out of backup jobs, replication and HA` : say`backup jobs keep its number`,
    ];
  },
  run: ({ purge }, context) => {
    const guest = guestOf(context.targets);
    return runOperation(
      {
        headline: `Delete ${describeTarget(guest)}`,
        at: guest,
        operation: { kind: 'destroy', purge },
        result: guestResult(guest),
        look: async ({ signal }) => {
          const on = await nodeOfGuest(context.cluster().api, guest.vmid, signal);
          return on === undefined ? { reached: true, words: 'it is gone' } : { reached: false, words: `it is still on ${on}` };
        },
      },
      context,
    );
  },
});
