/** The backup of one guest within a job (`PVE/VZDump.pm` exec_backup_task and its two plugins): what it prints, and what it keeps. */
import { randomUuid } from '../../random.ts';
import type { ApiCall } from '../api-method.ts';
import { disksOf, isUnused, sizeOf } from '../drives.ts';
import { configText } from '../guest-config.ts';
import { hasAgent } from '../guest-plans.ts';
import { managedResource, requestOf } from '../high-availability.ts';
import type { GuestState, VolumeState } from '../state.ts';
import { type TaskContext, TaskError, TaskInterrupted, type TaskSteps } from '../task-engine.ts';
import { diskLine, fillNotes, isIncluded, logTransfer, mountLine, stamp, tarCommand } from './backup-words.ts';
import { prunedBackups, retentionOf } from './retention.ts';
import { canSnapshot } from './snapshots.ts';

export interface GuestBackup {
  readonly call: ApiCall;
  readonly vmid: number;
  /** Undefined: there is none of that id. */
  readonly guest: GuestState | undefined;
  readonly storage: string;
  /** Directory that the archive goes to. */
  readonly path: string;
  readonly task: TaskContext;
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]) => (one < other ? -1 : 1);

type Mode = 'snapshot' | 'suspend' | 'stop';

/** Yields while it takes time. @returns whether it went well; @throws {TaskError} when the whole job is stopped */
export function* backUp(wish: GuestBackup): Generator<number, boolean, undefined> {
  const { vmid, task } = wish;
  const info = infoOf(task);
  const began = task.now();
  try {
    yield* steps(wish);
    info(`Finished Backup of VM ${vmid} (${new Date(Math.round((task.now() - began) / 1000) * 1000).toISOString().slice(11, 19)})`);
    info(`Backup finished at ${stamp(task.now())}`);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof TaskError)) throw thrown;
    const interrupted = thrown instanceof TaskInterrupted;
    const reason = interrupted ? 'interrupted by signal' : thrown.message;
    task.log(`ERROR: Backup of VM ${vmid} failed - ${reason}`);
    info(`Failed at ${stamp(task.now())}`);
    if (!interrupted) return false;
    task.log(`ERROR: Backup job failed - ${reason}`);
    throw new TaskError(reason);
  }
}

function infoOf(task: TaskContext): (line: string) => void {
  return (line) => task.log(`INFO: ${line}`);
}

function* steps(wish: GuestBackup): TaskSteps {
  const { call, vmid, guest, task } = wish;
  if (guest === undefined) throw new TaskError(`unable to find VM '${vmid}'`);
  const asked = (call.parameters.text('mode') ?? 'snapshot') as Mode;
  refuseManaged(call, guest, asked);
  refuseFull(wish, guest);
  const info = infoOf(task);
  info(`Starting Backup of VM ${vmid} (${guest.kind})`);
  info(`Backup started at ${stamp(task.now())}`);
  const archive = archiveOf(wish, guest);
  info(`status = ${guest.running ? 'running' : 'stopped'}`);
  const lock = guest.config.get('lock');
  if (lock !== undefined) throw new TaskError(`${guest.kind === 'qemu' ? 'VM' : 'CT'} is locked (${lock})`);
  // What is saved is the file without the lock.
  const saved = configText({ kind: guest.kind, config: new Map(guest.config), pending: new Map(), snapshots: [] });
  guest.config.set('lock', 'backup');
  try {
    yield* underLock(wish, guest, asked, archive);
  } finally {
    guest.config.delete('lock');
  }
  keep(wish, guest, archive, saved);
  if (guest.running && asked === 'suspend' && guest.kind === 'qemu') info('resume vm');
}

function refuseManaged({ cluster }: ApiCall, guest: GuestState, mode: Mode): void {
  const resource = managedResource(cluster.ha, guest);
  if (mode === 'stop' && resource !== undefined && requestOf(resource) === 'started')
    throw new TaskError(
      'Cannot execute a backup with stop mode on a HA managed and enabled Service. Use snapshot mode or disable the Service.',
    );
}

/** Where nothing is pruned, the storage's limit is a refusal. */
function refuseFull({ call, guest, storage }: GuestBackup, { vmid, kind }: GuestState): void {
  const { parameters, cluster } = call;
  const limit = [...retentionOf(call, storage)].reduce((sum, [, count]) => sum + count, 0);
  if (guest === undefined || limit === 0 || !parameters.has('remove') || parameters.flag('remove') || parameters.flag('protected')) return;
  const kept = cluster.state.volumes.filter(
    (one) => one.storage === storage && one.content === 'backup' && one.vmid === vmid && one.subtype === kind && !one.protected,
  );
  if (kept.length >= limit)
    throw new TaskError(
      `There is a max backup limit of ${limit} enforced by the target storage or the vzdump parameters. Either increase the limit or delete old backups.`,
    );
}

const extensions: Readonly<Record<string, string>> = { '1': '.lzo', lzo: '.lzo', gzip: '.gz', zstd: '.zst' };

function archiveOf({ call, path, task, vmid }: GuestBackup, { kind }: GuestState): string {
  const time = stamp(task.now()).replace(/[-:]/g, '_').replace(' ', '-');
  const compress = call.parameters.text('compress') ?? '0';
  return `${path}/vzdump-${kind}-${vmid}-${time}.${kind === 'qemu' ? 'vma' : 'tar'}${extensions[compress] ?? ''}`;
}

function* underLock(wish: GuestBackup, guest: GuestState, asked: Mode, archive: string): TaskSteps {
  const info = infoOf(wish.task);
  const wasRunning = guest.running;
  const mode = modeOf(wish, guest, wasRunning ? asked : 'stop');
  info(`backup mode: ${mode}`);
  const limit = wish.call.parameters.text('bwlimit') ?? '0';
  if (limit !== '0') info(`bandwidth limit: ${limit} KiB/s`);
  info(`ionice priority: ${wish.call.parameters.text('ionice') ?? '7'}`);
  if (mode !== 'snapshot') describe(wish, guest);
  const saving = { archive, wasRunning, since: mode === 'snapshot' ? undefined : wish.task.now() };
  if (mode === 'stop' && wasRunning) yield* stop(wish, guest);
  if (guest.kind === 'qemu') yield* saveRunningVm(wish, guest, { mode, saving });
  else yield* saveContainer(wish, guest, { mode, saving });
}

/** A container whose storage cannot snapshot is suspended instead. */
function modeOf(wish: GuestBackup, guest: GuestState, asked: Mode): Mode {
  if (asked !== 'snapshot') return asked;
  describe(wish, guest);
  if (guest.kind === 'qemu' || canSnapshot(wish.call.cluster.state, guest)) return asked;
  const info = infoOf(wish.task);
  info('mode failure - some volumes do not support snapshots');
  info("trying 'suspend' mode instead");
  return 'suspend';
}

interface InMode {
  readonly mode: Mode;
  readonly saving: Saving;
}

function* saveRunningVm(wish: GuestBackup, guest: GuestState, { mode, saving }: InMode): TaskSteps {
  const info = infoOf(wish.task);
  if (mode === 'suspend') info('suspending guest');
  logLeftOut(guest, info);
  info(`creating vzdump archive '${saving.archive}'`);
  yield* saveVm(wish, guest, saving);
}

function* saveContainer(wish: GuestBackup, guest: GuestState, { mode, saving }: InMode): TaskSteps {
  const info = infoOf(wish.task);
  if (mode === 'suspend') yield* suspendContainer(wish, guest);
  if (mode === 'snapshot') info("create storage snapshot 'vzdump'");
  info(`creating vzdump archive '${saving.archive}'`);
  yield* archiveContainer(wish, saving);
  if (mode === 'snapshot') info("cleanup temporary 'vzdump' snapshot");
  if (mode === 'stop' && saving.wasRunning) restart(wish, guest, saving.since ?? 0);
}

/** What the archive's configuration does not hold. */
function logLeftOut({ config, snapshots, pending }: GuestState, info: (line: string) => void): void {
  for (const [key, value] of [...config].sort(byName)) if (isUnused(key)) info(`skip unused drive '${value}' (not included into backup)`);
  if (snapshots.length > 0) info('snapshots found (not included into backup)');
  if (pending.size > 0) info('pending configuration changes found (not included into backup)');
}

/** Its name, and each disk: taken along or left out. */
function describe({ task }: GuestBackup, guest: GuestState): void {
  const info = infoOf(task);
  if (guest.kind === 'lxc') info(`CT Name: ${guest.config.get('hostname') ?? ''}`);
  else if (guest.config.has('name')) info(`VM Name: ${guest.config.get('name')}`);
  for (const drive of disksOf(guest.kind, guest.config)) info(guest.kind === 'qemu' ? diskLine(drive) : mountLine(drive));
}

function* stop({ call, task, vmid }: GuestBackup, guest: GuestState): TaskSteps {
  const info = infoOf(task);
  const seconds = (call.parameters.integer('stopwait') ?? 10) * 60;
  info('stopping virtual guest');
  const command =
    guest.kind === 'qemu' ? `qm shutdown ${vmid} --skiplock --keepActive --timeout ${seconds}` : `lxc-stop -n ${vmid} --timeout ${seconds}`;
  try {
    yield* waitForEnd(guest, info, guest.obeysShutdown ? call.cluster.taskDurationMs : seconds * 1000);
  } catch (thrown) {
    // The command is the one that is stopped; the job goes on to its end.
    if (!(thrown instanceof TaskInterrupted)) throw thrown;
    for (const line of ['trying to acquire lock...', ' OK']) task.log(line);
    throw new TaskError(`command '${command}' failed: interrupted by signal`);
  }
  if (!guest.obeysShutdown && guest.kind === 'qemu') {
    info('VM quit/powerdown failed - got timeout');
    throw new TaskError(`command '${command}' failed: exit code 255`);
  }
  guest.running = false;
}

function* waitForEnd(guest: GuestState, info: (line: string) => void, ms: number): TaskSteps {
  if (hasAgent(guest) && !guest.agentAnswers) {
    yield 3000;
    info(`QEMU Guest Agent is not running - VM ${guest.vmid} qga command 'guest-ping' failed - got timeout`);
  }
  yield ms;
}

function* suspendContainer({ call, task, vmid }: GuestBackup, guest: GuestState): TaskSteps {
  const info = infoOf(task);
  const directory = `/var/tmp/vzdumptmp${guest.pid}_${vmid}`;
  for (const which of ['first', 'final']) {
    if (which === 'final') info('suspending guest');
    info(`starting ${which} sync /proc/${guest.pid}/root/ to ${directory}`);
    yield call.cluster.taskDurationMs;
    info(`${which} sync finished - transferred 4.10M bytes in 1s`);
  }
  info('resuming guest');
  info('guest is online again after <1 seconds');
}

function restart({ task }: GuestBackup, guest: GuestState, since: number): void {
  const info = infoOf(task);
  info('restarting vm');
  guest.running = true;
  guest.startedAt = task.now();
  const seconds = Math.round((task.now() - since) / 1000);
  info(`guest is online again after ${seconds < 1 ? '<1' : seconds} seconds`);
}

interface Saving {
  readonly archive: string;
  readonly wasRunning: boolean;
  /** When the guest was stopped or suspended, ms; undefined: it went on. */
  readonly since: number | undefined;
}

function* archiveContainer(wish: GuestBackup, { archive }: Saving): TaskSteps {
  const info = infoOf(wish.task);
  if (isFull(wish)) {
    info('Total bytes written: 1781760 (1.7MiB, ?/s)');
    info('tar: -: Wrote only 4096 of 10240 bytes');
    info('tar: Error is not recoverable: exiting now');
    throw new TaskError(`command '${tarCommand(archive)}' failed: exit code 2`);
  }
  yield wish.call.cluster.taskDurationMs * 2;
  info('Total bytes written: 4208640 (4.1MiB, 479MiB/s)');
  info('archive file size: 4MB');
}

/** The hypervisor copies, started for it where the VM does not run; a VM that was stopped or suspended for it runs on from its start. */
function* saveVm(wish: GuestBackup, guest: GuestState, { wasRunning, since }: Saving): TaskSteps {
  const { call, task } = wish;
  const info = infoOf(task);
  const disks = disksOf('qemu', guest.config).filter((drive) => isIncluded('qemu', drive));
  if (disks.length === 0) return yield* saveNothing(wish, guest, wasRunning);
  if (!guest.running) info('starting kvm to execute backup task');
  else if (hasAgent(guest)) freeze(guest, info);
  info(`started backup task '${randomUuid(call.cluster.random)}'`);
  if (wasRunning) goOn(wish, guest, since);
  yield call.cluster.taskDurationMs * 2;
  if (isFull(wish)) throw noSpace(task, !wasRunning);
  logTransfer(
    disks.reduce((sum, drive) => sum + (sizeOf(drive) ?? 0), 0),
    info,
  );
  if (!wasRunning) info('stopping kvm after backup task');
  info('archive file size: 2MB');
}

function* saveNothing({ call, task }: GuestBackup, guest: GuestState, wasRunning: boolean): TaskSteps {
  const info = infoOf(task);
  info('backup contains no disks');
  info('starting diskless backup');
  yield call.cluster.taskDurationMs;
  guest.running = wasRunning;
  info('archive file size: 0KB');
}

function goOn({ task }: GuestBackup, guest: GuestState, since: number | undefined): void {
  const delay = since === undefined ? '' : ` after ${Math.round((task.now() - since) / 1000)} seconds`;
  task.log(`INFO: resuming VM again${delay}`);
  if (guest.running) return;
  guest.running = true;
  guest.startedAt = task.now();
}

function noSpace(task: TaskContext, stops: boolean): TaskError {
  const reason = 'vma_queue_write: write error - No space left on device';
  task.log(`ERROR: ${reason}`);
  task.log('INFO: aborting backup job');
  if (stops) task.log('INFO: stopping kvm after backup task');
  return new TaskError(reason);
}

function freeze(guest: GuestState, info: (line: string) => void): void {
  if (!guest.agentAnswers) {
    info("skipping guest-agent 'fs-freeze', agent configured but not running?");
    return;
  }
  info("issuing guest-agent 'fs-freeze' command");
  info("issuing guest-agent 'fs-thaw' command");
}

/** Less than a megabyte is left. */
function isFull({ call, storage }: GuestBackup): boolean {
  const { totalBytes = 0, usedBytes = 0 } = call.cluster.state.storages.get(storage) ?? {};
  return totalBytes - usedBytes < 1_048_576;
}

/** The archive as a volume, its notes, its mark; then older ones go. */
function keep(wish: GuestBackup, guest: GuestState, archive: string, saved: string): void {
  const { call, storage, task, vmid } = wish;
  const { state } = call.cluster;
  const info = infoOf(task);
  const name = archive.slice(archive.lastIndexOf('/') + 1);
  const template = call.parameters.text('notes-template') ?? '';
  const notes = template === '' ? undefined : fillNotes(call, guest, template);
  if (notes !== undefined) info('adding notes to backup');
  const kept = call.parameters.flag('protected');
  if (kept) info('marking backup as protected');
  const volume: VolumeState = {
    ...{ storage, node: state.storages.get(storage)?.shared === true ? undefined : call.node, volid: `${storage}:backup/${name}` },
    ...{ content: 'backup', format: /\.((?:vma|tar)(?:\.\w+)?)$/.exec(name)?.[1] ?? 'vma', size: 734_003_200, vmid, subtype: guest.kind },
    ...{ ctime: Math.floor(task.now() / 1000), notes, protected: kept, used: undefined, parent: undefined, archived: saved },
  };
  state.volumes.push(volume);
  prune(wish, guest);
}

function prune({ call, storage, task }: GuestBackup, guest: GuestState): void {
  const { parameters, cluster } = call;
  const retention = retentionOf(call, storage);
  if (retention.size === 0 || (parameters.has('remove') && !parameters.flag('remove'))) return;
  const info = infoOf(task);
  info(
    `prune older backups with retention: ${[...retention]
      .sort(byName)
      .map(([name, count]) => `${name}=${count}`)
      .join(', ')}`,
  );
  const own = cluster.state.volumes.filter((one) => one.storage === storage && one.vmid === guest.vmid && one.subtype === guest.kind);
  const gone = prunedBackups(own, retention);
  for (const { volid } of gone) {
    info(`removing backup '${volid}'`);
    cluster.state.volumes.splice(
      cluster.state.volumes.findIndex((one) => one.volid === volid),
      1,
    );
  }
  info(`pruned ${gone.length} backup(s)${gone.length > 0 ? ' not covered by keep-retention policy' : ''}`);
}
