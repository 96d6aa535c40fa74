/** Which backups are kept (`prune-backups`), what can be said of one, and the configuration inside it. */
import { failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, guestId, requirePrivilege, route, text } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { free, storagePath } from '../drives.ts';
import { given } from '../figures.ts';
import { readStorage, requireStorage } from '../methods/storage.ts';
import { demandVolume, findVolume, volidOf } from '../methods/volumes.ts';
import type { VolumeState } from '../state.ts';
import { asTaskError } from './config-change.ts';
import { requireType } from './new-guest.ts';

export const retentionMethods: readonly ApiMethod[] = [
  operation('PUT /nodes/{node}/storage/{storage}/content/{volume}', describe),
  operation('DELETE /nodes/{node}/storage/{storage}/prunebackups', prune),
  operation('GET /nodes/{node}/vzdump/defaults', defaults),
  operation('GET /nodes/{node}/vzdump/extractconfig', extract),
  route('GET /nodes/{node}/storage/{storage}/prunebackups', readStorage, dryRun, {
    parameters: { 'prune-backups': text, type: { ...text, enum: ['qemu', 'lxc'] }, vmid: { ...guestId, optional: true } },
  }),
];

type Retention = ReadonlyMap<string, number>;

/** `keep-last=3,keep-daily=7`; empty: everything is kept. The request's own options, else the storage's. */
export function retentionOf({ cluster, parameters }: ApiCall, storage: string): Retention {
  const wanted = parameters.text('prune-backups') ?? cluster.state.storages.get(storage)?.options['prune-backups'] ?? 'keep-all=1';
  const pairs = wanted.split(',').map((part) => part.split('='));
  if (pairs.some(([key, value]) => key === 'keep-all' && value !== '0')) return new Map();
  return new Map(
    pairs.map(([key = '', value]): [string, number] => [key, Number(value)]).filter(([key, count]) => key !== 'keep-all' && count > 0),
  );
}

/** Periods in the order in which they take their share, and the name of the period that a time is in. */
const periods: readonly (readonly [key: string, nameOf: (date: Date, backup: VolumeState) => string])[] = [
  ['keep-last', (_, backup) => backup.volid],
  ['keep-hourly', (date) => date.toISOString().slice(0, 13)],
  ['keep-daily', (date) => date.toISOString().slice(0, 10)],
  ['keep-weekly', (date) => String(Math.floor((date.getTime() / 86_400_000 + 3) / 7))],
  ['keep-monthly', (date) => date.toISOString().slice(0, 7)],
  ['keep-yearly', (date) => date.toISOString().slice(0, 4)],
];

export type Mark = 'keep' | 'remove' | 'protected';

/** A mark for each backup of one guest. Each period keeps the newest of so many of its units that no earlier period has covered. */
function markBackups(backups: readonly VolumeState[], retention: Retention): ReadonlyMap<string, Mark> {
  const open = backups.filter((one) => one.content === 'backup').sort((one, other) => other.ctime - one.ctime);
  const marks = new Map<string, Mark>(open.filter((one) => one.protected).map(({ volid }) => [volid, 'protected']));
  for (const [key, nameOf] of periods) keepNewest(open, marks, { count: retention.get(key) ?? 0, nameOf });
  for (const { volid } of open) if (!marks.has(volid)) marks.set(volid, retention.size === 0 ? 'keep' : 'remove');
  return marks;
}

interface Share {
  readonly count: number;
  readonly nameOf: (date: Date, backup: VolumeState) => string;
}

function keepNewest(open: readonly VolumeState[], marks: Map<string, Mark>, { count, nameOf }: Share): void {
  const unitOf = (one: VolumeState) => nameOf(new Date(one.ctime * 1000), one);
  const covered = new Set(open.filter(({ volid }) => marks.get(volid) === 'keep').map(unitOf));
  let left = count;
  for (const one of open) {
    const unit = unitOf(one);
    if (left === 0 || marks.has(one.volid) || covered.has(unit)) continue;
    covered.add(unit);
    marks.set(one.volid, 'keep');
    left -= 1;
  }
}

export function prunedBackups(backups: readonly VolumeState[], retention: Retention): VolumeState[] {
  const marks = markBackups(backups, retention);
  return backups.filter(({ volid }) => marks.get(volid) === 'remove');
}

interface Marked {
  readonly volume: VolumeState;
  readonly mark: Mark;
}

/** The backups that the parameters choose, guest by guest. */
function chosen(call: ApiCall): Marked[] {
  const { parameters, cluster } = call;
  const [type, vmid] = [parameters.text('type'), parameters.integer('vmid')];
  const storage = parameters.text('storage') ?? '';
  const backups = cluster.state.volumes.filter(
    (one) =>
      one.storage === storage &&
      one.content === 'backup' &&
      (one.node === undefined || one.node === call.node) &&
      (type === undefined || one.subtype === type) &&
      (vmid === undefined || one.vmid === vmid),
  );
  const groups = Map.groupBy(backups, ({ subtype, vmid: owner }) => `${subtype} ${owner}`);
  const retention = retentionOf(call, storage);
  return [...groups.values()].flatMap((group) => {
    const marks = markBackups(group, retention);
    return group.map((volume) => ({ volume, mark: marks.get(volume.volid) ?? 'keep' }));
  });
}

function dryRun(call: ApiCall): unknown {
  requireStorage(call);
  const rows = chosen(call).filter(({ volume }) => call.cluster.access.holds(call.user, `/vms/${volume.vmid}`, 'VM.Backup'));
  return rows.map(({ volume, mark }) => ({ volid: volume.volid, ctime: volume.ctime, mark, type: volume.subtype, vmid: volume.vmid }));
}

/** For one guest it takes what deleting its backups takes. */
function prune(call: ApiCall): string {
  const { parameters, cluster, node, user } = call;
  const storage = parameters.text('storage') ?? '';
  const path = `/storage/${storage}`;
  const vmid = parameters.integer('vmid');
  requirePrivilege(call, path, vmid === undefined ? 'Datastore.Allocate' : 'Datastore.AllocateSpace');
  if (vmid !== undefined) requirePrivilege(call, `/vms/${vmid}`, 'VM.Backup');
  const id = `${vmid === undefined ? '' : `${vmid}@`}${storage}`;
  return cluster.tasks.start({ node, type: 'prunebackups', id, user }, function* (task) {
    asTaskError(() => requireStorage(call));
    yield Math.ceil(cluster.taskDurationMs / 2);
    for (const { volume } of chosen(call).filter(({ mark }) => mark === 'remove')) {
      task.log(`removing backup '${volume.volid}'`);
      free(cluster, volume.volid);
    }
  });
}

/** Notes and protection. @throws {ApiError} */
function describe(call: ApiCall): null {
  const { parameters, cluster } = call;
  const volume = findVolume(call);
  demandVolume(call, volume);
  requireStorage(call);
  if (volume === undefined) throw failed(`volume '${volidOf(call)}' does not exist`);
  for (const name of ['notes', 'protected'])
    if (parameters.has(name) && volume.content !== 'backup')
      throw failed(
        `attribute '${name}' is not supported for storage type '${cluster.state.storages.get(volume.storage)?.type}' and content type '${volume.content}'`,
      );
  const notes = parameters.text('notes');
  const changed: VolumeState = {
    ...volume,
    ...(notes === undefined ? {} : { notes: notes === '' ? undefined : notes }),
    ...(parameters.has('protected') ? { protected: parameters.flag('protected') } : {}),
  };
  cluster.state.volumes.splice(cluster.state.volumes.indexOf(volume), 1, changed);
  return null;
}

/** What a backup would be made with. Details of the node only for who may audit it. */
function defaults(call: ApiCall): unknown {
  const { parameters, cluster, node, user } = call;
  const storage = parameters.text('storage') ?? 'local';
  const rights = readStorage.privileges.some((one) => cluster.access.holds(user, `/storage/${storage}`, one));
  if (!rights) requirePrivilege(call, `/storage/${storage}`, readStorage.privileges.join('|'));
  const known = cluster.state.storages.get(storage);
  if (known === undefined) throw failed(`storage '${storage}' does not exist`);
  if (!known.content.includes('backup')) throw failed(`can't use storage '${storage}' for backups - wrong content type`);
  const details = cluster.access.holds(user, `/nodes/${node}`, 'Sys.Audit')
    ? { dumpdir: `${storagePath(cluster.state, storage)}/dump`, ionice: 7 }
    : {};
  return given({
    ...{
      all: 0,
      bwlimit: 0,
      compress: '0',
      lockwait: 180,
      mode: 'snapshot',
      pigz: 0,
      quiet: 0,
      remove: 1,
      stdexcludes: 1,
      stop: 0,
      stopwait: 10,
      storage,
      zstd: 1,
    },
    ...{
      mailnotification: 'always',
      'notification-mode': 'auto',
      fleecing: { enabled: 0 },
      performance: { 'max-workers': 16, 'pbs-entries-max': 1_048_576 },
    },
    ...{ 'prune-backups': known.options['prune-backups'] ?? 'keep-all=1', ...details },
  });
}

function extract(call: ApiCall): string {
  const volid = call.parameters.text('volume') ?? '';
  requireType({ call, vmid: 0 }, volid, 'backup');
  const volume = call.cluster.state.volumes.find((one) => one.volid === volid && (one.node === undefined || one.node === call.node));
  if (volume === undefined) throw failed(`volume '${volid}' does not exist`);
  if (volume.vmid !== undefined) requirePrivilege(call, `/vms/${volume.vmid}`, 'VM.Backup');
  if (volume.archived === undefined) throw failed(`unable to extract configuration from '${volid}'`);
  return volume.archived;
}
