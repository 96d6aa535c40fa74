/** The blast radius of an action on a guest, from live data, as sentences for the person who decides. */

import { type JsonObject, textOf } from '#kernel/json';
import type { ClusterPort, GuestAction } from '#kernel/ports/cluster';
import type { GuestTarget } from '#kernel/resource';
import { asIs, type Message, plural, say } from '#kernel/text/message';

/** Facts, the most important first. A source that cannot be read is said, never guessed. */
export async function guestRisk(
  api: ClusterPort,
  guest: GuestTarget,
  action: GuestAction,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const [config, status, snapshots] = await Promise.all([
    api.guestConfig(guest, signal).catch(() => undefined),
    api.guestStatus(guest, signal).catch(() => undefined),
    api.snapshots(guest, signal).catch(() => undefined),
  ]);
  return [
    stateFact(status ?? (guest.status === undefined ? {} : { status: guest.status })),
    actionFact(action),
    ...highAvailability(status),
    ...startsOnBoot(config),
    ...lockFact(config),
    snapshotFact(snapshots),
    ...tags(config),
  ];
}

function stateFact(status: JsonObject): Message {
  const uptime = Number(status['uptime'] ?? 0);
  const now = nowWords(textOf(status['status']));
  return uptime > 0 ? say`${now}, up for ${roughly(uptime)}` : now;
}

/** @param state as the cluster calls it */
export function nowWords(state: string | undefined): Message {
  if (state === 'running') return say`now: running`;
  if (state === 'stopped') return say`now: stopped`;
  if (state === 'paused') return say`now: paused`;
  return state === undefined ? say`now: unknown` : say`now: ${state}`;
}

const actionFacts: Readonly<Record<GuestAction, Message>> = {
  start: say`starting uses the node’s memory and CPU; nothing is lost`,
  stop: say`a hard stop, like pulling the plug: unsaved work inside the guest is lost`,
  reboot: say`a reboot: what runs inside is interrupted`,
  shutdown: say`a clean shutdown: what runs inside ends; it goes by the guest agent or ACPI, or by init of a container`,
  reset: say`like the reset button: unsaved work inside the guest is lost`,
  suspend: say`its processors stand still and its memory stays as it is; nobody is served meanwhile`,
  resume: say`it goes on where it stood; its clock may be behind`,
};

function actionFact(action: GuestAction): Message {
  return actionFacts[action];
}

function highAvailability(status: JsonObject | undefined): readonly Message[] {
  const ha = status?.['ha'];
  const managed = typeof ha === 'object' && ha !== null && 'managed' in ha && Number(ha.managed) === 1;
  return managed ? [say`managed by HA: the HA manager may undo this`] : [];
}

function startsOnBoot(config: JsonObject | undefined): readonly Message[] {
  return Number(config?.['onboot'] ?? 0) === 1 ? [say`starts on boot: somebody expects it to run`] : [];
}

function lockFact(config: JsonObject | undefined): readonly Message[] {
  return typeof config?.['lock'] === 'string' ? [say`locked by \`${config['lock']}\`: the task will probably fail`] : [];
}

function snapshotFact(snapshots: readonly JsonObject[] | undefined): Message {
  if (snapshots === undefined) return say`snapshots: not readable with this token`;
  // The API always lists the current state as a pseudo-snapshot.
  const real = snapshots.filter((snapshot) => snapshot['name'] !== 'current');
  return real.length === 0 ? say`no snapshot to go back to` : plural(real.length, say`1 snapshot`, say`${real.length} snapshots`);
}

function tags(config: JsonObject | undefined): readonly Message[] {
  return typeof config?.['tags'] === 'string' && config['tags'] !== '' ? [say`tags: ${config['tags']}`] : [];
}

export function roughly(seconds: number): Message {
  if (seconds < 120) return asIs(`${Math.round(seconds)} s`);
  if (seconds < 7_200) return asIs(`${Math.round(seconds / 60)} min`);
  if (seconds < 172_800) return asIs(`${Math.round(seconds / 3_600)} h`);
  return say`${Math.round(seconds / 86_400)} days`;
}
