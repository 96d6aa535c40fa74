/** Snapshots: taken, gone back to, deleted. */
import * as z from 'zod';
import { guestOperationShape, snapshotNameArgument, text } from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { type JsonObject, textOf, wordOf } from '#kernel/json';
import { describeTarget, targetWords } from '#kernel/resource';
import { asIs, english, joined, type Message, plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { defineTool } from '#kernel/tool';
import { ownCondition, realSnapshots, snapshotNames } from '../support/condition.ts';
import { lookAtGuest } from '../support/obstacles.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import { ageWords, diskFacts, nothingWritten, obstacleOf, onGuest, runningOnly, stateFact } from '../support/operation-facts.ts';
import { guestNamed, guestOf } from '../support/targets.ts';

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
  touches: (input) => [guestNamed('operate', input)],
  headline: ({ name }, targets) => say`Take snapshot ${name} of ${targetWords(guestOf(targets))}`,
  precondition: ownCondition,
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

export const rollbackSnapshot = defineTool({
  name: 'rollback_snapshot',
  title: 'Roll back to snapshot',
  description:
    'Put a Proxmox VE guest back to one of its snapshots: everything since is lost. Disks, configuration and tags become what they were, and a running guest is stopped unless the snapshot holds its memory. Later snapshots stay. Take a snapshot first where what is there now may matter. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'irreversible',
  permission: 'cluster:operate',
  outsideText: ['log'],
  input: z.strictObject({ ...guestOperationShape, name: snapshotNameArgument }),
  touches: ({ vmid, node, name }) => [
    guestNamed('operate', { vmid, node }),
    // It gets the tags of the snapshot.
    { kind: 'tags', access: 'operate', vmid, snapshot: name },
  ],
  headline: ({ name }, targets) => say`Roll ${targetWords(guestOf(targets))} back to snapshot ${name}`,
  precondition: ownCondition,
  inverse: () => noWayBack(say`what its disks and configuration hold now is gone, unless create_snapshot keeps it before`),
  precheck: (_input, context) =>
    obstacleOf(context, ({ vmid }) => ({
      done: 'rolled back',
      rights: onGuest(vmid, 'VM.Snapshot'),
      withoutQuorum: nothingWritten,
      noTemplate: { why: 'which has no snapshots', next: 'name another guest' },
    })),
  takes: (_input, targets) => [{ kind: 'guest', vmid: guestOf(targets).vmid }],
  preview: async ({ name }, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const { signal, clock } = context;
    const [look, rows, then] = await Promise.all([
      lookAtGuest(api, guest, signal),
      api.snapshots(guest, signal),
      api.record({ record: 'snapshot_config', guest, name }, signal),
    ]);
    const all = realSnapshots(rows);
    const own = all.find((row) => row['name'] === name) ?? {};
    const later = laterThan(own, all).map((row) => wordOf(row['name']));
    const memory = Number(own['vmstate'] ?? 0) === 1;
    const running = look.state.status === 'running';
    return [
      say`everything on its disks since the snapshot (${ageWords(own['snaptime'], clock.now())}) is lost`,
      stateFact(look),
      ...(running && !memory
        ? [
            look.state.haState === 'started'
              ? say`it is stopped, and the HA manager starts it again`
              : say`it is stopped, and stays stopped`,
          ]
        : []),
      ...(memory ? [say`it goes on where the snapshot’s memory stood`] : []),
      ...changedKeys(look.config ?? {}, then),
      ...(later.length === 0 ? [] : [say`later snapshots stay, and can be rolled back to: ${joined(later)}`]),
    ];
  },
  run: ({ name }, context) => {
    const guest = guestOf(context.targets);
    return runOperation(
      {
        headline: `Roll ${describeTarget(guest)} back to snapshot ${name}`,
        at: guest,
        operation: { kind: 'rollback', name },
        result: { ...guestResult(guest), snapshot: name },
        look: async ({ signal }) => {
          const rows = await context.cluster().api.snapshots(guest, signal);
          const parent = rows.find((row) => row['name'] === 'current')?.['parent'];
          const reached = parent === name;
          return { reached, words: reached ? `it is what ${name} was` : `it stands on ${wordOf(parent) || 'no snapshot'}` };
        },
      },
      context,
    );
  },
});

/** By time, and by descent: PVE counts in seconds, and two snapshots can be of the same one. */
function laterThan(own: JsonObject, all: readonly JsonObject[]): readonly JsonObject[] {
  const descends = (row: JsonObject, depth = 0): boolean => {
    const parent = all.find(({ name }) => name === row['parent']);
    return parent !== undefined && depth < all.length && (parent['name'] === own['name'] || descends(parent, depth + 1));
  };
  return all.filter((row) => Number(row['snaptime'] ?? 0) > Number(own['snaptime'] ?? 0) || descends(row));
}

/** What belongs to the snapshot itself, and what a rollback leaves as it is. */
const ownKeys: ReadonlySet<string> = new Set([
  'digest',
  'snaptime',
  'snapstate',
  'vmstate',
  'parent',
  'runningmachine',
  'runningcpu',
  'description',
  'lock',
]);
const longestValue = 60;

function changedKeys(now: JsonObject, then: JsonObject): readonly Message[] {
  const keys = [...new Set([...Object.keys(now), ...Object.keys(then)])]
    .filter((key) => !ownKeys.has(key) && !key.startsWith('unused'))
    .sort();
  const changed = keys.filter((key) => wordOf(now[key]) !== wordOf(then[key]));
  return changed.map((key) => say`${key}: ${shown(now[key])} → ${shown(then[key])}`);
}

function shown(value: unknown): Message {
  const word = wordOf(value);
  return word === '' ? say`not set` : asIs(showPlainly(word, longestValue));
}

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
  touches: (input) => [guestNamed('operate', input)],
  headline: ({ name }, targets) => say`Delete snapshot ${name} of ${targetWords(guestOf(targets))}`,
  precondition: ownCondition,
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
      plural(others, say`1 other snapshot stays`, say`${others} other snapshots stay`),
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
