/** Guests that come and go: cloned, deleted. */
import * as z from 'zod';
import { guestOperationShape, nodeArgument, poolArgument, snapshotNameArgument, storageArgument, vmidArgument } from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { describeTarget, type GuestTarget, targetWords } from '#kernel/resource';
import { listed, plural, say } from '#kernel/text/message';
import { sanitizeText } from '#kernel/text/text';
import { defineTool, type Obstacle } from '#kernel/tool';
import { absent, ownCondition, realSnapshots } from '../support/condition.ts';
import { type GuestLook, lookAtGuest } from '../support/obstacles.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import {
  backupFact,
  diskFacts,
  nodeOfGuest,
  nothingWritten,
  obstacleOf,
  onGuest,
  onNewGuest,
  onStorage,
  poolObstacle,
  stateFact,
  storageObstacle,
  takenObstacle,
  targetObstacle,
} from '../support/operation-facts.ts';
import { guestNamed, guestOf } from '../support/targets.ts';

const inputSchema = z.strictObject({
  ...guestOperationShape,
  new_vmid: vmidArgument.meta({ description: 'Number of the new guest; nothing is overwritten.' }),
  name: z
    .string()
    .transform(sanitizeText)
    .pipe(z.string().regex(/^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/, 'must be a host name'))
    .optional()
    .meta({ description: 'Name of the new guest.' }),
  target: nodeArgument.optional().meta({ description: 'Node for it; only with disks on shared storage. Left out: the same node.' }),
  storage: storageArgument.optional().meta({ description: 'Storage for the disks of a full clone.' }),
  pool: poolArgument.optional(),
  full: z.boolean().default(true).meta({ description: 'Copy the disks. False: a linked clone, of a template alone.' }),
  snapshot: snapshotNameArgument.optional().meta({ description: 'Clone what it was at this snapshot.' }),
});
type Input = z.output<typeof inputSchema>;

export const cloneGuest = defineTool({
  name: 'clone_guest',
  title: 'Clone guest',
  description:
    'Make a new VM or container of the Proxmox VE cluster as a copy of another one, stopped, with a number that nobody has. It takes minutes: it may answer that the task still runs; follow it with get_task. Mind that fixed addresses are copied, too. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'reversible',
  permission: 'cluster:operate',
  rare: true,
  outsideText: ['log'],
  input: inputSchema,
  touches: ({ vmid, node, new_vmid: newVmid, name, target, storage, pool, snapshot }) => [
    { ...guestNamed('operate', { vmid, node }), ...(storage === undefined ? { copied: true } : {}) },
    {
      ...{ kind: 'new_guest', access: 'operate', vmid: newVmid },
      ...(pool === undefined ? {} : { pool }),
      ...(name === undefined ? {} : { name }),
    },
    ...(target === undefined ? [] : [{ kind: 'node', access: 'operate', node: target, place: true } as const]),
    ...(storage === undefined
      ? []
      : [{ kind: 'storage', access: 'operate', storage, ...(target === undefined ? { vmid } : { node: target }) } as const]),
    // It gets the tags of the snapshot; those of the guest as it is are no protecting ones, or it would be protected.
    ...(snapshot === undefined ? [] : [{ kind: 'tags', access: 'operate', vmid, snapshot } as const]),
  ],
  headline: ({ new_vmid: newVmid, target, pool, snapshot }, targets) => {
    const guest = targetWords(guestOf(targets));
    const clone =
      snapshot === undefined
        ? say`Clone ${guest} to the new guest ${newVmid}`
        : say`Clone ${guest} at ${snapshot} to the new guest ${newVmid}`;
    const there = target === undefined ? clone : say`${clone} on ${target}`;
    return pool === undefined ? there : say`${there} in pool ${pool}`;
  },
  precondition: async (input, context) => [...(await ownCondition(input, context)), absent(input.new_vmid)],
  inverse: ({ new_vmid: vmid }) => ({
    tool: 'delete_guest',
    input: { vmid },
    loses: listed('which takes a backup of it, unless `protected.deleteUnsaved` is set'),
  }),
  precheck: (input, context) =>
    obstacleOf(
      context,
      ({ vmid }) => ({
        done: 'cloned',
        rights: [...onGuest(vmid, 'VM.Clone'), onNewGuest(input.new_vmid, input.pool), ...onStorage(input.storage)],
        withoutQuorum: nothingWritten,
      }),
      async (look, api) =>
        targetObstacle(look, input.target) ??
        unfit(input, look) ??
        (await takenObstacle(api, input.new_vmid, context.signal)) ??
        (await poolObstacle(api, input.pool, context.signal)) ??
        (input.storage === undefined ? undefined : await storageObstacle(api, placeOf(input.storage, input, look.guest), context.signal)),
    ),
  preview: async (_input, context) => {
    const look = await lookAtGuest(context.cluster().api, guestOf(context.targets), context.signal);
    const running = look.state.status === 'running';
    return [
      stateFact(look),
      ...diskFacts(look.config),
      ...(running ? [say`it runs: its disks are copied as after a power cut`] : []),
      say`names, tags and fixed addresses are copied: both must not run at the same time in one network`,
    ];
  },
  run: (input, context) => {
    const guest = guestOf(context.targets);
    const { new_vmid: newVmid, target = guest.node, name, storage, pool, full, snapshot } = input;
    return runOperation(
      {
        headline: `Clone ${describeTarget(guest)} to ${newVmid}`,
        at: guest,
        operation: {
          kind: 'clone',
          newVmid,
          full,
          ...(name === undefined ? {} : { name }),
          ...(target === guest.node ? {} : { target }),
          ...(storage === undefined ? {} : { storage }),
          ...(pool === undefined ? {} : { pool }),
          ...(snapshot === undefined ? {} : { snapshot }),
        },
        result: { vmid: newVmid, node: target, type: guest.guestType, from: guest.vmid },
        // Onto a node that is down it ends well, too: the guest counts once its configuration can be read there.
        look: async ({ signal }) => {
          const { api } = context.cluster();
          const on = await nodeOfGuest(api, newVmid, signal);
          if (on !== target) return { reached: false, words: on === undefined ? `guest ${newVmid} is not there` : `it is on ${on}` };
          const made = await api.guestConfig({ vmid: newVmid, node: target, guestType: guest.guestType }, signal).catch(() => undefined);
          return made === undefined
            ? { reached: false, words: `guest ${newVmid} is on ${target}, whose node does not answer` }
            : { reached: true, words: `guest ${newVmid} is on ${target}, stopped` };
        },
      },
      context,
    );
  },
});

function placeOf(storage: string, { target }: Input, guest: GuestTarget) {
  return { node: target ?? guest.node, storage, content: guest.guestType === 'qemu' ? ('images' as const) : ('rootdir' as const) };
}

function unfit({ full, snapshot, storage }: Input, { guest, state, config }: GuestLook): Obstacle | undefined {
  const isTemplate = Number(config?.['template']) === 1;
  if (!full && !isTemplate)
    return { code: 'invalid_input', message: '`full`: only a template has linked clones', next: 'leave `full` out' };
  if (!full && storage !== undefined)
    return { code: 'invalid_input', message: '`storage`: a linked clone lies where its template does', next: 'leave `storage` out' };
  if (guest.guestType === 'lxc' && full && state.status === 'running' && snapshot === undefined) {
    return {
      code: 'guest_running',
      message: `${describeTarget(guest)} runs, and a running container is copied only as it was at a snapshot`,
      next: 'take one with create_snapshot and name it in `snapshot`, or shut the container down first',
    };
  }
  return undefined;
}

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
  touches: (input) => [{ ...guestNamed('operate', input), destroyed: true }],
  headline: (_input, targets) => say`Delete ${targetWords(guestOf(targets))} with its disks`,
  precondition: ownCondition,
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
      ...(snapshots === 0 ? [] : [plural(snapshots, say`1 snapshot goes with it`, say`${snapshots} snapshots go with it`)]),
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
