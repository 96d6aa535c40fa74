/** What a cluster says now of what a request is about, for the person who decides. Nothing is guessed: what cannot be read is said. */

import type { EffectiveAction } from '#kernel/approval/request';
import { type JsonObject, textOf } from '#kernel/json';
import type { LiveFact } from '#kernel/live';
import { type ClusterPort, type GuestRef, type GuestRow, offlineStatus } from '#kernel/ports/cluster';
import { targetWords } from '#kernel/resource';
import { asIs, english, joined, type Message, say } from '#kernel/text/message';
import { lacking, type Need } from '#tools/support/visible';

const shownNames = 8;
const shownTasks = 3;
const askedTargets = 5;
const unread = say`cannot be read`;
const unreadByToken = say`cannot be read with this token`;

interface Asking {
  readonly api: ClusterPort;
  readonly signal: AbortSignal;
  /** ms since the epoch */
  readonly now: number;
}

/** One thing of a cluster that can be asked about. */
interface Subject {
  readonly name: Message;
  readonly api: ClusterPort;
  readonly facts: (asking: Asking) => Promise<readonly LiveFact[]>;
}

/** Facts about the guests and nodes that `action` names, one after the other; none for anything else. Rejects only when `signal` aborts. */
export async function liveFacts(
  action: Pick<EffectiveAction, 'targets'>,
  clusters: ReadonlyMap<string, ClusterPort>,
  { signal, now }: Omit<Asking, 'api'>,
): Promise<readonly LiveFact[]> {
  const subjects = subjectsIn(action.targets, clusters);
  const asked = subjects.slice(0, askedTargets);
  const perSubject = await Promise.all(
    asked.map(async ({ name, api, facts }) => {
      const found = await facts({ api, signal, now });
      return subjects.length === 1 ? found : found.map((fact) => ({ ...fact, about: name }));
    }),
  );
  signal.throwIfAborted();
  const more = subjects.length - asked.length;
  return [...perSubject.flat(), ...(more === 0 ? [] : [{ label: say`${more} more`, value: say`not asked about`, warns: true }])];
}

/** Each once, though several steps of a plan name it. */
function subjectsIn(targets: readonly JsonObject[], clusters: ReadonlyMap<string, ClusterPort>): readonly Subject[] {
  const subjects = targets.flatMap((target): readonly (readonly [string, Subject])[] => {
    const cluster = textOf(target['cluster']) ?? '';
    const api = clusters.get(cluster);
    const subject = subjectOf(target, cluster);
    return api === undefined || subject === undefined ? [] : [[`${cluster} ${english(subject.name)}`, { ...subject, api }]];
  });
  return [...new Map(subjects).values()];
}

function subjectOf(target: JsonObject, cluster: string): Omit<Subject, 'api'> | undefined {
  const { kind, vmid, guestType } = target;
  const place = { access: 'read', cluster, node: textOf(target['node']) ?? '' } as const;
  if (kind === 'node' || kind === 'service') {
    const named = { ...place, online: true, addresses: [], service: textOf(target['service']) ?? '' };
    return { name: targetWords({ ...named, kind }), facts: (asking) => nodeFacts(place.node, asking) };
  }
  if (kind !== 'guest' || typeof vmid !== 'number' || (guestType !== 'qemu' && guestType !== 'lxc')) return undefined;
  const guest: GuestRef = { vmid, node: place.node, guestType };
  const name = textOf(target['name']);
  const words = targetWords({ ...place, ...guest, kind, addresses: [], ...(name === undefined ? {} : { name }) });
  return { name: words, facts: (asking) => guestFacts(guest, asking) };
}

async function guestFacts(guest: GuestRef, asking: Asking): Promise<readonly LiveFact[]> {
  const { api, signal } = asking;
  const [status, config, snapshots, backups, tasks] = await Promise.all([
    api.guestStatus(guest, signal).catch(() => undefined),
    api.guestConfig(guest, signal).catch(() => undefined),
    api.snapshots(guest, signal).catch(() => undefined),
    lastBackup(guest, asking),
    api.recentTasks(signal).catch(() => undefined),
  ]);
  return [
    { label: say`Now`, value: status === undefined ? unread : stateInWords(status) },
    ...(config === undefined ? [] : runsThere(config)),
    haFact(status),
    ...(config === undefined ? [] : configFacts(config)),
    { label: say`Snapshots`, value: snapshots === undefined ? unreadByToken : snapshotsInWords(snapshots) },
    { label: say`Last backup`, value: backups },
    ...lately(tasks, (task) => task['id'] === String(guest.vmid), asking.now),
    ...(await besides(guest, asking)),
  ];
}

async function nodeFacts(node: string, asking: Asking): Promise<readonly LiveFact[]> {
  const { api, signal, now } = asking;
  const [guests, status, tasks] = await Promise.all([
    api.guests(signal).catch(() => undefined),
    api.clusterStatus(signal).catch(() => undefined),
    api.recentTasks(signal).catch(() => undefined),
  ]);
  const row = status?.find((entry) => entry.type === 'node' && entry.name === node);
  const online = status?.filter((entry) => entry.type === 'node' && entry.online === true).length ?? 0;
  const all = status?.filter((entry) => entry.type === 'node').length ?? 0;
  const state = row?.online === true ? say`online` : say`offline`;
  return [
    { label: say`Node ${node}`, value: row === undefined ? unread : say`${state}; ${online} of ${all} nodes are online` },
    { label: say`Runs there`, value: guests === undefined ? unread : runningOn(guests, node) },
    ...lately(tasks, (task) => task['node'] === node, now),
  ];
}

/** In ms since the epoch; the token may not see all of them. */
async function backupTimes(guest: GuestRef, { api, signal }: Asking): Promise<readonly number[]> {
  const backups = await api.guestBackups(guest, signal);
  return backups.flatMap((row) => (typeof row['ctime'] === 'number' ? [row['ctime'] * 1000] : []));
}

async function besides(guest: GuestRef, { api, signal }: Asking): Promise<readonly LiveFact[]> {
  const rows = await api.guests(signal).catch(() => undefined);
  if (rows === undefined) return [];
  const others = rows.filter((row) => row.vmid !== guest.vmid);
  return [{ label: say`Also on ${guest.node}`, value: runningOn(others, guest.node) }];
}

function stateInWords(status: JsonObject): Message {
  const uptime = Number(status['uptime'] ?? 0);
  const parts = [
    textOf(status['status']) ?? say`unknown`,
    ...(uptime > 0 ? [say`up for ${span(uptime * 1000)}`] : []),
    ...(typeof status['cpu'] === 'number' && uptime > 0 ? [`CPU ${(status['cpu'] * 100).toFixed(0)} %`] : []),
    ...(typeof status['mem'] === 'number' && uptime > 0 ? [say`memory ${(status['mem'] / 2 ** 30).toFixed(1)} GiB`] : []),
  ];
  return joined(parts);
}

/** The API's short names of a VM's system; a container's are names of distributions already. */
function systemOf(config: JsonObject): string | undefined {
  const name = textOf(config['ostype']);
  if (name === 'other' || name === undefined) return undefined;
  if (/^l2[46]$/.test(name)) return 'Linux';
  return /^w(?:in\d+|xp|2k\d*|vista)$/.test(name) ? 'Windows' : name;
}

/** The owner's own words for it, where there are any. */
function runsThere(config: JsonObject): readonly LiveFact[] {
  const description = textOf(config['description'])?.split('\n')[0]?.trim() ?? '';
  const words = [systemOf(config), textOf(config['tags'])?.replaceAll(';', ', '), description].filter(
    (part) => part !== undefined && part !== '',
  );
  return words.length === 0 ? [] : [{ label: say`What runs there`, value: asIs(words.join(' · ')) }];
}

function haFact(status: JsonObject | undefined): LiveFact {
  const ha = status?.['ha'];
  if (status === undefined || typeof ha !== 'object' || ha === null || Array.isArray(ha)) return { label: say`HA`, value: say`not known` };
  const managed = 'managed' in ha && Number(ha.managed) === 1;
  return managed
    ? { label: say`HA`, value: say`managed: the HA manager may undo this`, warns: true }
    : { label: say`HA`, value: say`not managed` };
}

function configFacts(config: JsonObject): readonly LiveFact[] {
  const lock = textOf(config['lock']);
  return [
    ...(Number(config['onboot'] ?? 0) === 1 ? [{ label: say`On boot`, value: say`starts by itself: somebody expects it to run` }] : []),
    ...(Number(config['protection'] ?? 0) === 1 ? [{ label: say`Protection`, value: say`its disks cannot be removed` }] : []),
    ...(lock === undefined ? [] : [{ label: say`Lock`, value: say`locked by ${lock}: the task will probably fail`, warns: true }]),
  ];
}

/** The API always lists the current state as a pseudo-snapshot. */
function snapshotsInWords(snapshots: readonly JsonObject[]): Message {
  const real = snapshots.filter((snapshot) => snapshot['name'] !== 'current');
  const newest = real.toSorted((a, b) => Number(b['snaptime'] ?? 0) - Number(a['snaptime'] ?? 0))[0];
  if (newest === undefined) return say`none to go back to`;
  return say`${real.length}, newest ${textOf(newest['name']) ?? '?'}`;
}

/** Backups that a token may not see are left out of the API's answer without a word: "none found" only where it would see them. */
async function lastBackup(guest: GuestRef, asking: Asking): Promise<Message> {
  const [times, permissions] = await Promise.all([
    backupTimes(guest, asking).catch(() => undefined),
    asking.api.permissions(asking.signal).catch(() => undefined),
  ]);
  if (times === undefined) return unreadByToken;
  if (times.length > 0) return say`${span(asking.now - Math.max(...times))} ago (${times.length} in all)`;
  if (permissions === undefined) return say`none visible to this token, whose rights cannot be read`;
  const needs: readonly Need[] = [
    { privilege: 'VM.Backup', path: `/vms/${guest.vmid}` },
    { privilege: 'Datastore.AllocateSpace', path: '/storage', below: true },
  ];
  const [lack] = needs.flatMap((need) => lacking(permissions, need));
  return lack === undefined ? say`none found` : say`none visible to this token: it lacks \`${lack.privilege} on ${lack.path}\``;
}

/** Who did something with it last: the nearest there is to who uses it. */
function lately(tasks: readonly JsonObject[] | undefined, isAbout: (task: JsonObject) => boolean, now: number): readonly LiveFact[] {
  const mine = (tasks ?? []).filter(isAbout).slice(0, shownTasks);
  const words = mine.map(
    (task) =>
      say`${textOf(task['type']) ?? say`task`} by ${textOf(task['user']) ?? '?'} ${span(now - Number(task['starttime']) * 1000)} ago`,
  );
  return words.length === 0 ? [] : [{ label: say`Lately`, value: joined(words, '; ') }];
}

function runningOn(rows: readonly GuestRow[], node: string): Message {
  const isOffline = rows.some((row) => row.node === node && row.status === offlineStatus);
  const stateOf = (row: GuestRow) => (isOffline ? row.raw['last_known_status'] : row.status);
  const running = rows.filter((row) => row.node === node && stateOf(row) === 'running');
  if (running.length === 0) return isOffline ? say`not known: the node is offline; last seen running: nothing` : say`nothing that runs`;
  const names = running.slice(0, shownNames).map((row) => `${row.vmid}${row.name === undefined ? '' : ` ${row.name}`}`);
  const more = running.length - shownNames;
  const all = more > 0 ? say`${names.join(', ')} and ${more} more` : asIs(names.join(', '));
  return isOffline ? say`not known: the node is offline; last seen running: ${all}` : all;
}

function span(ms: number): Message {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 120) return say`${Math.round(seconds)} s`;
  if (seconds < 7200) return say`${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? say`${Math.round(seconds / 3600)} h` : say`${Math.round(seconds / 86_400)} days`;
}
