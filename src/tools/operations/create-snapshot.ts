import * as z from 'zod';
import { guestOperationShape, snapshotNameArgument, text } from '#kernel/arguments';
import { textOf } from '#kernel/json';
import { describeTarget, targetWords } from '#kernel/resource';
import { english, say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { conditionOf, realSnapshots } from '../support/condition.ts';
import { lookAtGuest } from '../support/obstacles.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import { diskFacts, nothingWritten, obstacleOf, onGuest, runningOnly, stateFact } from '../support/operation-facts.ts';
import { guestOf } from '../support/targets.ts';

export const createSnapshot = defineTool({
  name: 'create_snapshot',
  title: 'Create snapshot',
  description:
    'Take a snapshot of a Proxmox VE guest: disks and configuration as they are now, to go back to with rollback_snapshot. It lies on the same storage and is no backup. Take one before anything risky. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'reversible',
  permission: 'cluster:operate',
  outsideText: ['log'],
  input: z.strictObject({
    ...guestOperationShape,
    name: snapshotNameArgument,
    description: text('What it is for.').optional(),
    memory: z.boolean().default(false).meta({ description: 'Keep the memory of a running VM, too; takes time and space.' }),
  }),
  touches: ({ vmid, node }) => [{ kind: 'guest', access: 'operate', vmid, ...(node === undefined ? {} : { node }) }],
  headline: ({ name }, targets) => say`Take snapshot ${name} of ${targetWords(guestOf(targets))}`,
  precondition: async (_input, { cluster, targets, signal }) => [await conditionOf(cluster().api, guestOf(targets), signal)],
  inverse: ({ vmid, name }) => ({ tool: 'delete_snapshot', input: { vmid, name } }),
  precheck: ({ name, memory }, context) =>
    obstacleOf(
      context,
      ({ vmid }) => ({
        done: 'snapshotted',
        rights: onGuest(vmid, 'VM.Snapshot'),
        withoutQuorum: nothingWritten,
        noTemplate: { why: 'of which no snapshot is taken', next: 'nothing is to be done: a template does not change' },
      }),
      async ({ guest, state, config }, api) => {
        const what = describeTarget(guest);
        if (memory && guest.guestType === 'lxc')
          return { code: 'invalid_input', message: '`memory`: a container has none to keep', next: 'leave `memory` out' };
        // The API takes it silently, and keeps none.
        if (memory && state.status === 'stopped') return { ...runningOnly(guest, 'has no memory to keep'), next: 'leave `memory` out' };
        const rows = await api.snapshots(guest, context.signal).catch(() => []);
        if (rows.some((row) => row['name'] === name))
          return { code: 'snapshot_exists', message: `${what} has a snapshot \`${name}\` already`, next: 'take another name' };
        const feature = await api.record({ record: 'feature', guest, feature: 'snapshot' }, context.signal).catch(() => undefined);
        if (feature === undefined || Number(feature['hasFeature'] ?? 1) === 1) return undefined;
        const why = diskFacts(config).map(english).join('');
        return {
          code: 'feature_missing',
          message: `the storage of ${what} cannot take snapshots (${why})`,
          next: 'make a backup instead: backup_guest',
        };
      },
    ),
  preview: async ({ memory }, context) => {
    const look = await lookAtGuest(context.cluster().api, guestOf(context.targets), context.signal);
    const running = look.state.status === 'running' && !memory;
    return [
      stateFact(look),
      ...diskFacts(look.config),
      ...(running ? [say`its memory is not kept: what it has not written yet is not in the snapshot`] : []),
    ];
  },
  run: (input, context) => {
    const guest = guestOf(context.targets);
    const { name, memory, description } = input;
    return runOperation(
      {
        headline: `Take snapshot ${name} of ${describeTarget(guest)}`,
        at: guest,
        operation: { kind: 'snapshot', name, memory, ...(description === undefined ? {} : { description }) },
        result: { ...guestResult(guest), snapshot: name },
        look: async ({ signal }) => {
          const rows = await context.cluster().api.snapshots(guest, signal);
          const names = realSnapshots(rows).map((row) => textOf(row['name']) ?? '');
          const reached = names.includes(name);
          return {
            reached,
            words: reached ? `it has ${names.length} snapshot${names.length === 1 ? '' : 's'}` : 'the snapshot is not there',
          };
        },
      },
      context,
    );
  },
});
