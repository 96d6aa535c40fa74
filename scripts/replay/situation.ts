/**
 * What was there before a recorded request. Guests come from its `before` where it has one. What no `before` holds (a task that is
 * asked about, an HA resource, a service's state, a guest that runs) is read from the recording's own outcome: a request that was told
 * `already running` was made while the guest ran. The emulator is then asked with nothing but that state.
 */

import type { CrmState, HaRequest } from '#demo/pve/high-availability';
import type { GuestKind, GuestSeed, ServiceSeed, TaskSeed, VolumeSeed } from '#demo/pve/state';
import { decodeUpid } from '#demo/pve/upid';
import { type Belongings, belongingsOf } from './belongings.ts';
import { type Fixture, guestSeed } from './fixture.ts';
import { dataOf, type Fields, fieldsOf, type Recording, rowsOf } from './recordings.ts';

/** When the emulator's clock stands at the start, ms since the epoch: after the recordings. */
export const stageStart = Date.UTC(2026, 10, 22, 20, 8, 0);

export interface HaSetting {
  readonly sid: string;
  readonly state: HaRequest | undefined;
  readonly crmState: CrmState | undefined;
  readonly options: Readonly<Record<string, string | number>>;
}

export interface Situation extends Belongings {
  readonly guests: readonly GuestSeed[];
  readonly paused: ReadonlySet<number>;
  readonly volumes: readonly VolumeSeed[];
  readonly tasks: readonly TaskSeed[];
  /** Tasks by their recorded UPID; no exit status: it runs. */
  readonly known: readonly { readonly upid: string; readonly status: string | undefined; readonly log: readonly string[] }[];
  readonly services: ReadonlyMap<string, Partial<ServiceSeed>>;
  readonly ha: readonly HaSetting[];
  readonly haMaster: string | undefined;
  readonly down: string | undefined;
  readonly quorate: boolean;
  /** Requests that must have been made just before, as the same identity. */
  readonly first: readonly { readonly path: string; readonly form?: Readonly<Record<string, string>>; readonly auth?: string }[];
}

/** What belongs together: a request, and what was read of its task. */
export interface Story {
  /** The request, or the recording itself where there is none. */
  readonly request: Recording;
  /** The recording to answer, and the others about the same task. */
  readonly recordings: readonly Recording[];
}

export function situationOf(fixture: Fixture, story: Story, all: readonly Recording[]): Situation {
  const { request, recordings } = story;
  const outcome = outcomeOf(request, recordings);
  const belongings = belongingsOf(fixture, request, outcome.text);
  const guests = guestsBefore(fixture, request, outcome);
  const first = firstRequests(request, outcome, guests);
  return {
    ...belongings,
    guests: guests.map((guest) => (first.some(({ form }) => form?.['vmid'] === String(guest.vmid)) ? { ...guest, running: true } : guest)),
    paused: new Set(outcome.paused && outcome.vmid !== undefined ? [outcome.vmid] : []),
    volumes: [...belongings.volumes, ...volumesOf(request)],
    tasks: historyOf(request),
    known: [...knownTasks(request, all), ...runningTasks(request)],
    services: servicesOf(request, outcome.text),
    ...haOf(request, outcome),
    down: downNode(request),
    quorate: request.phase !== 'no-quorum',
    first,
  };
}

interface Outcome {
  /** Status line, error texts, exit status and log, one text. */
  readonly text: string;
  readonly log: readonly string[];
  readonly vmid: number | undefined;
  readonly kind: GuestKind | undefined;
  readonly action: string;
  readonly running: boolean | undefined;
  readonly paused: boolean;
  readonly taskType: string | undefined;
}

const guestPath = /^\/nodes\/([^/]+)\/(qemu|lxc)\/(\d+)(?:\/([^?]*))?/;

function outcomeOf(request: Recording, recordings: readonly Recording[]): Outcome {
  const [, , kind, vmid, action = ''] = guestPath.exec(request.request.path) ?? [];
  const log = recordings.flatMap((one) => (one.request.path.includes('/log') ? rowsOf(one).map((row) => String(row['t'])) : []));
  const exit = recordings.map((one) => String(fieldsOf(one)['exitstatus'] ?? ''));
  const text = [request.response.statusMessage, JSON.stringify(request.response.body), ...exit, ...log].join('\n');
  const facts = {
    text,
    kind: kind as GuestKind | undefined,
    action,
    status: fieldsOf(request)['status'],
    ok: request.response.status === 200,
  };
  const upid = decodeUpid(String(dataOf(request)));
  return {
    ...{ text, log, action, kind: facts.kind, vmid: vmid === undefined ? undefined : Number(vmid), taskType: upid?.type },
    running: runningBefore(facts),
    paused: pausedBefore(request, text, action),
  };
}

function pausedBefore(request: Recording, text: string, action: string): boolean {
  const guest = Object.values(request.before ?? {})[0];
  const resumed = action === 'status/resume' && request.response.status === 200 && guest?.status === 'running';
  return resumed || /VM is paused/.test(text) || fieldsOf(request)['qmpstatus'] === 'paused';
}

interface Facts {
  readonly text: string;
  readonly kind: GuestKind | undefined;
  readonly action: string;
  readonly status: unknown;
  readonly ok: boolean;
}

/** Undefined: the outcome does not tell. */
function runningBefore({ text, kind, action, status, ok }: Facts): boolean | undefined {
  if (status === 'running' || status === 'stopped') return status === 'running';
  if (/already running|can't lock file|guest agent is not running|powerdown failed|overruled/i.test(text)) return true;
  if (/not running/.test(text)) return false;
  if (action === 'status/start') return false;
  const needsRunning = kind === 'lxc' ? ['stop', 'shutdown', 'reboot', 'suspend'] : ['reboot', 'reset', 'suspend', 'resume'];
  return ok && needsRunning.includes(action.replace('status/', '')) ? true : undefined;
}

function guestsBefore(fixture: Fixture, request: Recording, outcome: Outcome): GuestSeed[] {
  const guests = new Map(fixture.seed.guests.map((guest) => [guest.vmid, guest]));
  for (const [id, recorded] of Object.entries(request.before ?? {})) {
    if (recorded === null) guests.delete(Number(id));
    else guests.set(Number(id), guestSeed(Number(id), recorded));
  }
  if (request.request.path === '/cluster/backup-info/not-backed-up') addUncovered(guests, request);
  if (/^\/cluster\/resources|^\/nodes\/[^/]+\/(?:qemu|lxc)(?:\?|$)/.test(request.request.path)) applyRows(guests, request);
  // What HA shows as started runs.
  for (const row of rowsOf(request).filter(({ type }) => type === 'service'))
    setRunning(guests, Number(cell(row, 'sid').split(':')[1]), row['state'] === 'started' || row['state'] === 'stopping');
  if (request.before === undefined) setRunning(guests, outcome.vmid, outcome.running);
  return [...guests.values()];
}

/** Guests that were made meanwhile show up as not backed up. */
function addUncovered(guests: Map<number, GuestSeed>, request: Recording): void {
  for (const row of rowsOf(request)) {
    const kind = row['type'] === 'lxc' ? 'lxc' : 'qemu';
    const config = { [kind === 'lxc' ? 'hostname' : 'name']: cell(row, 'name') };
    const vmid = Number(row['vmid']);
    if (!guests.has(vmid)) guests.set(vmid, { vmid, kind, node: 'pve', config });
  }
}

function setRunning(guests: Map<number, GuestSeed>, vmid: number | undefined, running: boolean | undefined): void {
  const guest = guests.get(vmid ?? 0);
  if (guest !== undefined && running !== undefined) guests.set(guest.vmid, { ...guest, running });
}

function cell(row: Fields, name: string): string {
  return String(row[name] ?? '');
}

/** A list of guests tells which of them there were, where, and in what state. */
function applyRows(guests: Map<number, GuestSeed>, request: Recording): void {
  const rows = rowsOf(request).filter((row) => row['vmid'] !== undefined);
  for (const row of rows) {
    const guest = guests.get(Number(row['vmid'])) ?? guestOfRow(row);
    guests.set(guest.vmid, { ...guest, ...rowState(guest, row) });
  }
  const { path, auth = 'ops' } = request.request;
  const seesAll = request.rowsInAll === undefined && ['ro', 'oper', 'ops', 'root'].includes(auth);
  if (!seesAll || !/^\/cluster\/.*type=vm/.test(path)) return;
  const seen = new Set(rows.map((row) => Number(row['vmid'])));
  for (const vmid of [...guests.keys()]) if (!seen.has(vmid)) guests.delete(vmid);
}

function rowState(guest: GuestSeed, row: Fields): Pick<GuestSeed, 'node' | 'running' | 'config'> {
  const kept = Object.entries(guest.config).filter(([name]) => name !== 'lock' && name !== 'tags');
  const shown = ['lock', 'tags'].flatMap((name) => (row[name] === undefined ? [] : [[name, cell(row, name)] as const]));
  const node = cell(row, 'node') || guest.node;
  return { node, running: row['status'] === 'running', config: Object.fromEntries([...kept, ...shown]) };
}

/** A guest that was made by something that is not in the file. */
function guestOfRow(row: Fields): GuestSeed {
  const kind = row['type'] === 'lxc' ? 'lxc' : 'qemu';
  const memory = Number(row['maxmem'] ?? 0) / 1_048_576;
  const config = { [kind === 'lxc' ? 'hostname' : 'name']: String(row['name']), memory, cores: Number(row['maxcpu'] ?? 1) };
  const createdAt = row['status'] === 'unknown' ? stageStart : 0;
  return { vmid: Number(row['vmid']), kind, node: String(row['node']), config, createdAt };
}

const listed = /^\/nodes\/([^/]+)\/storage\/([^/?]+)\/content(?:\/(.+))?/;

/** Volumes that the recording names and no configuration does: backups, ISO images, templates. */
function volumesOf(request: Recording): VolumeSeed[] {
  const [, node = '', , single] = listed.exec(request.request.path) ?? [];
  if (node === '' || single !== undefined) return [];
  return rowsOf(request).map((row) => ({ ...(row as unknown as VolumeSeed), node }));
}

/** Finished tasks that a list shows. */
function historyOf(request: Recording): TaskSeed[] {
  if (!/^\/(?:cluster|nodes\/[^/]+)\/tasks(?:\?|$)/.test(request.request.path)) return [];
  const rows = rowsOf(request).filter((row) => row['status'] !== undefined && row['status'] !== 'RUNNING');
  const seeds = rows.map((row): TaskSeed => {
    const user = row['tokenid'] === undefined ? cell(row, 'user') : `${cell(row, 'user')}!${cell(row, 'tokenid')}`;
    const startedSecondsAgo = row['saved'] === 1 ? 2 : Math.max(60, stageStart / 1000 - Number(row['starttime']));
    return {
      node: String(row['node']),
      type: String(row['type']),
      id: String(row['id']),
      user,
      startedSecondsAgo,
      seconds: 1,
      status: String(row['status']),
    };
  });
  const { total = seeds.length } = request.response.body as { readonly total?: number };
  const more = seeds[0] === undefined ? [] : Array.from({ length: Math.max(0, total - seeds.length) }, () => seeds[0] as TaskSeed);
  return [...seeds, ...more.map((seed) => ({ ...seed, startedSecondsAgo: seed.startedSecondsAgo + 1 }))];
}

/** Tasks that a list shows while they run. */
function runningTasks(request: Recording): Situation['known'] {
  const running = rowsOf(request).filter((row) => row['status'] === 'RUNNING');
  return running.map((row) => ({ upid: String(row['upid']), status: undefined, log: [] }));
}

/** The task that a path names by its UPID, unless the node did not know it. */
function knownTasks(request: Recording, all: readonly Recording[]): Situation['known'] {
  const upid = upidIn(request.request.path);
  if (upid === undefined) return [];
  const same = all.filter((one) => upidIn(one.request.path) === upid && one.response.status === 200);
  const own = `/nodes/${upid.split(':')[1] ?? ''}/`;
  const unknown = JSON.stringify(request.response.body).includes('no such task');
  if (unknown && !same.some((one) => one.request.path.includes(own))) return [];
  const log = logOf(same.filter((one) => one.request.path.includes('/log')));
  return [{ upid, status: hasEnded(request, same, log) ? 'OK' : undefined, log }];
}

/** The lines that any of them shows, each in its place; what none shows is blank. */
function logOf(answers: readonly Recording[]): readonly string[] {
  const shown = answers.flatMap(rowsOf).filter((row) => row['t'] !== 'no content');
  const lines = new Map(shown.map((row) => [Number(row['n']), cell(row, 't')]));
  return Array.from({ length: Math.max(0, ...lines.keys()) }, (_, index) => lines.get(index + 1) ?? '');
}

/** By its log's last line, by its own status, or by any other that was read. */
function hasEnded(request: Recording, same: readonly Recording[], log: readonly string[]): boolean {
  if (log.at(-1)?.startsWith('TASK') === true || request.name.includes('ended')) return true;
  const own = fieldsOf(request);
  const state = own['status'] === undefined ? same.map(fieldsOf).find((one) => one['exitstatus'] !== undefined) : own;
  return state?.['exitstatus'] !== undefined;
}

function upidIn(path: string): string | undefined {
  const [, text] = /\/tasks\/(UPID[^/?]+)/.exec(path) ?? [];
  const upid = text === undefined ? undefined : decodeURIComponent(text);
  return upid !== undefined && decodeUpid(upid) !== undefined ? upid : undefined;
}

function servicesOf(request: Recording, outcome: string): Map<string, Partial<ServiceSeed>> {
  const { path } = request.request;
  const rows = path.endsWith('/services') ? rowsOf(request) : path.endsWith('/state') ? [fieldsOf(request)] : [];
  const states = rows.map((row): [string, Partial<ServiceSeed>] => [
    String(row['service']),
    {
      description: String(row['desc']),
      active: String(row['active-state']) as 'active',
      unitState: String(row['unit-state']) as 'enabled',
    },
  ]);
  const [, service] = /\/services\/([^/]+)\/\w+$/.exec(path) ?? [];
  if (service !== undefined && outcome.includes('failed: exit code 1')) states.push([service, { startError: 'exited' }]);
  if (service !== undefined && outcome.includes('failed: exit code 5')) states.push([service, { unitState: 'not-found' }]);
  return new Map(states);
}

function downNode({ family, phase, note }: Recording): string | undefined {
  if (family === 'node-down' || phase === 'node-down') return 'agent1';
  return /^(\w+) is down$/.exec(note ?? '')?.[1];
}

/** HA is in no `before`: a guest is managed where its task, its error or its row says so. */
function haOf(request: Recording, outcome: Outcome): Pick<Situation, 'ha' | 'haMaster'> {
  const rows = rowsOf(request);
  const services = rows.filter((row) => row['type'] === 'service');
  const master = rows.find((row) => row['id'] === 'master')?.['node'];
  const manager = (fieldsOf(request) as Readonly<Record<string, unknown>>)['manager_status'] as
    | { readonly master_node?: string; readonly service_status?: object }
    | undefined;
  const shown = services.map(settingOf);
  const ofManager = Object.entries(manager?.service_status ?? {}).map(([sid, status]) => settingFrom(sid, status as Fields));
  const ha = [...shown, ...ofManager, ...rows.flatMap(settingOfGuestRow), ...settingOfRequest(request, outcome)];
  return { ha, haMaster: master === undefined ? (manager?.master_node ?? undefined) : String(master) };
}

function settingOf(row: Fields): HaSetting {
  const { comment } = row;
  const crmState = row['crm_state'] as HaSetting['crmState'];
  return {
    ...{ sid: String(row['sid']), state: row['request_state'] as HaRequest, crmState },
    options: comment === undefined ? {} : { comment: String(comment) },
  };
}

function settingFrom(sid: string, status: Fields): HaSetting {
  return {
    sid,
    state: status['state'] === 'started' ? 'started' : 'stopped',
    crmState: status['state'] as HaSetting['crmState'],
    options: {},
  };
}

function settingOfGuestRow(row: Fields): HaSetting[] {
  if (row['hastate'] === undefined) return [];
  return [settingFrom(`${row['type'] === 'lxc' ? 'ct' : 'vm'}:${cell(row, 'vmid')}`, { state: row['hastate'] })];
}

const haTexts = /used in HA resources|already defined|detected modified configuration/;

function settingOfRequest(request: Recording, outcome: Outcome): HaSetting[] {
  return outcome.vmid === undefined ? settingOfResource(request, outcome.text) : settingOfGuest(request, outcome);
}

function settingOfGuest(request: Recording, { text: words, vmid, kind, taskType }: Outcome): HaSetting[] {
  const sid = `${kind === 'lxc' ? 'ct' : 'vm'}:${vmid}`;
  if (taskType?.startsWith('ha') === true || haTexts.test(words)) return [stopped(sid, {})];
  const { ha } = fieldsOf(request) as unknown as { readonly ha?: Fields };
  return ha?.['managed'] === 1 ? [settingFrom(sid, ha)] : [];
}

/** Of a request about a resource itself: whether it was there is in the answer. */
function settingOfResource(request: Recording, words: string): HaSetting[] {
  const { path, method, form } = request.request;
  if (!path.startsWith('/cluster/ha/resources')) return [];
  const sid = decodeURIComponent(path.split(/[/?]/)[4] ?? '') || form?.['sid'];
  const existed = haTexts.test(words) || (method !== 'POST' && request.response.status === 200);
  if (sid === undefined || !existed) return [];
  return [{ ...stopped(sid, optionsShown(request)), state: (fieldsOf(request)['state'] as HaRequest | undefined) ?? 'stopped' }];
}

function stopped(sid: string, options: HaSetting['options']): HaSetting {
  return { sid, state: 'stopped', crmState: 'stopped', options };
}

function optionsShown(request: Recording): HaSetting['options'] {
  const names = ['comment', 'group', 'max_restart', 'max_relocate', 'failback'];
  return Object.fromEntries(Object.entries(fieldsOf(request)).filter(([name]) => names.includes(name))) as HaSetting['options'];
}

/** A lock that was not to be had, or a task that was overruled: somebody was shutting the guest down. */
function firstRequests(recording: Recording, { text, log, vmid, kind, action }: Outcome, guests: readonly GuestSeed[]): Situation['first'] {
  const { request } = recording;
  if (text.includes('trying to get global lock')) return [otherBackup(request.path, request.form?.['vmid'], guests)];
  if (vmid === undefined || action === 'status/shutdown') return [];
  const overruled = log.some((line) => line.startsWith('overruled '));
  if (!overruled && !/can't lock file/.test(text)) return [];
  const base = request.path.slice(0, request.path.indexOf(`/${kind}/${vmid}`));
  return [{ path: `${base}/${kind}/${vmid}/status/shutdown`, form: { timeout: '60' } }];
}

/** The node's backup lock was taken: another guest of it is being shut down for its backup. */
function otherBackup(path: string, vmid: string | undefined, guests: readonly GuestSeed[]): Situation['first'][number] {
  const node = /^\/nodes\/([^/]+)/.exec(path)?.[1] ?? '';
  const other = guests.find((guest) => guest.node === node && guest.kind === 'qemu' && String(guest.vmid) !== vmid && isFree(guest));
  return { path: `/nodes/${node}/vzdump`, form: { vmid: String(other?.vmid ?? ''), storage: 'local', mode: 'stop' }, auth: 'root' };
}

function isFree({ config }: GuestSeed): boolean {
  return config['lock'] === undefined && config['template'] === undefined;
}
