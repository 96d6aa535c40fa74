/** Whether the HA manager would move a guest to a node and leave it there. Of a guest that it manages only. */
import { type JsonObject, textOf, wordOf } from '#kernel/json';
import type { ClusterPort } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget } from '#kernel/resource';
import { showPlainly } from '#kernel/text/text';
import type { Obstacle } from '#kernel/tool';
import { haAdvice } from './guest-state.ts';
import type { GuestLook } from './obstacles.ts';

/** The manager ignores a move in these (`PVE::HA::Manager`), in `error` its command refuses it. */
const takesNoMove: ReadonlySet<string> = new Set(['error', 'fence', 'freeze', 'migrate', 'recovery', 'relocate']);

/** Of rules that cannot be read nothing is said. */
export async function haMoveObstacle(
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
