/** Each kind of row of the cluster view, from the API's own row. Everything in it is outside text, and shown plainly. */

import type { AttemptView } from '#kernel/attempt';
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterOverview, ProtectedNames } from '#kernel/live';
import type { GuestType } from '#kernel/resource';
import { formatField, localTime, taskTitle } from '#kernel/text/result-fields';
import { showPlainly } from '#kernel/text/text';
import { saidWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import { tagsOf } from './cluster-look.ts';

/** What is known of one cluster now. */
export interface ClusterState {
  readonly name: string;
  /** The last one that could be read; absent: none yet. */
  readonly overview?: ClusterOverview;
  /** ms since the epoch */
  readonly readAt?: number;
  /** It does not answer; `overview` is old then. */
  readonly failed?: { readonly since: number; readonly message: string; readonly next?: string };
  readonly protected?: ProtectedNames;
}

/** What a row is about, for commands and menus. */
export interface RowTarget {
  readonly cluster: string;
  readonly node?: string;
  readonly vmid?: number;
  readonly guestType?: GuestType;
  readonly storage?: string;
  readonly upid?: string;
  /** `running`, `stopped`, `online`, …; of a template `template`. */
  readonly status?: string;
  /** Why no call changes it. */
  readonly protected?: string;
}

/** What is said besides the state: an agent is at it, a lock, protection, high availability. */
export const allFlags = ['agent', 'lock', 'protected', 'ha'] as const;
export type Flag = (typeof allFlags)[number];

export interface TreeRow {
  readonly id: string;
  /** For menus: `guest-running`, `node-online`, … */
  readonly kind: string;
  readonly label: string;
  readonly description: string;
  /** A codicon's name. */
  readonly icon: string;
  readonly iconColor?: string;
  readonly flags: readonly Flag[];
  readonly spoken: string;
  /** Absent: it has no children. */
  readonly opens?: 'open' | 'closed';
  readonly target: RowTarget;
  /** Told when somebody points at it, line by line. */
  details(): readonly string[];
}

const plain = (value: unknown, most = 120): string => showPlainly(wordOf(value), most);
const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(' · ');

const flagWords: Record<Flag, string> = {
  agent: t('an agent is at it now'),
  lock: t('locked: an operation runs on it or was left unfinished'),
  protected: t('protected: no call changes it'),
  ha: t('kept running by high availability'),
};

/** In words; the state of a row must not be told by a colour or a letter alone. */
export function flagInWords(flag: Flag): string {
  return flagWords[flag];
}

export function clusterRow(
  id: string,
  state: ClusterState,
  { nodes, guests }: { readonly nodes: readonly JsonObject[]; readonly guests: readonly JsonObject[] },
): TreeRow {
  const { name, overview, failed, readAt } = state;
  const online = nodes.filter(({ status }) => status === 'online').length;
  const running = guests.filter(({ status }) => status === 'running').length;
  const counts = t('{0} of {1} nodes online · {2} of {3} guests run', online, nodes.length, running, guests.length);
  const description = failed !== undefined ? t('does not answer') : overview === undefined ? t('reading…') : counts;
  return {
    ...{ id, kind: 'cluster', label: name, description, flags: [], opens: 'open', target: { cluster: name } },
    ...(failed === undefined ? { icon: 'server-environment' } : { icon: 'debug-disconnect', iconColor: 'list.errorForeground' }),
    spoken: t('cluster {0}, {1}', name, description),
    details: () => [
      t('Cluster {0}', name),
      ...(overview === undefined ? [] : [counts]),
      ...(readAt === undefined ? [] : [t('As of {0}', localTime(readAt))]),
      ...(failed === undefined ? [] : [t('Since {0}: {1}', localTime(failed.since), plain(saidWords(failed.message), 600))]),
      ...(overview !== undefined && overview.tasks === undefined ? [t('Its tasks cannot be read with this token.')] : []),
    ],
  };
}

/** What is wrong with a cluster, since when, and what to do; pressing it looks again. */
export function noteRow(id: string, { name, failed, overview }: ClusterState): TreeRow {
  const { since = 0, next } = failed ?? {};
  const message = saidWords(failed?.message ?? '');
  const when = localTime(since);
  const what = overview === undefined ? t('Not reached since {0}', when) : t('Below is what was last seen; not reached since {0}', when);
  return {
    ...{ id, kind: 'note', label: what, description: plain(message, 200), icon: 'warning', iconColor: 'list.warningForeground' },
    ...{ flags: [], target: { cluster: name } },
    spoken: `${what}: ${plain(message, 200)}`,
    details: () => [
      what,
      plain(message, 600),
      ...(next === undefined ? [] : [t('What to do: {0}', plain(saidWords(next), 600))]),
      t('Select for the Doctor.'),
    ],
  };
}

export function groupRow(
  id: string,
  label: string,
  {
    count,
    icon,
    opens,
    cluster,
  }: { readonly count: number; readonly icon: string; readonly opens: 'open' | 'closed'; readonly cluster: string },
): TreeRow {
  const row = { id, kind: 'group', label, description: String(count), icon, flags: [], opens, target: { cluster } };
  return { ...row, spoken: `${label}, ${count}`, details: () => [`${label}: ${count}`] };
}

interface Around {
  readonly state: ClusterState;
  /** Calls that agents make on it now. */
  readonly at: readonly AttemptView[];
}

export function nodeRow(
  id: string,
  row: JsonObject,
  { state, at, guests, opens }: Around & { readonly guests: readonly JsonObject[]; readonly opens?: 'open' | 'closed' },
): TreeRow {
  const node = plain(row['node']);
  const status = plain(row['status'] ?? 'unknown');
  const isOnline = status === 'online';
  const reason = state.protected?.nodes.get(wordOf(row['node']));
  const flags = flagsOf(at, row, reason);
  const running = guests.filter((guest) => guest['status'] === 'running').length;
  const load = isOnline ? [percent(row['cpu']), used(row, 'mem')] : [stateInWords(status)];
  const description = joined([...atWork(at), ...load, guests.length === 0 ? '' : t('{0} of {1} run', running, guests.length)]);
  return {
    ...{ id, kind: `node-${isOnline ? 'online' : 'offline'}`, label: node, description, flags, ...(opens === undefined ? {} : { opens }) },
    ...(isOnline ? { icon: 'server', iconColor: 'charts.green' } : { icon: 'server', iconColor: 'list.errorForeground' }),
    spoken: t('node {0}, {1}, {2}', node, stateInWords(status), joined([description, ...flags.map(flagInWords)])),
    target: { cluster: state.name, node: wordOf(row['node']), status, ...(reason === undefined ? {} : { protected: reason }) },
    details: () => [
      t('Node {0} of {1}: {2}', node, state.name, stateInWords(status)),
      ...fields(row, ['cpu', 'maxcpu']),
      ...amounts(row),
      ...fields(row, ['uptime']),
      ...said(at, reason),
    ],
  };
}

const guestIcons: Readonly<Record<string, readonly [vm: string, container: string, color?: string]>> = {
  running: ['vm-running', 'package', 'charts.green'],
  paused: ['debug-pause', 'debug-pause', 'charts.yellow'],
  suspended: ['debug-pause', 'debug-pause', 'charts.yellow'],
  stopped: ['vm-outline', 'package', 'disabledForeground'],
  template: ['copy', 'copy', 'disabledForeground'],
};

export function guestRow(id: string, row: JsonObject, { state, at }: Around): TreeRow {
  const vmid = Number(row['vmid']);
  const status = guestStatus(row);
  const isVm = row['type'] === 'qemu';
  const reason = state.protected?.guests.get(vmid);
  const flags = flagsOf(at, row, reason);
  const [vm, container, color] = guestIcons[status] ?? ['question', 'question', 'charts.yellow'];
  const description = guestWords(row, status, at);
  const name = row['name'] === undefined ? String(vmid) : `${vmid} ${plain(row['name'], 100)}`;
  const what = isVm ? t('VM') : t('Container');
  const isPlain = status === 'running' || status === 'stopped';
  return {
    ...{ id, kind: `guest-${isPlain ? status : 'other'}`, label: name, description, flags, icon: isVm ? vm : container },
    ...(color === undefined ? {} : { iconColor: color }),
    spoken: `${what} ${name}, ${stateInWords(status)}, ${joined([description, ...flags.map(flagInWords)])}`,
    target: guestTarget(row, { state, status, reason }),
    details: () => [
      t('{0} {1}: {2} on {3}', what, name, stateInWords(status), plain(row['node'])),
      ...guestDetails(row, status),
      ...said(at, reason),
    ],
  };
}

const stateWords: Readonly<Record<string, string>> = {
  running: t('running'),
  stopped: t('stopped'),
  paused: t('paused'),
  suspended: t('suspended'),
  template: t('template'),
  online: t('online'),
  offline: t('offline'),
  unknown: t('unknown'),
  available: t('available'),
};

/** The API's own word where it is none of those. */
export function stateInWords(status: string): string {
  return stateWords[status] ?? status;
}

/** A template is never anything but stopped. */
function guestStatus({ template, status }: JsonObject): string {
  return Number(template ?? 0) === 1 ? 'template' : plain(status ?? 'unknown');
}

function guestWords(row: JsonObject, status: string, at: readonly AttemptView[]): string {
  const tags = tagsOf(row).map((tag) => plain(tag, 40));
  const locked = typeof row['lock'] === 'string' && row['lock'] !== '' ? t('locked ({0})', plain(row['lock'], 40)) : '';
  const load = status === 'running' ? [percent(row['cpu']), used(row, 'mem')] : [stateInWords(status)];
  return joined([...atWork(at), ...load, locked, tags.join(', ')]);
}

function guestDetails(row: JsonObject, status: string): readonly string[] {
  return [
    ...(status === 'running' ? fields(row, ['cpu', 'maxcpu']) : []),
    ...amounts(row),
    ...fields(row, ['uptime', 'tags', 'pool', 'lock', 'hastate']),
  ];
}

function guestTarget(
  row: JsonObject,
  { state, status, reason }: { state: ClusterState; status: string; reason: string | undefined },
): RowTarget {
  return {
    ...{
      cluster: state.name,
      node: wordOf(row['node']),
      vmid: Number(row['vmid']),
      guestType: row['type'] === 'qemu' ? 'qemu' : 'lxc',
      status,
    },
    ...(reason === undefined ? {} : { protected: reason }),
  };
}

export function storageRow(id: string, row: JsonObject, cluster: string): TreeRow {
  const name = plain(row['storage']);
  const status = plain(row['status'] ?? 'unknown');
  const isThere = status === 'available';
  const full = Number(row['maxdisk']) > 0 ? Number(row['disk'] ?? 0) / Number(row['maxdisk']) : 0;
  const description = joined([isThere ? '' : stateInWords(status), used(row, 'disk'), full > 0 ? percent(full) : '']);
  return {
    ...{ id, kind: 'storage', label: name, description, icon: 'database', flags: [] },
    ...(isThere ? (full > nearlyFull ? { iconColor: 'list.warningForeground' } : {}) : { iconColor: 'list.errorForeground' }),
    spoken: t('storage {0}, {1}, {2}', name, stateInWords(status), description),
    target: { cluster, node: wordOf(row['node']), storage: wordOf(row['storage']), status },
    details: () => [t('Storage {0}: {1}', name, stateInWords(status)), ...fields(row, ['plugintype', 'content']), ...amounts(row)],
  };
}

/** From here on a storage is worth a second look. */
const nearlyFull = 0.9;

export function taskRow(id: string, row: JsonObject, cluster: string): TreeRow {
  const title = `${plain(taskTitle(row['type']), 60)} ${plain(row['id'], 40)}`.trim();
  const by = plain(row['user'], 80);
  const began = Number(row['starttime']) > 0 ? localTime(Number(row['starttime']) * 1000) : '';
  const description = joined([by, began === '' ? '' : t('since {0}', began)]);
  return {
    ...{ id, kind: 'task', label: title, description, icon: 'sync~spin', iconColor: 'charts.blue', flags: [] },
    spoken: t('task {0}, running, {1}', title, description),
    target: { cluster, node: plain(row['node']), upid: wordOf(row['upid']), status: 'running' },
    details: () => [t('{0} on {1}', title, plain(row['node'])), t('By {0}, since {1}', by, began), t('Select for its log.')],
  };
}

function flagsOf(at: readonly AttemptView[], { lock, hastate }: JsonObject, reason: string | undefined): readonly Flag[] {
  return [
    ...(at.length > 0 ? (['agent'] as const) : []),
    ...(typeof lock === 'string' && lock !== '' ? (['lock'] as const) : []),
    ...(reason === undefined ? [] : (['protected'] as const)),
    ...(typeof hastate === 'string' && hastate !== '' && hastate !== 'ignored' ? (['ha'] as const) : []),
  ];
}

function atWork(at: readonly AttemptView[]): readonly string[] {
  return at.slice(0, 1).map(({ tool, agent }) => t('{0} by {1} now', plain(tool, 40), plain(agent, 40)));
}

function said(at: readonly AttemptView[], reason: string | undefined): readonly string[] {
  const calls = at.map(({ tool, agent, begunAt }) =>
    t('Now: {0} by {1}, since {2}', plain(tool, 60), plain(agent, 80), localTime(Date.parse(begunAt))),
  );
  return [...calls, ...(reason === undefined ? [] : [t('Protected: {0}', plain(reason, 300))])];
}

function percent(value: unknown): string {
  return typeof value === 'number' && Number.isFinite(value) ? `${Math.round(value * 100)} %` : '';
}

/** `1.4 of 4.0 GiB`. */
function used(row: JsonObject, name: 'mem' | 'disk'): string {
  const most = Number(row[`max${name}`]);
  return most > 0 ? formatField('', { used: Number(row[name] ?? 0), total: most }).replaceAll('\u00a0', ' ') : '';
}

function amounts(row: JsonObject): readonly string[] {
  const lines = [
    [t('Memory'), used(row, 'mem')],
    [t('Disk'), used(row, 'disk')],
  ] as const;
  return lines.filter(([, text]) => text !== '').map(([title, text]) => `${title}: ${text}`);
}

const fieldTitles: Readonly<Record<string, string>> = {
  ...{
    cpu: 'CPU',
    maxcpu: t('Cores'),
    uptime: t('Uptime'),
    tags: t('Tags'),
    pool: 'Pool',
    lock: t('Lock'),
    hastate: t('High availability'),
    plugintype: t('Kind'),
    content: t('Holds'),
  },
};

function fields(row: JsonObject, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const text = plain(formatField(name, row[name]), 300);
    return text === '' ? [] : [`${fieldTitles[name] ?? name}: ${text}`];
  });
}
