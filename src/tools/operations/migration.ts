/** Guests that move to another node. */
import * as z from 'zod';
import { guestOperationShape, nodeArgument } from '#kernel/arguments';
import { noWayBack } from '#kernel/guest-condition';
import { isJsonObject, type JsonObject, textOf, wordOf } from '#kernel/json';
import type { ClusterPort, GuestRef } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type Target, targetWords } from '#kernel/resource';
import { plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { defineTool, type Obstacle } from '#kernel/tool';
import { ownCondition } from '../support/condition.ts';
import { haAdvice } from '../support/guest-state.ts';
import { type GuestLook, lookAtGuest } from '../support/obstacles.ts';
import { conditionIn, guestResult, runOperation } from '../support/operation.ts';
import { diskFacts, nodeOfGuest, nothingWritten, obstacleOf, onGuest, stateFact, targetObstacle } from '../support/operation-facts.ts';
import { guestNamed, guestOf, nodeOf } from '../support/targets.ts';

const inputSchema = z.strictObject({
  ...guestOperationShape,
  target: nodeArgument.meta({ description: 'Node to move it to.' }),
  with_local_disks: z.boolean().default(false).meta({ description: 'Copy disks that are not on shared storage; takes long.' }),
});

export const migrateGuest = defineTool({
  name: 'migrate_guest',
  title: 'Migrate guest',
  description:
    'Move a Proxmox VE guest to another node. A running VM goes on running; a running container is stopped and started again. Where its task outlasts the call, follow it with get_task. A person approves each call first.',
  group: 'cluster',
  tier: 'red',
  impact: 'reversible',
  impactOf: (targets) => (isRunningContainer(targets) ? 'disruptive' : 'reversible'),
  permission: 'cluster:operate',
  outsideText: ['log'],
  input: inputSchema,
  touches: ({ vmid, node, target }) => [
    guestNamed('operate', { vmid, node }),
    { kind: 'node', access: 'operate', node: target, place: true },
  ],
  headline: (_input, targets) => say`Migrate ${targetWords(guestOf(targets))} to ${nodeOf(targets).node}`,
  precondition: ownCondition,
  inverse: ({ vmid, with_local_disks: withDisks }, before) => {
    const from = conditionIn(before, vmid)?.node;
    if (from === undefined) return noWayBack(say`where it is now is not known`);
    return { tool: 'migrate_guest', input: { vmid, target: from, ...(withDisks ? { with_local_disks: true } : {}) } };
  },
  precheck: ({ with_local_disks: withDisks }, context) =>
    obstacleOf(
      context,
      ({ vmid }) => ({ done: 'migrated', rights: onGuest(vmid, 'VM.Migrate'), withoutQuorum: nothingWritten }),
      async (look, api) => {
        const { guest } = look;
        const target = nodeOf(context.targets).node;
        if (guest.node === target)
          return { code: 'already_there', message: `${describeTarget(guest)} is on ${target} already`, next: 'nothing is to be done' };
        // The cluster's own look takes nodes that are down for allowed ones.
        return (
          targetObstacle(look, target) ??
          (await haMoveObstacle(look, target, api, context.signal)) ??
          (await migrationObstacle(api, guest, { target, withDisks }, context.signal))
        );
      },
    ),
  preview: async (_input, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const target = nodeOf(context.targets).node;
    const [look, guests] = await Promise.all([lookAtGuest(api, guest, context.signal), api.guests(context.signal)]);
    const there = guests.filter((row) => row.node === target && row.status === 'running').length;
    return [
      ...(isRunningContainer(context.targets) ? [say`it is stopped, moved and started again: what runs inside is interrupted`] : []),
      stateFact(look),
      ...(look.state.haState === undefined ? [] : [say`the HA manager moves it, when it gets round to it`]),
      ...diskFacts(look.config),
      plural(there, say`1 guest runs on ${target}`, say`${there} guests run on ${target}`),
    ];
  },
  run: async ({ with_local_disks: localDisks }, context) => {
    const { api } = context.cluster();
    const guest = guestOf(context.targets);
    const target = nodeOf(context.targets).node;
    const { status } = await api.guestStatus(guest, context.signal);
    return runOperation(
      {
        headline: `Migrate ${describeTarget(guest)} to ${target}`,
        at: guest,
        operation: { kind: 'migrate', target, live: status === 'running', localDisks },
        result: { ...guestResult(guest), target },
        look: async ({ signal }) => {
          const on = await nodeOfGuest(api, guest.vmid, signal);
          // The HA manager stops a container, moves it, and starts it again when it gets round to it.
          const isBack = on !== target || status !== 'running' || (await runsOn(api, { ...guest, node: target }, signal));
          return {
            reached: on === target && isBack,
            words: on === undefined ? 'it is not seen' : `it is on ${on}${isBack ? '' : ', and does not run again yet'}`,
            result: { node: on ?? guest.node },
          };
        },
      },
      context,
    );
  },
});

async function runsOn(api: ClusterPort, guest: GuestRef, signal: AbortSignal): Promise<boolean> {
  const now = await api.guestStatus(guest, signal).catch(() => undefined);
  return now?.['status'] === 'running';
}

function isRunningContainer(targets: readonly Target[]): boolean {
  return targets.some((target) => target.kind === 'guest' && target.guestType === 'lxc' && target.status === 'running');
}

/** What the cluster itself says of the target, before anything is sent. */
async function migrationObstacle(
  api: ClusterPort,
  guest: GuestTarget,
  { target, withDisks }: { readonly target: string; readonly withDisks: boolean },
  signal: AbortSignal,
): Promise<Obstacle | undefined> {
  const said = await api.record({ record: 'migration', guest, target }, signal).catch(() => undefined);
  if (said === undefined) return undefined;
  const refused = said['not_allowed_nodes'] ?? said['not-allowed-nodes'];
  const why = isJsonObject(refused) ? whyNot(refused[target]) : undefined;
  if (why !== undefined) {
    const next = `see get_guest with \`vmid\` ${guest.vmid}, and get_storage for what ${target} has`;
    return { code: 'migration_refused', message: `${describeTarget(guest)} cannot move to ${target}: ${why}`, next };
  }
  const tied = tiedObstacle(guest, said);
  if (tied !== undefined) return tied;
  const disks = Array.isArray(said['local_disks']) ? said['local_disks'].length : 0;
  if (disks === 0 || withDisks) return undefined;
  return {
    code: 'local_disks',
    message: `${describeTarget(guest)} has ${disks} disk${disks === 1 ? '' : 's'} on storage that is not shared`,
    next: 'with `with_local_disks` true they are copied, which takes long',
  };
}

/** What cannot move, or not alone. */
function tiedObstacle(guest: GuestTarget, said: JsonObject): Obstacle | undefined {
  // SECURITY: what is moved along is named by nobody, so no policy has looked at it.
  const along = listOf(said['dependent-ha-resources']);
  if (along.length > 0)
    return {
      code: 'migration_refused',
      message: `${describeTarget(guest)} cannot move alone: by a rule of affinity the HA manager moves ${along.join(', ')} along`,
      next: 'ask the user: a person moves them together, or changes the rule',
    };
  const local = listOf(said['local_resources']);
  if (local.length === 0) return undefined;
  return {
    code: 'migration_refused',
    message: `${describeTarget(guest)} is bound to its node by ${local.join(', ')}`,
    next: 'a person takes that off first',
  };
}

/** An empty object names an allowed node. */
function whyNot(entry: unknown): string | undefined {
  if (!isJsonObject(entry)) return undefined;
  const reasons = Object.entries(entry).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return reasons.length === 0 ? undefined : reasons.map(reasonWords).join('; ');
}

function reasonWords([name, value]: readonly [string, JsonObject[string]]): string {
  return `${name.replaceAll(/[_-]/g, ' ')} ${listOf(value).join(', ') || wordOf(value)}`.trim();
}

/** Words, or what blocks a move: `{ sid: 'vm:101', cause: 'resource-affinity' }`. */
function listOf(value: unknown): readonly string[] {
  const word = (entry: unknown) => (isJsonObject(entry) ? `${wordOf(entry['sid'])} (${wordOf(entry['cause'])})` : wordOf(entry));
  return Array.isArray(value) ? value.map(word).filter((one) => one !== '') : [];
}

/** The manager ignores a move in these (`PVE::HA::Manager`), in `error` its command refuses it. */
const takesNoMove: ReadonlySet<string> = new Set(['error', 'fence', 'freeze', 'migrate', 'recovery', 'relocate']);

/** Whether the HA manager would move a guest that it manages to this node and leave it there. Of rules that cannot be read nothing is said. */
async function haMoveObstacle(
  { guest, state }: Pick<GuestLook, 'guest' | 'state'>,
  target: string,
  api: ClusterPort,
  signal: AbortSignal,
): Promise<Obstacle | undefined> {
  const { haState } = state;
  if (haState === undefined || haState === 'ignored') return undefined;
  if (takesNoMove.has(haState))
    return {
      code: haState === 'error' ? 'ha_error' : 'ha_busy',
      message: `${describeTarget(guest)} is in the HA state \`${haState}\`, in which the HA manager moves no guest`,
      next: haAdvice(guest, haState) ?? 'look again with get_ha_status',
    };
  const place = await boundTo(guest, api, signal);
  if (place === undefined || place.nodes.includes(target)) return undefined;
  return {
    code: 'migration_refused',
    message: `${describeTarget(guest)} cannot stay on ${target}: ${place.by} has the HA manager run it on ${place.nodes.join(', ')} only`,
    next: `name one of these nodes, or ask the user: a person changes ${place.by}`,
  };
}

interface Bound {
  readonly by: string;
  readonly nodes: readonly string[];
}

/** By a strict rule (since 9.0), or by a restricted group (before). */
async function boundTo(guest: GuestTarget, api: ClusterPort, signal: AbortSignal): Promise<Bound | undefined> {
  const sid = `${guest.guestType === 'qemu' ? 'vm' : 'ct'}:${guest.vmid}`;
  const none = (): readonly JsonObject[] => [];
  const [rules, groups, resources] = await Promise.all([
    api.rows({ rows: 'ha_rules' }, signal).catch(none),
    api.rows({ rows: 'ha_groups' }, signal).catch(none),
    api.rows({ rows: 'ha_resources' }, signal).catch(none),
  ]);
  const rule = rules.find(
    (row) => row['type'] === 'node-affinity' && isOn(row, 'strict') && !isOn(row, 'disable') && names(row).includes(sid),
  );
  if (rule !== undefined) return bound('HA rule', rule['rule'], rule);
  const own = textOf(resources.find((row) => row['sid'] === sid)?.['group']);
  const group = own === undefined ? undefined : groups.find((row) => row['group'] === own && isOn(row, 'restricted'));
  return group && bound('HA group', own, group);
}

function bound(kind: string, name: JsonObject[string] | undefined, { nodes }: JsonObject): Bound {
  // With priorities: `pve:2,Home`.
  return { by: `${kind} \`${showPlainly(wordOf(name), 60)}\``, nodes: listed(nodes).map((node) => node.replace(/:\d+$/, '')) };
}

function isOn(row: JsonObject, key: string): boolean {
  return Number(row[key] ?? 0) === 1;
}

function names({ resources }: JsonObject): readonly string[] {
  return listed(resources);
}

function listed(value: JsonObject[string] | undefined): readonly string[] {
  return wordOf(value)
    .split(/[\s,;]+/)
    .filter((part) => part !== '');
}
