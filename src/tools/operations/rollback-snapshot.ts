import * as z from 'zod';
import { guestOperationShape, snapshotNameArgument } from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { type JsonObject, wordOf } from '#kernel/json';
import { describeTarget, targetWords } from '#kernel/resource';
import { asIs, joined, type Message, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { defineTool } from '#kernel/tool';
import { conditionOf, realSnapshots } from '../support/condition.ts';
import { lookAtGuest } from '../support/obstacles.ts';
import { guestResult, runOperation } from '../support/operation.ts';
import { ageWords, nothingWritten, obstacleOf, onGuest, stateFact } from '../support/operation-facts.ts';
import { guestOf } from '../support/targets.ts';

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
    { kind: 'guest', access: 'operate', vmid, ...(node === undefined ? {} : { node }) },
    // It gets the tags of the snapshot.
    { kind: 'tags', access: 'operate', vmid, snapshot: name },
  ],
  headline: ({ name }, targets) => say`Roll ${targetWords(guestOf(targets))} back to snapshot ${name}`,
  precondition: async (_input, { cluster, targets, signal }) => [await conditionOf(cluster().api, guestOf(targets), signal)],
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
