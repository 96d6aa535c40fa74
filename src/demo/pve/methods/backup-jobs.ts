/** `/cluster/backup`: jobs, what each would save, and which guests none of them does. */

import { randomUuid } from '../../random.ts';
import { ApiError, badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { disksOf } from '../drives.ts';
import { splitList } from '../formats.ts';
import { checkBackupRights, checkChoice } from '../operations/backup.ts';
import { isIncluded } from '../operations/backup-words.ts';
import { requirePool } from '../operations/new-guest.ts';
import type { BackupJobState, ConfigValue, GuestState } from '../state.ts';

const creation = operation('POST /cluster/backup', create);

export const backupJobMethods: readonly ApiMethod[] = [
  operation('GET /cluster/backup', (call) =>
    [...call.cluster.state.backupJobs.values()].map((job) => ({ ...shown(job), ...nextRun(call, job) })),
  ),
  creation,
  operation('GET /cluster/backup/{id}', (call) => shown(requireJob(call))),
  operation('PUT /cluster/backup/{id}', change),
  operation('DELETE /cluster/backup/{id}', remove),
  operation('GET /cluster/backup/{id}/included_volumes', volumes),
  operation('GET /cluster/backup-info/not-backed-up', uncovered),
  operation('GET /cluster/jobs/schedule-analyze', analyze),
];

function shown(job: BackupJobState): Record<string, unknown> {
  const pruning = job.get('prune-backups');
  const rest = Object.fromEntries([...job].filter(([key]) => key !== 'prune-backups'));
  if (pruning === undefined) return { ...rest, type: 'vzdump' };
  const pairs = String(pruning)
    .split(',')
    .map((part) => part.split('='));
  return { ...rest, type: 'vzdump', 'prune-backups': Object.fromEntries(pairs.map(([key = '', value = '']) => [key, value])) };
}

function nextRun({ cluster }: ApiCall, job: BackupJobState): object {
  return { 'next-run': nextTime(String(job.get('schedule') ?? ''), cluster.clock.now() / 1000) };
}

const day = 86_400;
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** The next time of the common form `[weekdays] HH:MM`; a day later for any other. Seconds since the epoch. */
function nextTime(schedule: string, now: number): number {
  const [, names = '', hours, minutes] = /^(?:([a-z,-]+)\s+)?(\d{1,2}):(\d{1,2})$/i.exec(schedule.trim()) ?? [];
  if (hours === undefined) return Math.ceil(now / day) * day;
  const wanted = names
    .toLowerCase()
    .split(',')
    .map((name) => name.slice(0, 3));
  const offset = Number(hours) * 3600 + Number(minutes) * 60;
  for (let start = Math.floor(now / day) * day; ; start += day) {
    const name = weekdays[new Date(start * 1000).getUTCDay()] ?? '';
    if (start + offset > now && (names === '' || wanted.includes(name))) return start + offset;
  }
}

/** A refusal under the file's lock comes out as the text of one: 500, its status and reasons in the message. */
function underLock<T>(act: () => T): T {
  try {
    return act();
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.errors === undefined) throw thrown;
    const reasons = Object.entries(thrown.errors).map(([name, reason]) => `${name}: ${reason}`);
    throw failed([`${thrown.status} ${thrown.message.trimEnd()}`, ...reasons].join('\n'));
  }
}

/** @throws {ApiError} 400 */
function requireJob({ cluster, parameters }: ApiCall): BackupJobState {
  const id = parameters.text('id') ?? '';
  const job = cluster.state.backupJobs.get(id);
  if (job === undefined) throw badParameters({ id: `No such job '${id}'` });
  return job;
}

const numbers = new Set([
  ...['all', 'enabled', 'repeat-missed', 'remove', 'protected', 'quiet', 'stdexcludes', 'stop', 'bwlimit', 'ionice', 'lockwait', 'pigz'],
  ...['stopwait', 'zstd'],
]);

function valuesIn({ parameters }: ApiCall): [string, ConfigValue][] {
  const names = parameters.names().filter((name) => !['id', 'delete', 'starttime', 'dow'].includes(name));
  return names.map((name) => [name, numbers.has(name) ? Number(parameters.text(name)) : (parameters.text(name) ?? '')]);
}

/** @returns the schedule, from its old form too @throws {ApiError} 400 */
function scheduleIn({ parameters }: ApiCall, required: boolean): [string, ConfigValue][] {
  const start = parameters.text('starttime');
  if (parameters.has('schedule')) {
    if (start !== undefined) throw badParameters({ starttime: "'starttime' and 'schedule' cannot both be set" });
    return [];
  }
  if (start === undefined) {
    if (required) throw badParameters({ schedule: "neither 'starttime' nor 'schedule' were set" });
    return [];
  }
  const days = splitList(parameters.text('dow') ?? '').join(',');
  return [['schedule', days === '' || days === 'mon,tue,wed,thu,fri,sat,sun' ? start : `${days} ${start}`]];
}

function checkRights(call: ApiCall): void {
  checkBackupRights(call);
  const storage = call.parameters.text('storage') ?? (call.parameters.has('dumpdir') ? undefined : 'local');
  if (call.user !== 'root@pam' && storage !== undefined) requirePrivilege(call, `/storage/${storage}`, 'Datastore.Allocate');
  const pool = call.parameters.text('pool');
  requirePool(call, pool);
  if (pool !== undefined) requirePrivilege(call, `/pool/${pool}`, 'VM.Backup');
}

function create(call: ApiCall): null {
  const { cluster, parameters } = call;
  checkRights(call);
  const schedule = scheduleIn(call, true);
  requireQuorum(call);
  const id = parameters.text('id') ?? randomUuid(cluster.random);
  if (cluster.state.backupJobs.has(id)) throw failed(`Job '${id}' already exists`);
  underLock(() => checkChoice(call, true));
  const job: BackupJobState = new Map<string, ConfigValue>([['id', id], ['enabled', 1], ...valuesIn(call), ...schedule]);
  if (job.has('exclude') && !job.has('pool')) job.set('all', 1);
  cluster.state.backupJobs.set(id, job);
  return null;
}

/** What a choice puts out of force. */
const replaced: readonly (readonly [chosen: string, dropped: readonly string[]])[] = [
  ['vmid', ['all', 'exclude', 'pool']],
  ['all', ['vmid', 'pool']],
  ['pool', ['vmid', 'all', 'exclude']],
];

function change(call: ApiCall): null {
  const { cluster, parameters } = call;
  const dropped = parameters.list('delete');
  if (parameters.has('storage') || dropped.includes('storage')) checkRights(call);
  else checkBackupRights(call);
  const schedule = scheduleIn(call, false);
  requireQuorum(call);
  const values = [...valuesIn(call), ...schedule];
  if (values.length === 0 && dropped.length === 0) throw failed('no options specified');
  underLock(() => checkChoice(call, false));
  const job = cluster.state.backupJobs.get(parameters.text('id') ?? '');
  if (job === undefined) throw failed('no such vzdump job');
  dropOptions(job, dropped);
  for (const [name, value] of values) job.set(name, value);
  for (const name of droppedBy(values)) job.delete(name);
  return null;
}

function droppedBy(values: readonly (readonly [string, ConfigValue])[]): readonly string[] {
  return replaced.find(([name]) => values.some(([key, value]) => key === name && value !== 0))?.[1] ?? [];
}

function dropOptions(job: BackupJobState, names: readonly string[]): void {
  const unknown = names.find((name) => creation.parameters?.[name] === undefined);
  underLock(() => {
    if (unknown !== undefined) throw badParameters({ delete: `unknown option '${unknown}'` });
  });
  for (const name of names) job.delete(name);
}

function remove(call: ApiCall): null {
  requireQuorum(call);
  underLock(() => requireJob(call));
  call.cluster.state.backupJobs.delete(call.parameters.text('id') ?? '');
  return null;
}

/** Ids that a job saves, those of guests that are gone included. */
function covered({ cluster }: ApiCall, job: BackupJobState): number[] {
  const { state } = cluster;
  const pool = job.get('pool');
  if (pool !== undefined) return [...(state.pools.get(String(pool))?.guests ?? [])];
  const named = splitList(String(job.get('vmid') ?? '')).map(Number);
  if (named.length > 0) return named;
  const excluded = new Set(splitList(String(job.get('exclude') ?? '')).map(Number));
  const node = job.get('node');
  const guests = [...state.guests.values()].filter((guest) => node === undefined || guest.node === node);
  return guests.map(({ vmid }) => vmid).filter((vmid) => !excluded.has(vmid));
}

function volumes(call: ApiCall): unknown {
  const { cluster, user } = call;
  const ids = covered(call, requireJob(call)).filter((vmid) => cluster.access.holds(user, `/vms/${vmid}`, 'VM.Audit'));
  return { children: ids.map((vmid) => guestTree(cluster.state.guests.get(vmid), vmid)) };
}

function guestTree(guest: GuestState | undefined, id: number): object {
  if (guest === undefined) return { id, type: 'unknown', leaf: 1 };
  const children = disksOf(guest.kind, guest.config).map((drive) => {
    const included = isIncluded(guest.kind, drive);
    const reason =
      guest.kind === 'qemu' ? `backup=${included ? 'yes' : 'no'}` : drive.place === 'rootfs' ? 'rootfs' : included ? 'enabled' : 'disabled';
    return { id: `${id}:${drive.place}`, name: drive.volid, included: included ? 1 : 0, reason, leaf: 1 };
  });
  return { id, type: guest.kind, name: configuredName(guest), leaf: children.length > 0 ? 0 : 1, children };
}

function configuredName({ kind, config }: GuestState): string {
  return String(config.get(kind === 'qemu' ? 'name' : 'hostname') ?? '');
}

function uncovered(call: ApiCall): unknown {
  const { cluster, user } = call;
  const saved = new Set([...cluster.state.backupJobs.values()].flatMap((job) => covered(call, job)));
  const open = [...cluster.state.guests.values()].filter(
    ({ vmid }) => !saved.has(vmid) && cluster.access.holds(user, `/vms/${vmid}`, 'VM.Audit'),
  );
  return open.map((guest) => ({ vmid: guest.vmid, type: guest.kind, name: configuredName(guest) }));
}

function analyze({ cluster, parameters }: ApiCall): unknown {
  const schedule = parameters.text('schedule') ?? '';
  let time = parameters.integer('starttime') ?? Math.floor(cluster.clock.now() / 1000);
  return Array.from({ length: parameters.integer('iterations') ?? 10 }, () => {
    time = nextTime(schedule, time);
    return {
      timestamp: time,
      utc: new Date(time * 1000).toUTCString().replace(/^(\w+), 0?(\d+) (\w+) (\d+) ([\d:]+) GMT$/, '$1 $3 $2 $5 $4'),
    };
  });
}
