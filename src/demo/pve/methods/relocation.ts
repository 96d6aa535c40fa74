/** Migrate, clone and destroy a VM: the checks, and plain workers behind them. Copies are made at once; nothing of a disk is there to copy. */
import { badParameters, failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, count, flag, guestId, on, requireQuorum, route, text } from '../api-method.ts';
import { askedByCommand, moveResource, requestPlan } from '../ha-manager.ts';
import { managedResource, sidOf } from '../high-availability.ts';
import type { ParameterSpecs } from '../parameter.ts';
import { type ClusterState, type GuestState, isTemplate, lockOf, type NodeState } from '../state.ts';
import { type TaskContext, TaskError, type TaskPlan } from '../task-engine.ts';
import { begin, rootOnly, targetOf } from './guest-actions.ts';
import { requireGuest } from './guests.ts';

const base = '/nodes/{node}/qemu/{vmid}';

const migration: ParameterSpecs = {
  target: { type: 'string', format: 'pve-node' },
  bwlimit: count,
  force: flag,
  migration_network: text,
  migration_type: { ...text, enum: ['secure', 'insecure'] },
  online: flag,
  targetstorage: text,
  'with-conntrack-state': flag,
  'with-local-disks': flag,
};

const cloning: ParameterSpecs = {
  newid: guestId,
  bwlimit: count,
  description: text,
  format: { ...text, enum: ['raw', 'qcow2', 'vmdk'] },
  full: flag,
  name: text,
  pool: text,
  snapname: { ...text, format: 'pve-configid', maxLength: 40 },
  storage: { ...text, format: 'pve-storage-id' },
  target: { ...text, format: 'pve-node' },
};

export const relocationMethods: readonly ApiMethod[] = [
  route(`POST ${base}/migrate`, onGuest('VM.Migrate'), migrate, { parameters: migration }),
  route(`POST ${base}/clone`, onGuest('VM.Clone'), clone, { parameters: cloning }),
  route(`DELETE ${base}`, onGuest('VM.Allocate'), destroy, {
    parameters: { 'destroy-unreferenced-disks': flag, purge: flag, skiplock: flag },
  }),
];

function onGuest(privilege: string) {
  return on('/vms/{vmid}', privilege);
}

/** @throws {ApiError} 500 for a name that no node has */
function requireNode(call: ApiCall, name: string): NodeState {
  const node = call.cluster.state.nodes.get(name);
  if (node === undefined) throw failed(`no such cluster node '${name}'`);
  return node;
}

function refuseLocked(guest: GuestState): void {
  const lock = lockOf(guest);
  if (lock !== undefined) throw failed(`VM is locked (${lock})`);
}

/** Disks by their place: `scsi0` → volume and size text. */
function disksOf(guest: GuestState): { readonly place: string; readonly volid: string; readonly storage: string }[] {
  return [...guest.config].flatMap(([place, value]) => {
    const [, volid = '', storage = ''] = /^(([\w-]+):[^,]+)/.exec(String(value)) ?? [];
    return /^(?:scsi|virtio|ide|sata)\d+$/.test(place) && volid !== '' ? [{ place, volid, storage }] : [];
  });
}

/** `PVE::QemuServer::check_storage_availability`: the target must have every storage that the guest uses. */
function requireStorages({ cluster }: ApiCall, guest: GuestState, target: string): void {
  for (const { storage } of disksOf(guest)) {
    const nodes = cluster.state.storages.get(storage)?.nodes;
    if (nodes !== undefined && !nodes.includes(target)) throw failed(`storage '${storage}' is not available on node '${target}'`);
  }
}

function migrate(call: ApiCall): string {
  const target = call.parameters.text('target') ?? '';
  if (target === call.node || target === 'localhost') throw badParameters({ target: 'target is local node.' });
  requireQuorum(call);
  const node = requireNode(call, target);
  rootOnly(call, 'force', 'migration_type', 'migration_network');
  const guest = requireGuest(call, 'qemu');
  refuseLocked(guest);
  if (guest.running && !call.parameters.flag('online')) throw failed("can't migrate running VM without --online");
  if (!call.parameters.has('targetstorage')) requireStorages(call, guest, target);
  const where = targetOf(call, 'qemu');
  const words = `migration for VM ${guest.vmid} to node ${target}`;
  const resource = managedResource(call.cluster.ha, guest);
  if (resource !== undefined) {
    const plan = requestPlan(call.cluster, words, (log) => {
      askedByCommand(resource, `migrate ${resource.sid} ${target}`, log);
      moveResource(call.cluster, resource, { how: 'migrate', node: target });
    });
    return begin(where, call, 'hamigrate', plan);
  }
  return begin(where, call, 'qmigrate', migratePlan(call, guest, node));
}

const sshTimeoutMs = 21_000;

function migratePlan(call: ApiCall, guest: GuestState, target: NodeState): TaskPlan {
  return function* (task) {
    const stamp = () => new Date(task.now()).toISOString().slice(0, 19).replace('T', ' ');
    const log = (line: string) => task.log(`${stamp()} ${line}`);
    if (!target.up) {
      log(`# /usr/bin/ssh ${sshOptions(target)} root@${target.ip} /bin/true`);
      log(`ssh: connect to host ${target.ip} port 22: ${target.unreachable}`);
      yield sshTimeoutMs;
      log("ERROR: migration aborted (duration 00:00:21): Can't connect to destination address using public key");
      throw new TaskError('migration aborted');
    }
    log(`starting migration of VM ${guest.vmid} to node '${target.name}' (${target.ip})`);
    yield call.cluster.taskDurationMs * 2;
    guest.node = target.name;
    log(
      `migration finished successfully (duration 00:00:${String(Math.round((call.cluster.taskDurationMs * 2) / 1000)).padStart(2, '0')})`,
    );
  };
}

function sshOptions({ name }: NodeState): string {
  const hosts = `-o 'UserKnownHostsFile=/etc/pve/nodes/${name}/ssh_known_hosts' -o 'GlobalKnownHostsFile=none'`;
  return `-e none -o 'BatchMode=yes' -o 'HostKeyAlias=${name}' ${hosts}`;
}

function requireAllocation(call: ApiCall, newid: number): void {
  const pool = call.parameters.text('pool');
  const paths = [`/vms/${newid}`, ...(pool === undefined ? [] : [`/pool/${pool}`])];
  if (!paths.some((path) => call.cluster.access.holds(call.user, path, 'VM.Allocate'))) throw forbidden(`/vms/${newid}, VM.Allocate`);
}

function clone(call: ApiCall): string {
  const newid = call.parameters.integer('newid') ?? 0;
  requireAllocation(call, newid);
  const target = call.parameters.text('target') ?? call.node;
  if (target !== call.node) requireNode(call, target);
  requireQuorum(call);
  const guest = requireGuest(call, 'qemu');
  refuseLocked(guest);
  if (target !== call.node) requireShared(call, guest, target);
  if (call.cluster.state.guests.has(newid)) throw failed(`unable to create VM ${newid}: config file already exists`);
  const full = call.parameters.has('full') ? call.parameters.flag('full') : !isTemplate(guest);
  if (!full && !isTemplate(guest)) throw badParameters({ full: 'linked clone feature is not supported for drive' });
  return begin(targetOf(call, 'qemu'), call, 'qmclone', clonePlan(call, guest, { newid, target, full }));
}

/** A clone's disks are made here and only named there, so they must lie on a shared storage; the target's own view is not asked. */
function requireShared({ cluster }: ApiCall, guest: GuestState, target: string): void {
  const uses = disksOf(guest);
  if (uses.some(({ storage }) => cluster.state.storages.get(storage)?.shared !== true))
    throw failed(`can't clone VM to node '${target}' (VM uses local storage)`);
}

interface Copy {
  readonly newid: number;
  readonly target: string;
  readonly full: boolean;
}

function clonePlan(call: ApiCall, guest: GuestState, { newid, target, full }: Copy): TaskPlan {
  return function* (task) {
    const config = new Map(guest.config);
    for (const name of ['lock', 'template', 'protection']) config.delete(name);
    config.set('name', call.parameters.text('name') ?? `Copy-of-VM-${String(guest.config.get('name') ?? guest.vmid)}`);
    if (call.parameters.has('description')) config.set('description', call.parameters.text('description') ?? '');
    for (const { place, volid } of disksOf(guest)) config.set(place, copyDisk(call, { guest, newid, place, volid, full }, task));
    if (disksOf(guest).length > 0) yield call.cluster.taskDurationMs;
    const facts = { vmid: newid, node: target, config, snapshots: [], running: false, paused: false, createdAt: task.now() };
    call.cluster.state.guests.set(newid, { ...guest, ...facts });
  };
}

interface DiskCopy {
  readonly guest: GuestState;
  readonly newid: number;
  readonly place: string;
  readonly volid: string;
  readonly full: boolean;
}

/** Logs what the real one does, and returns the new disk as the configuration has it. */
function copyDisk(call: ApiCall, { guest, newid, place, volid, full }: DiskCopy, task: TaskContext): string {
  const { state } = call.cluster;
  const source = state.volumes.find((volume) => volume.volid === volid);
  const storage = volid.slice(0, volid.indexOf(':'));
  const { format, size } = source ?? { format: 'raw', size: 0 };
  const file = `${newid}/vm-${newid}-disk-0.${format}`;
  const path = `${directoryOf(state, storage)}/images/${file}`;
  task.log(`create ${full ? 'full' : 'linked'} clone of drive ${place} (${volid})`);
  if (full) {
    task.log(`Formatting '${path}', ${formatting(format, size)}`);
    task.log(`transferred 0.0 B of ${human(size)} (0.00%)`);
    task.log(`transferred ${human(size)} of ${human(size)} (100.00%)`);
  }
  if (source !== undefined) state.volumes.push({ ...source, volid: `${storage}:${file}`, vmid: newid, parent: full ? null : volid });
  return String(guest.config.get(place)).replace(volid, `${storage}:${file}`);
}

function directoryOf({ storages }: ClusterState, storage: string): string {
  return storages.get(storage)?.options['path'] ?? '/var/lib/vz';
}

function formatting(format: string, size: number): string {
  if (format !== 'qcow2') return `fmt=${format} size=${size} preallocation=off`;
  return `fmt=qcow2 cluster_size=65536 extended_l2=off preallocation=metadata compression_type=zlib size=${size} lazy_refcounts=off refcount_bits=16`;
}

function human(bytes: number): string {
  return bytes >= 1_073_741_824 ? `${(bytes / 1_073_741_824).toFixed(1)} GiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

function destroy(call: ApiCall): string {
  rootOnly(call, 'skiplock');
  const guest = requireGuest(call, 'qemu');
  if (guest.config.get('protection') === 1) throw failed(`can't remove VM ${guest.vmid} - protection mode enabled`);
  const { cluster } = call;
  const purge = call.parameters.flag('purge');
  if (!purge && cluster.ha.resources.has(sidOf(guest)))
    throw failed(`unable to remove VM ${guest.vmid} - used in HA resources and purge parameter not set.`);
  if (guest.running) throw failed(`VM ${guest.vmid} is running - destroy failed`);
  return begin(targetOf(call, 'qemu'), call, 'qmdestroy', function* (task) {
    const lock = lockOf(guest);
    if (lock !== undefined) throw new TaskError(`VM is locked (${lock})`);
    yield Math.ceil(cluster.taskDurationMs / 2);
    cluster.state.guests.delete(guest.vmid);
    if (purge) cluster.ha.resources.delete(sidOf(guest));
    const own = cluster.state.volumes.filter((volume) => volume.vmid === guest.vmid && volume.content === 'images');
    for (const volume of own) cluster.state.volumes.splice(cluster.state.volumes.indexOf(volume), 1);
    for (const { volid } of own) task.log(`  Removed volume '${volid}'`);
    if (purge) task.log(`purging VM ${guest.vmid} from related configurations..`);
  });
}
