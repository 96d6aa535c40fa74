/** The blast radius of an action on a guest, from live data, as sentences for the person who decides. */
import type { JsonObject } from '#kernel/json';
import type { ClusterPort, GuestAction } from '#kernel/ports/cluster';
import type { GuestTarget } from '#kernel/resource';

/** Facts, the most important first. A source that cannot be read is said, never guessed. */
export async function guestRisk(
  api: ClusterPort,
  guest: GuestTarget,
  action: GuestAction,
  signal: AbortSignal,
): Promise<readonly string[]> {
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

function stateFact(status: JsonObject): string {
  const uptime = Number(status['uptime'] ?? 0);
  const since = uptime > 0 ? `, up for ${roughly(uptime)}` : '';
  return `now: ${typeof status['status'] === 'string' ? status['status'] : 'unknown'}${since}`;
}

const actionFacts: Readonly<Record<GuestAction, string>> = {
  start: 'starting uses the node’s memory and CPU; nothing is lost',
  stop: 'a hard stop, like pulling the plug: unsaved work inside the guest is lost',
  reboot: 'a reboot: what runs inside is interrupted',
  shutdown: 'a clean shutdown: what runs inside ends; it goes by the guest agent or ACPI, or by init of a container',
  reset: 'like the reset button: unsaved work inside the guest is lost',
  suspend: 'its processors stand still and its memory stays as it is; nobody is served meanwhile',
  resume: 'it goes on where it stood; its clock may be behind',
};

function actionFact(action: GuestAction): string {
  return actionFacts[action];
}

function highAvailability(status: JsonObject | undefined): readonly string[] {
  const ha = status?.['ha'];
  const managed = typeof ha === 'object' && ha !== null && 'managed' in ha && Number(ha.managed) === 1;
  return managed ? ['managed by HA: the HA manager may undo this'] : [];
}

function startsOnBoot(config: JsonObject | undefined): readonly string[] {
  return Number(config?.['onboot'] ?? 0) === 1 ? ['starts on boot: somebody expects it to run'] : [];
}

function lockFact(config: JsonObject | undefined): readonly string[] {
  return typeof config?.['lock'] === 'string' ? [`locked by \`${config['lock']}\`: the task will probably fail`] : [];
}

function snapshotFact(snapshots: readonly JsonObject[] | undefined): string {
  if (snapshots === undefined) return 'snapshots: not readable with this token';
  // The API always lists the current state as a pseudo-snapshot.
  const real = snapshots.filter((snapshot) => snapshot['name'] !== 'current');
  return real.length === 0 ? 'no snapshot to go back to' : `${real.length} snapshot${real.length === 1 ? '' : 's'}`;
}

function tags(config: JsonObject | undefined): readonly string[] {
  return typeof config?.['tags'] === 'string' && config['tags'] !== '' ? [`tags: ${config['tags']}`] : [];
}

export function roughly(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
