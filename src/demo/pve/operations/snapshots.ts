/**
 * Snapshots (`PVE/AbstractConfig.pm`): name syntax is refused at once; everything else is found by the worker. Going back takes the
 * configuration of then, tags and sizes too, and keeps the description, unused disks and every later snapshot.
 */
import { randomUuid, shuffled } from '../../random.ts';
import { failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { guestOperations, operation } from '../declared/read-tables.ts';
import { type Drive, disksOf, free, parseVolume, sizeOf, volumesIn } from '../drives.ts';
import { digestOf, snapshotValues } from '../guest-config.ts';
import { agentSilent, checkLock, type GuestTarget, hasAgent, load, locked, setRunning, startPlan } from '../guest-plans.ts';
import { begin, targetOf } from '../methods/guest-actions.ts';
import { requireGuest } from '../methods/guests.ts';
import { type ClusterState, type ConfigValue, type GuestKind, type GuestState, isTemplate, type SnapshotState } from '../state.ts';
import { type TaskContext, TaskError, type TaskPlan, type TaskSteps } from '../task-engine.ts';
import { addUnused } from './apply-config.ts';
import { requireSnapshot } from './config.ts';
import { checkState } from './config-change.ts';

export const snapshotMethods: readonly ApiMethod[] = [
  ...guestOperations('GET', '/snapshot', (kind) => (call) => list(call, kind)),
  ...guestOperations('POST', '/snapshot', (kind) => (call) => create(call, kind)),
  ...guestOperations('DELETE', '/snapshot/{snapname}', (kind) => (call) => remove(call, kind)),
  ...guestOperations('GET', '/snapshot/{snapname}/config', (kind) => (call) => readConfig(call, kind)),
  ...guestOperations('PUT', '/snapshot/{snapname}/config', (kind) => (call) => describe(call, kind)),
  ...guestOperations('POST', '/snapshot/{snapname}/rollback', (kind) => (call) => rollback(call, kind)),
  operation('GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}', () => [{ cmd: 'rollback' }, { cmd: 'config' }]),
];

function nameIn({ parameters }: ApiCall): string {
  return parameters.text('snapname') ?? '';
}

function taskType(kind: GuestKind, action: string): string {
  return `${kind === 'qemu' ? 'qm' : 'vz'}${action}`;
}

function list(call: ApiCall, kind: GuestKind): unknown {
  const guest = requireGuest(call, kind);
  const rows: object[] = shuffled(call.cluster.random, guest.snapshots).map(({ name, description, parent, snaptime, config }) => ({
    ...{ name, description: lineEnded(kind, description), snaptime },
    ...(kind === 'qemu' ? { vmstate: config.has('vmstate') ? 1 : 0 } : {}),
    ...(parent === undefined ? {} : { parent }),
  }));
  const parent = parentOf(guest);
  const here = { name: 'current', description: 'You are here!', digest: digestOf(guest), running: guest.running ? 1 : 0 };
  return [...rows, parent === undefined ? here : { ...here, parent }];
}

/** A container's descriptions are read back with a line end. */
function lineEnded(kind: GuestKind, text: string): string {
  return kind === 'lxc' && text !== '' && !text.endsWith('\n') ? `${text}\n` : text;
}

/** The snapshot that the guest stands on. */
function parentOf({ config }: GuestState): string | undefined {
  const parent = config.get('parent');
  return parent === undefined ? undefined : String(parent);
}

function create(call: ApiCall, kind: GuestKind): string {
  const name = nameIn(call);
  const reserved = kind === 'qemu' ? 'pending' : 'vzdump';
  for (const word of ['current', reserved])
    if (name === word || (kind === 'qemu' && name.toLowerCase() === 'pending' && word === 'pending'))
      throw failed(`unable to use snapshot name '${word}' (reserved name)`);
  if (kind === 'qemu') requireGuest(call, kind);
  const target = targetOf(call, kind);
  const wish = { name, description: call.parameters.text('description') ?? '', vmstate: call.parameters.flag('vmstate') };
  return begin(target, call, taskType(kind, 'snapshot'), snapshotPlan(target, wish));
}

export interface SnapshotWish {
  readonly name: string;
  readonly description: string;
  /** With RAM; of a VM that does not run, without a word, without. */
  readonly vmstate: boolean;
}

/** Neither in a snapshot nor taken back by one. */
const apart = /^(?:description|lock|vmstate|unused\d+)$/;

export function snapshotPlan(target: GuestTarget, wish: SnapshotWish): TaskPlan {
  return (task) => locked(target, task, () => takeSnapshot(target, wish, task));
}

function* takeSnapshot(target: GuestTarget, wish: SnapshotWish, task: TaskContext): TaskSteps {
  const { cluster, kind } = target;
  const guest = load(target);
  if (isTemplate(guest)) throw new TaskError("you can't take a snapshot if it's a template");
  checkLock(guest);
  if (guest.snapshots.some((one) => one.name === wish.name)) throw new TaskError(`snapshot name '${wish.name}' already used`);
  if (!canSnapshot(cluster.state, guest)) throw new TaskError('snapshot feature is not available');
  const config = new Map([...guest.config].filter(([key]) => !apart.test(key) && key !== 'parent'));
  const parent = parentOf(guest);
  const snaptime = Math.floor(task.now() / 1000);
  guest.config.set('lock', 'snapshot');
  try {
    if (kind === 'qemu') yield* saveDisks(target, guest, { wish, config, task });
    if (disksOf(kind, guest.config).length > 0) yield cluster.taskDurationMs;
  } finally {
    guest.config.delete('lock');
  }
  guest.snapshots.push({ name: wish.name, description: wish.description, parent, snaptime, config });
  guest.config.set('parent', wish.name);
}

interface Saving {
  readonly wish: SnapshotWish;
  readonly config: Map<string, ConfigValue>;
  readonly task: TaskContext;
}

function* saveDisks(target: GuestTarget, guest: GuestState, { wish, config, task }: Saving): TaskSteps {
  if (guest.running && wish.vmstate) yield* saveRam(target, guest, { wish, config, task });
  else if (guest.running && hasAgent(guest) && !guest.agentAnswers) yield* agentSilent(guest, task);
  for (const drive of disksOf('qemu', guest.config)) {
    task.log(`snapshotting 'drive-${drive.place}' (${drive.volid})`);
    if (guest.running && parseVolume(drive.volid).format === 'qcow2') task.log('internal qemu snapshot');
  }
}

/** RAM is saved beside the disks, in a volume of twice the memory and 500 MiB. */
function* saveRam({ cluster }: GuestTarget, guest: GuestState, { wish, config, task }: Saving): TaskSteps {
  const memory = Number(/(\d+)/.exec(String(guest.config.get('memory') ?? 512))?.[1] ?? 512);
  const size = (memory * 2 + 500) * 1_048_576;
  const storage = String(guest.config.get('vmstatestorage') ?? disksOf('qemu', guest.config)[0]?.storage ?? 'local');
  const path = cluster.state.storages.get(storage)?.options['path'] ?? '/var/lib/vz';
  const file = `vm-${guest.vmid}-state-${wish.name}.raw`;
  task.log(`Formatting '${path}/images/${guest.vmid}/${file}', fmt=raw size=${size} preallocation=off`);
  task.log(`saving VM state and RAM using storage '${storage}'`);
  yield cluster.taskDurationMs;
  task.log(`completed saving the VM state in ${Math.round(cluster.taskDurationMs / 1000)}s, saved 18.00 MiB`);
  config.set('vmstate', `${storage}:${guest.vmid}/${file}`);
  config.set('runningcpu', String(config.get('cpu') ?? 'qemu64')).set('runningmachine', 'pc-i440fx-7.2+pve0');
}

/** Storages that can snapshot any volume; in a directory only qcow2 can. */
const snapshotTypes: ReadonlySet<string> = new Set(['btrfs', 'lvmthin', 'rbd', 'zfspool', 'cephfs']);

export function canSnapshot({ storages }: ClusterState, { kind, config }: Pick<GuestState, 'kind' | 'config'>): boolean {
  return disksOf(kind, config).every(({ storage, volid }) => {
    const type = storages.get(storage ?? '')?.type ?? 'dir';
    return snapshotTypes.has(type) || (kind === 'qemu' && parseVolume(volid).format === 'qcow2');
  });
}

function remove(call: ApiCall, kind: GuestKind): string {
  const target = targetOf(call, kind);
  return begin(target, call, taskType(kind, 'delsnapshot'), deletePlan(target, nameIn(call)));
}

function deletePlan(target: GuestTarget, name: string): TaskPlan {
  return (task) =>
    locked(target, task, function* () {
      const guest = load(target);
      const snapshot = find(guest, name);
      checkLock(guest);
      if (isTemplate(guest)) throw new TaskError("you can't delete a snapshot if vm is a template");
      guest.config.set('lock', 'snapshot-delete');
      try {
        if (disksOf(guest.kind, snapshot.config).length > 0) yield target.cluster.taskDurationMs;
      } finally {
        guest.config.delete('lock');
      }
      forget(target, guest, snapshot);
    });
}

/** @throws {TaskError} */
function find(guest: GuestState, name: string): SnapshotState {
  const snapshot = guest.snapshots.find((one) => one.name === name);
  if (snapshot === undefined) throw new TaskError(`snapshot '${name}' does not exist`);
  return snapshot;
}

/** Its children become children of its parent. */
function forget({ cluster }: GuestTarget, guest: GuestState, gone: SnapshotState): void {
  const kept = guest.snapshots.filter((one) => one !== gone);
  const moved = kept.map((one) => (one.parent === gone.name ? { ...one, parent: gone.parent } : one));
  guest.snapshots.splice(0, guest.snapshots.length, ...moved);
  if (parentOf(guest) === gone.name) {
    if (gone.parent === undefined) guest.config.delete('parent');
    else guest.config.set('parent', gone.parent);
  }
  const ram = gone.config.get('vmstate');
  if (ram !== undefined) free(cluster, String(ram));
}

function readConfig(call: ApiCall, kind: GuestKind): unknown {
  const guest = requireGuest(call, kind);
  const values = snapshotValues(requireSnapshot(guest, nameIn(call)));
  const description = values.get('description');
  if (description !== undefined) values.set('description', lineEnded(kind, String(description)));
  return Object.fromEntries(values);
}

function describe(call: ApiCall, kind: GuestKind): null {
  const description = call.parameters.text('description');
  if (description === undefined) return null;
  requireQuorum(call);
  const guest = requireGuest(call, kind);
  checkState(call, guest, '');
  const snapshot = requireSnapshot(guest, nameIn(call));
  guest.snapshots.splice(guest.snapshots.indexOf(snapshot), 1, { ...snapshot, description });
  return null;
}

function rollback(call: ApiCall, kind: GuestKind): string {
  const target = targetOf(call, kind);
  const start = call.parameters.flag('start');
  if (start) requirePrivilege(call, `/vms/${target.vmid}`, 'VM.PowerMgmt');
  const plan: TaskPlan = function* (task) {
    yield* rollbackPlan(target, nameIn(call))(task);
    if (start && !load(target).running) begin(target, call, taskType(kind, 'start'), startPlan(target));
  };
  return begin(target, call, taskType(kind, 'rollback'), plan);
}

function rollbackPlan(target: GuestTarget, name: string): TaskPlan {
  return (task) => locked(target, task, () => goBack(target, name, task));
}

function* goBack(target: GuestTarget, name: string, task: TaskContext): TaskSteps {
  const { cluster, kind } = target;
  const guest = load(target);
  if (isTemplate(guest)) throw new TaskError("you can't rollback if vm is a template");
  const snapshot = find(guest, name);
  refuseOlder(cluster.state, guest, snapshot);
  checkLock(guest);
  if (guest.running) yield cluster.taskDurationMs;
  guest.running = false;
  guest.paused = false;
  guest.config.set('lock', 'rollback');
  if (disksOf(kind, snapshot.config).length > 0) yield cluster.taskDurationMs;
  restoreConfig(target, guest, snapshot);
  if (snapshot.config.has('vmstate')) {
    yield cluster.taskDurationMs;
    setRunning(guest, task);
  }
}

/** Of a ZFS volume only the newest snapshot can be gone back to. */
function refuseOlder({ storages }: ClusterState, guest: GuestState, snapshot: SnapshotState): void {
  const newer = guest.snapshots.some((one) => one.snaptime > snapshot.snaptime);
  const bad = disksOf(guest.kind, snapshot.config).find(({ storage }) => storages.get(storage ?? '')?.type === 'zfspool');
  if (newer && bad !== undefined) throw new TaskError(`can't rollback, '${snapshot.name}' is not most recent snapshot on '${bad.volid}'`);
}

function restoreConfig({ cluster, kind }: GuestTarget, guest: GuestState, snapshot: SnapshotState): void {
  const kept = [...guest.config].filter(([key]) => key === 'description' || /^unused\d+$/.test(key));
  const before = volumesIn(kind, guest.config);
  guest.config.clear();
  guest.pending.clear();
  const notOfGuest = /^(?:vmstate|running(?:machine|cpu)|running-nets-host-mtu)$/;
  for (const [key, value] of [...kept, ...snapshot.config]) if (!notOfGuest.test(key)) guest.config.set(key, value);
  guest.config.set('parent', snapshot.name);
  if (guest.config.has('vmgenid')) guest.config.set('vmgenid', randomUuid(cluster.random));
  const now = volumesIn(kind, guest.config);
  for (const drive of before) if (!now.some(({ volid }) => volid === drive.volid)) addUnused(guest, drive.volid);
  for (const drive of now) resetSize(cluster.state, drive);
}

function resetSize({ volumes }: ClusterState, drive: Drive): void {
  const at = volumes.findIndex(({ volid }) => volid === drive.volid);
  const volume = volumes[at];
  const size = sizeOf(drive);
  if (volume !== undefined && size !== undefined) volumes.splice(at, 1, { ...volume, size });
}
