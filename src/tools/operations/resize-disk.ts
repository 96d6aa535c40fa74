import * as z from 'zod';
import { guestOperationShape } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import { noWayBack } from '#kernel/guest-condition';
import type { JsonObject } from '#kernel/json';
import { describeTarget, type GuestTarget, targetWords } from '#kernel/resource';
import { say } from '#kernel/text/message';
import { sanitizeText } from '#kernel/text/text';
import { defineTool, type Obstacle } from '#kernel/tool';
import { conditionOf } from '../support/condition.ts';
import { lookAtGuest } from '../support/obstacles.ts';
import { approvedDigest, guestResult, runOperation } from '../support/operation.ts';
import { type Disk, disksIn, nothingWritten, obstacleOf, onGuest, sizeIn, sizeWords, stateFact } from '../support/operation-facts.ts';
import { guestOf } from '../support/targets.ts';

const inputSchema = z.strictObject({
  ...guestOperationShape,
  disk: z
    .string()
    .transform(sanitizeText)
    .pipe(
      z.string().regex(/^(?:(?:scsi|virtio|ide|sata|mp)\d{1,3}|rootfs)$/, 'must be a disk such as `scsi0`, `virtio1`, `rootfs` or `mp0`'),
    )
    .meta({ description: 'Which disk, as in get_guest: `scsi0`, `virtio1`, `rootfs`, `mp0`.' }),
  size: z
    .string()
    .transform(sanitizeText)
    .pipe(z.string().regex(/^\+?\d{1,9}(?:\.\d{1,3})?[MGT]$/, 'must be a size such as `40G`, or more by `+8G`'))
    .meta({ description: 'Its size afterwards, such as `40G`, or how much more: `+8G`. It never becomes smaller.' }),
});
type Input = z.output<typeof inputSchema>;

export const resizeDisk = defineTool({
  name: 'resize_disk',
  title: 'Resize disk',
  description:
    'Make one disk of a VM or container of the Proxmox VE cluster larger; it cannot become smaller again. The partition and file system inside a VM are not touched. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'irreversible',
  permission: 'cluster:operate',
  rare: true,
  outsideText: ['log'],
  input: inputSchema,
  touches: ({ vmid, node }) => [{ kind: 'guest', access: 'operate', vmid, ...(node === undefined ? {} : { node }) }],
  headline: ({ disk, size }, targets) => {
    const guest = targetWords(guestOf(targets));
    return size.startsWith('+')
      ? say`Make ${disk} of ${guest} larger, by ${size.slice(1)}`
      : say`Make ${disk} of ${guest} larger, to ${size}`;
  },
  precondition: async (_input, { cluster, targets, signal }) => [await conditionOf(cluster().api, guestOf(targets), signal)],
  inverse: () => noWayBack(say`a disk does not become smaller`),
  precheck: (input, context) =>
    obstacleOf(
      context,
      ({ vmid }) => ({ done: 'changed', rights: onGuest(vmid, 'VM.Config.Disk'), withoutQuorum: nothingWritten }),
      ({ guest, config }) => (config === undefined ? undefined : sizeObstacle(input, guest, config)),
    ),
  preview: async (input, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const look = await lookAtGuest(api, guest, context.signal);
    const disk = disksIn(look.config).find(({ place }) => place === input.disk);
    const wanted = disk && wantedBytes(input, disk);
    if (disk?.bytes === undefined || wanted === undefined) return [stateFact(look)];
    const room = await api.record({ record: 'storage', node: guest.node, storage: disk.storage }, context.signal).catch(() => undefined);
    return [
      say`${disk.place} on ${disk.storage}: ${sizeWords(disk.bytes)} → ${sizeWords(wanted)}`,
      ...(typeof room?.['avail'] === 'number' ? [say`${disk.storage} has ${sizeWords(room['avail'])} free`] : []),
      stateFact(look),
    ];
  },
  run: async (input, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const config = await api.guestConfig(guest, context.signal);
    const disk = disksIn(config).find(({ place }) => place === input.disk);
    const wanted = disk && wantedBytes(input, disk);
    if (wanted === undefined)
      throw new Fault('unknown_disk', `${describeTarget(guest)} has no disk \`${input.disk}\``, { audience: 'user' });
    const digest = await approvedDigest(context, guest);
    return runOperation(
      {
        headline: `Make ${input.disk} of ${describeTarget(guest)} larger`,
        at: guest,
        // Absolute: sent twice, it would not grow twice.
        operation: { kind: 'resize', disk: input.disk, size: `${Math.ceil(wanted / 1024)}K`, digest },
        result: { ...guestResult(guest), disk: input.disk },
        // Much of what is wrong with it the task alone finds out.
        look: async ({ signal }) => {
          const now = disksIn(await api.guestConfig(guest, signal)).find(({ place }) => place === input.disk)?.bytes ?? 0;
          return { reached: now >= wanted, words: `${input.disk} has ${sizeWords(now)}`, result: { bytes: now } };
        },
      },
      context,
    );
  },
});

function wantedBytes({ size }: Input, { bytes }: Disk): number | undefined {
  const given = sizeIn(size.replace('+', ''));
  if (given === undefined) return undefined;
  if (!size.startsWith('+')) return given;
  return bytes === undefined ? undefined : bytes + given;
}

function sizeObstacle(input: Input, guest: GuestTarget, config: JsonObject): Obstacle | undefined {
  const disks = disksIn(config);
  const disk = disks.find(({ place }) => place === input.disk);
  if (disk === undefined) {
    const there = disks.map(({ place }) => place).join(', ');
    return {
      code: 'unknown_disk',
      message: `${describeTarget(guest)} has no disk \`${input.disk}\`; it has ${there === '' ? 'none' : there}`,
    };
  }
  const wanted = wantedBytes(input, disk);
  if (wanted === undefined || disk.bytes === undefined || wanted > disk.bytes) return undefined;
  return {
    code: 'not_larger',
    message: `${input.disk} of ${describeTarget(guest)} has ${sizeWords(disk.bytes)}, and a disk only becomes larger`,
    next: 'name a larger size, or more by `+8G`',
  };
}
