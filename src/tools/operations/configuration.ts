/** What a guest is set to: its configuration, its tags, the size of its disks. */
import * as z from 'zod';
import { guestOperationShape, tagsArgument } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import { type GuestCondition, type Inverse, noWayBack } from '#kernel/guest-condition';
import { type JsonObject, wordOf } from '#kernel/json';
import { describeTarget, type GuestTarget, type Resource, type Target, tagsIn, targetWords } from '#kernel/resource';
import { asIs, joined, type Message, say } from '#kernel/text/message';
import { sanitizeText, showPlainly } from '#kernel/text/text';
import { defineTool, type Obstacle, type ToolContext, type ToolResult } from '#kernel/tool';
import { keptKeys, ownCondition } from '../support/condition.ts';
import { lookAtGuest } from '../support/obstacles.ts';
import { approvedDigest, conditionIn, guestResult, runOperation } from '../support/operation.ts';
import {
  type Disk,
  disksIn,
  type Looking,
  nothingWritten,
  obstacleOf,
  onGuest,
  sizeIn,
  sizeWords,
  stateFact,
} from '../support/operation-facts.ts';
import { guestNamed, guestOf } from '../support/targets.ts';

type Key = (typeof keptKeys)[number];

interface ConfigurationInput {
  readonly vmid: number;
  readonly node?: string | undefined;
  readonly cores?: number | undefined;
  readonly memory?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly onboot?: boolean | undefined;
  readonly unset?: readonly Key[] | undefined;
}

const privileges: Readonly<Record<Key, string>> = {
  cores: 'VM.Config.CPU',
  memory: 'VM.Config.Memory',
  tags: 'VM.Config.Options',
  description: 'VM.Config.Options',
  onboot: 'VM.Config.Options',
};

/** What the API is told: values, and keys to be left out. An empty text or list is a key that is not set. */
function changeOf(input: ConfigurationInput): { readonly set: Readonly<Record<string, string>>; readonly remove: readonly Key[] } {
  const values: Readonly<Record<Key, string | undefined>> = {
    cores: input.cores?.toString(),
    memory: input.memory?.toString(),
    tags: input.tags === undefined ? undefined : tagsIn(input.tags.join(' ')).join(';'),
    description: input.description,
    onboot: input.onboot === undefined ? undefined : input.onboot ? '1' : '0',
  };
  const given = keptKeys.filter((key) => values[key] !== undefined && input.unset?.includes(key) !== true);
  return {
    set: Object.fromEntries(given.flatMap((key) => (values[key] === '' ? [] : [[key, values[key] ?? '']]))),
    remove: keptKeys.filter((key) => input.unset?.includes(key) === true || values[key] === ''),
  };
}

function keysOf(input: ConfigurationInput): readonly Key[] {
  const { set, remove } = changeOf(input);
  return keptKeys.filter((key) => key in set || remove.includes(key));
}

/**
 * Changing the few keys of a guest's configuration that tools may change, under the digest of what was approved.
 * What `set_guest_config` and `set_tags` share: they differ in what they take.
 */
const configurationTool = {
  group: 'cluster',
  tier: 'red',
  impact: 'reversible',
  permission: 'cluster:operate',
  touches: ({ vmid, node, tags, unset }: ConfigurationInput): readonly Resource[] => [
    guestNamed('operate', { vmid, node }),
    ...(tags === undefined && unset?.includes('tags') !== true
      ? []
      : [{ kind: 'tags', access: 'operate', vmid, tags: tags ?? [] } as const]),
  ],
  headline: (input: ConfigurationInput, targets: readonly Target[]) =>
    say`Set ${joined(keysOf(input))} of ${targetWords(guestOf(targets))}`,
  precondition: ownCondition,
  inverse: configurationInverse,
  precheck: (input: ConfigurationInput, context: Looking) => configurationObstacle(input, context),
  preview: async (input: ConfigurationInput, context: ToolContext) => {
    const look = await lookAtGuest(context.cluster().api, guestOf(context.targets), context.signal);
    return [...keysOf(input).map((key) => say`${key}: ${shown(look.config?.[key])} → ${shown(changeOf(input).set[key])}`), stateFact(look)];
  },
  run: (input: ConfigurationInput, context: ToolContext) => configure(input, context),
} as const;

const longestValue = 80;

function shown(value: unknown): Message {
  const word = wordOf(value);
  return word === '' ? say`not set` : asIs(showPlainly(word, longestValue));
}

/** The old values; what was not set is unset again. */
export function configurationInverse(input: ConfigurationInput, before: readonly GuestCondition[]): Inverse {
  const old = conditionIn(before, input.vmid)?.config;
  if (old === undefined) return noWayBack(say`what is set now could not be read`);
  const keys = keysOf(input);
  const entries = keys.flatMap((key) => (old[key] === undefined ? [] : [[key, settingOf(key, old[key])] as const]));
  if (entries.some(([, value]) => value === undefined)) return noWayBack(say`what is set now is no value that this tool could set`);
  const unset = keys.filter((key) => old[key] === undefined);
  return {
    tool: 'set_guest_config',
    input: { vmid: input.vmid, ...Object.fromEntries(entries), ...(unset.length === 0 ? {} : { unset: [...unset] }) },
  };
}

function settingOf(key: Key, text: string): JsonObject[string] {
  if (key === 'tags') return [...tagsIn(text)];
  if (key === 'onboot') return text === '1';
  if (key === 'description') return text;
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

async function configurationObstacle(input: ConfigurationInput, context: Looking): Promise<Obstacle | undefined> {
  const keys = keysOf(input);
  if (keys.length === 0)
    return { code: 'invalid_input', message: `nothing is to be set; name one of ${keptKeys.map((key) => `\`${key}\``).join(', ')}` };
  return obstacleOf(
    context,
    ({ vmid }) => ({
      done: 'changed',
      rights: onGuest(vmid, ...new Set(keys.map((key) => privileges[key]))),
      withoutQuorum: nothingWritten,
    }),
    ({ guest, config }) => (config === undefined ? undefined : sameObstacle(input, guest, config)),
  );
}

function sameObstacle(input: ConfigurationInput, guest: GuestTarget, config: JsonObject): Obstacle | undefined {
  const { set } = changeOf(input);
  const isSame = keysOf(input).every((key) => plain(key, config[key]) === plain(key, set[key]));
  return isSame
    ? { code: 'nothing_to_change', message: `${describeTarget(guest)} is configured so already`, next: 'nothing is to be done' }
    : undefined;
}

/** As two spellings of one value compare: a description ends in a line end, tags are sorted, `onboot` is off where it is not set. */
function plain(key: Key, value: unknown): string {
  if (key === 'tags') return tagsIn(value).join(';');
  if (key === 'onboot') return wordOf(value) || '0';
  return wordOf(value).trimEnd();
}

async function configure(input: ConfigurationInput, context: ToolContext): Promise<ToolResult> {
  const { api } = context.cluster();
  const guest = guestOf(context.targets);
  const { set, remove } = changeOf(input);
  const digest = await approvedDigest(context, guest);
  return runOperation(
    {
      headline: `Set ${keysOf(input).join(', ')} of ${describeTarget(guest)}`,
      at: guest,
      operation: { kind: 'configure', set, remove, digest },
      result: guestResult(guest),
      look: async ({ signal }) => {
        const [config, pending] = await Promise.all([
          api.guestConfig(guest, signal),
          api.rows({ rows: 'pending', guest }, signal).catch(() => []),
        ]);
        const waits = keysOf(input).filter((key) =>
          pending.some((row) => row['key'] === key && (row['pending'] !== undefined || row['delete'] !== undefined)),
        );
        const wrong = keysOf(input).filter((key) => !waits.includes(key) && plain(key, config[key]) !== plain(key, set[key]));
        const now = Object.fromEntries(keysOf(input).map((key) => [key, config[key] ?? null]));
        const result = { config: now, ...(waits.length === 0 ? {} : { pending: [...waits] }) };
        if (wrong.length > 0) return { reached: false, words: `${wrong.join(', ')} is not what was set`, result };
        // The API's 200 means both: it counts now, or from the next start on.
        const later = waits.length === 0 ? 'it counts now' : `${waits.join(', ')} only from its next start on (pending)`;
        return { reached: true, words: later, result };
      },
    },
    context,
  );
}

export const setGuestConfig = defineTool({
  ...configurationTool,
  name: 'set_guest_config',
  title: 'Set guest configuration',
  description:
    'Change a Proxmox VE guest: cores, memory, tags, description, start on boot; nothing else. It is refused when anybody changed the configuration since it was approved. What a running guest takes up only at its next start is said (`pending`). A person approves each call first.',
  input: z.strictObject({
    ...guestOperationShape,
    cores: z.number().int().min(1).max(512).optional().meta({ description: 'CPU cores.' }),
    memory: z.number().int().min(16).max(8_388_608).optional().meta({ description: 'Memory in MiB.' }),
    tags: tagsArgument.optional(),
    description: z.string().transform(sanitizeText).pipe(z.string().max(8_192)).optional().meta({ description: 'Notes that people read.' }),
    onboot: z.boolean().optional().meta({ description: 'Whether it starts with its node.' }),
    unset: z.array(z.enum(keptKeys)).max(5).optional().meta({ description: 'Keys to put back to their defaults.' }),
  }),
});

export const setTags = defineTool({
  ...configurationTool,
  name: 'set_tags',
  title: 'Set tags',
  description:
    'Replace the tags of a VM or container of the Proxmox VE cluster. Name all that it is to have; an empty list takes them off. Tags that protect guests are refused. A person approves each call first.',
  rare: true,
  input: z.strictObject({ ...guestOperationShape, tags: tagsArgument }),
});

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
  touches: (input) => [guestNamed('operate', input)],
  headline: ({ disk, size }, targets) => {
    const guest = targetWords(guestOf(targets));
    return size.startsWith('+')
      ? say`Make ${disk} of ${guest} larger, by ${size.slice(1)}`
      : say`Make ${disk} of ${guest} larger, to ${size}`;
  },
  precondition: ownCondition,
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
      throw new Fault('unknown_disk', say`${describeTarget(guest)} has no disk \`${input.disk}\``, { audience: 'user' });
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
