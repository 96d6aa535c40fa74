import * as z from 'zod';
import { guestOperationShape, snapshotNameArgument } from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { describeTarget, targetWords } from '#kernel/resource';
import { plural, say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { conditionOf, realSnapshots, snapshotNames } from '../support/condition.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import { ageWords, nothingWritten, obstacleOf, onGuest } from '../support/operation-facts.ts';
import { guestOf } from '../support/targets.ts';

export const deleteSnapshot = defineTool({
  name: 'delete_snapshot',
  title: 'Delete snapshot',
  description:
    'Delete one snapshot of a VM or container of the Proxmox VE cluster; the guest and its other snapshots stay as they are. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'irreversible',
  permission: 'cluster:operate',
  rare: true,
  outsideText: ['log'],
  input: z.strictObject({ ...guestOperationShape, name: snapshotNameArgument }),
  touches: ({ vmid, node }) => [{ kind: 'guest', access: 'operate', vmid, ...(node === undefined ? {} : { node }) }],
  headline: ({ name }, targets) => say`Delete snapshot ${name} of ${targetWords(guestOf(targets))}`,
  precondition: async (_input, { cluster, targets, signal }) => [await conditionOf(cluster().api, guestOf(targets), signal)],
  inverse: ({ name }) => noWayBack(say`what the guest was at ${name} is gone`),
  precheck: ({ name }, context) =>
    obstacleOf(
      context,
      ({ vmid }) => ({ done: 'changed', rights: onGuest(vmid, 'VM.Snapshot'), withoutQuorum: nothingWritten }),
      async ({ guest }, api) => {
        const rows = await api.snapshots(guest, context.signal).catch(() => undefined);
        if (rows === undefined || realSnapshots(rows).some((row) => row['name'] === name)) return undefined;
        const there = snapshotNames(rows);
        return {
          code: 'unknown_snapshot',
          message: `${describeTarget(guest)} has no snapshot \`${name}\`; it has ${there.length === 0 ? 'none' : there.join(', ')}`,
        };
      },
    ),
  preview: async ({ name }, context) => {
    const rows = realSnapshots(await context.cluster().api.snapshots(guestOf(context.targets), context.signal));
    const own = rows.find((row) => row['name'] === name) ?? {};
    const age = ageWords(own['snaptime'], context.clock.now());
    const others = Math.max(0, rows.length - 1);
    return [
      Number(own['vmstate'] ?? 0) === 1 ? say`taken ${age}, with the guest’s memory` : say`taken ${age}`,
      plural(others, say`1 other snapshots stay`, say`${others} other snapshots stay`),
    ];
  },
  run: ({ name }, context) => {
    const guest = guestOf(context.targets);
    return runOperation(
      {
        headline: `Delete snapshot ${name} of ${describeTarget(guest)}`,
        at: guest,
        operation: { kind: 'delete_snapshot', name },
        result: { ...guestResult(guest), snapshot: name },
        look: async ({ signal }) => {
          const names = snapshotNames(await context.cluster().api.snapshots(guest, signal));
          const reached = !names.includes(name);
          return { reached, words: reached ? `${names.length} snapshots are left` : 'the snapshot is still there' };
        },
      },
      context,
    );
  },
});
