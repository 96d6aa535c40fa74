/**
 * Moving a guest to another node, and what says before whether it can go (`PVE/QemuMigrate.pm`, `PVE/LXC/Migrate.pm`). Shared disks stay
 * where they are, local ones are copied; that a node is offline is noticed by the worker only, after 21 seconds of trying.
 */
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { guestOperations } from '../declared/read-tables.ts';
import {
  creationLine,
  type Drive,
  disksOf,
  isCdrom,
  isDrive,
  isUnused,
  parseDrive,
  parseVolume,
  sizeOf,
  unusable,
  usableStorage,
  volumesIn,
} from '../drives.ts';
import { splitList } from '../formats.ts';
import { checkLock, setRunning } from '../guest-plans.ts';
import { askedByCommand, moveResource, requestPlan } from '../ha-manager.ts';
import { affinityOf, managedResource, nodesApart } from '../high-availability.ts';
import { begin, rootOnly, targetOf } from '../methods/guest-actions.ts';
import { requireGuest } from '../methods/guests.ts';
import type { GuestKind, GuestState, NodeState } from '../state.ts';
import { type TaskContext, TaskError, TaskInterrupted, type TaskPlan, type TaskSteps } from '../task-engine.ts';
import { requireOnGuest } from './config-rights.ts';
import { requireNode } from './new-guest.ts';

export const migrateMethods: readonly ApiMethod[] = [
  ...guestOperations('GET', '/migrate', (kind) => (kind === 'qemu' ? precondition : lxcPrecondition)),
  ...guestOperations('POST', '/migrate', (kind) => (kind === 'qemu' ? migrateQemu : migrateLxc)),
];

function otherNodes({ cluster, node }: ApiCall): string[] {
  return [...cluster.state.nodes.keys()].filter((one) => one !== node);
}

/** Offline nodes are allowed: only storages are looked at. A node that is allowed is in both lists. */
function precondition(call: ApiCall): unknown {
  requireQuorum(call);
  const guest = requireGuest(call, 'qemu');
  refuseLocked(guest);
  const missing = new Map(otherNodes(call).map((node) => [node, missingStorages(call, guest, node)]));
  const apart = nodesApart(call.cluster.ha, guest, call.cluster.state.guests);
  const reasons = [...missing].map(([node, storages]) => [
    node,
    { ...(storages.length === 0 ? {} : { unavailable_storages: storages }), ...apart.get(node) },
  ]);
  return {
    ...{ running: guest.running ? 1 : 0, 'has-dbus-vmstate': 1, 'mapped-resources': [], 'mapped-resource-info': {} },
    allowed_nodes: [...missing].filter(([node, storages]) => storages.length === 0 && !apart.has(node)).map(([node]) => node),
    not_allowed_nodes: Object.fromEntries(reasons),
    local_disks: localDisks(call, guest).map((drive) => diskRow(guest, drive)),
    local_resources: localDevices(guest),
    ...(managedResource(call.cluster.ha, guest) === undefined
      ? {}
      : { 'dependent-ha-resources': affinityOf(call.cluster.ha, guest).along }),
  };
}

function refuseLocked(guest: GuestState): void {
  const lock = guest.config.get('lock');
  if (lock !== undefined) throw failed(`${guest.kind === 'qemu' ? 'VM' : 'CT'} is locked (${lock})`);
}

function missingStorages({ cluster }: ApiCall, guest: GuestState, node: string): string[] {
  const used = new Set(disksOf('qemu', guest.config).map(({ storage }) => storage ?? ''));
  return [...used].filter((storage) => unusable(cluster.state, storage, node) !== undefined);
}

/** Devices of the host itself. */
function localDevices({ config }: GuestState): string[] {
  const isLocal = (key: string, value: string) =>
    (/^hostpci\d+$/.test(key) && !/(?:^|,)mapping=/.test(value)) ||
    (/^usb\d+$/.test(key) && !/^(?:host=)?spice|(?:^|,)mapping=/i.test(value)) ||
    (/^(?:serial|parallel)\d+$/.test(key) && value !== 'socket');
  return [...config]
    .filter(([key, value]) => isLocal(key, String(value)))
    .map(([key]) => key)
    .sort();
}

/** Disks, CD-ROM images and unused volumes that lie on no shared storage. */
function localDisks({ cluster }: ApiCall, { kind, config }: GuestState): Drive[] {
  const drives = [...config].filter(([key]) => isDrive(kind, key) || isUnused(key)).map(([key, value]) => parseDrive(key, value));
  return drives.filter(({ storage }) => storage !== undefined && cluster.state.storages.get(storage)?.shared !== true);
}

function diskRow({ snapshots }: GuestState, drive: Drive): object {
  const loose = isUnused(drive.place);
  const names = snapshots
    .filter(({ config }) => disksOf('qemu', config).some(({ volid }) => volid === drive.volid))
    .map(({ name }) => name);
  const size = sizeOf(drive);
  return {
    ...{ volid: drive.volid, cdrom: isCdrom(drive) ? 1 : 0, shared: 0, replicate: 1 },
    ...{ is_attached: loose ? 0 : 1, is_unused: loose ? 1 : 0, is_vmstate: 0, is_tpmstate: drive.place === 'tpmstate0' ? 1 : 0 },
    ...{ is_cloudinit: /cloudinit/.test(drive.volid) ? 1 : 0 },
    ...(loose ? {} : { drivename: drive.place }),
    ...(size === undefined ? {} : { size }),
    ...(names.length === 0 ? {} : { referenced_in_snapshot: Object.fromEntries(names.map((name) => [name, 1])) }),
  };
}

function lxcPrecondition(call: ApiCall): unknown {
  requireQuorum(call);
  const guest = requireGuest(call, 'lxc');
  refuseLocked(guest);
  const apart = nodesApart(call.cluster.ha, guest, call.cluster.state.guests);
  return {
    running: guest.running ? 1 : 0,
    'allowed-nodes': otherNodes(call).filter((node) => !apart.has(node)),
    'not-allowed-nodes': Object.fromEntries(apart),
    ...(managedResource(call.cluster.ha, guest) === undefined
      ? {}
      : { 'dependent-ha-resources': affinityOf(call.cluster.ha, guest).along }),
  };
}

/** @throws {ApiError} */
function targetNode(call: ApiCall): NodeState {
  const target = call.parameters.text('target') ?? '';
  if (target === call.node || target === 'localhost') throw badParameters({ target: 'target is local node.' });
  requireQuorum(call);
  return requireNode(call, target);
}

function migrateQemu(call: ApiCall): string {
  const node = targetNode(call);
  rootOnly(call, 'force', 'migration_type', 'migration_network');
  const guest = requireGuest(call, 'qemu');
  refuseLocked(guest);
  if (guest.running && !call.parameters.flag('online')) throw failed("can't migrate running VM without --online");
  const map = storageMap(call, guest, call.parameters.text('targetstorage'), node.name);
  if (map === undefined) requireStorages(call, guest, node.name);
  return (
    ask(call, guest, node) ?? begin(targetOf(call, 'qemu'), call, 'qmigrate', migration(call, guest, { node, map: map ?? ((one) => one) }))
  );
}

/** `PVE::QemuServer::check_storage_availability` */
function requireStorages({ cluster }: ApiCall, guest: GuestState, node: string): void {
  for (const { storage } of disksOf('qemu', guest.config)) usableStorage(cluster, storage ?? '', node);
}

type StorageMap = (storage: string) => string;

/** `1`: each storage onto itself; `a:b,c`: a onto b, all others onto c. @throws {ApiError} */
function storageMap(call: ApiCall, guest: GuestState, text: string | undefined, node: string): StorageMap | undefined {
  if (text === undefined) return undefined;
  if (text === '1') {
    if (guest.kind === 'qemu') requireStorages(call, guest, node);
    return (storage) => storage;
  }
  requireOnGuest({ call, kind: guest.kind, vmid: guest.vmid }, 'VM.Config.Disk');
  const pairs = splitList(text).map((one) => one.split(':'));
  const named = new Map(pairs.filter((pair) => pair.length > 1).map(([from = '', to = '']) => [from, to]));
  const fallback = pairs.find((pair) => pair.length === 1)?.[0];
  for (const storage of [...named.values(), ...(fallback === undefined ? [] : [fallback])]) requireTarget(call, guest.kind, storage, node);
  return (storage) => named.get(storage) ?? fallback ?? storage;
}

function requireTarget(call: ApiCall, kind: GuestKind, storage: string, node: string): void {
  const known = usableStorage(call.cluster, storage, node);
  requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  const [type, what] = kind === 'qemu' ? ['images', 'vm images'] : ['rootdir', 'container directories'];
  if (!known.content.includes(type)) throw failed(`storage '${storage}' does not support ${what}`);
}

/** The manager moves what it manages. */
function ask(call: ApiCall, guest: GuestState, node: NodeState): string | undefined {
  const resource = managedResource(call.cluster.ha, guest);
  if (resource === undefined) return undefined;
  const words = `migration for ${guest.kind === 'qemu' ? 'VM' : 'CT'} ${guest.vmid} to node ${node.name}`;
  const plan = requestPlan(call.cluster, words, (log) => {
    askedByCommand(resource, `migrate ${resource.sid} ${node.name}`, log);
    moveResource(call.cluster, resource, { how: 'migrate', node: node.name });
  });
  return begin(targetOf(call, guest.kind), call, 'hamigrate', plan);
}

function migrateLxc(call: ApiCall): string {
  const node = targetNode(call);
  const guest = requireGuest(call, 'lxc');
  if (guest.running && !call.parameters.flag('online') && !call.parameters.flag('restart'))
    throw failed("can't migrate running container without --online or --restart");
  const map = storageMap(call, guest, call.parameters.text('target-storage'), node.name) ?? ((one) => one);
  return ask(call, guest, node) ?? begin(targetOf(call, 'lxc'), call, 'vzmigrate', migration(call, guest, { node, map }));
}

const sshTimeoutMs = 21_000;

interface Way {
  readonly node: NodeState;
  readonly map: StorageMap;
}

interface Journey extends Way {
  readonly call: ApiCall;
  readonly guest: GuestState;
  readonly task: TaskContext;
  /** With the time in front. */
  log(line: string): void;
}

/** Every line has the time in front; whatever goes wrong is told in the log, and the task says that it was aborted. */
function migration(call: ApiCall, guest: GuestState, way: Way): TaskPlan {
  return function* (task) {
    const began = task.now();
    const stamp = () => new Date(task.now()).toISOString().slice(0, 19).replace('T', ' ');
    const log = (line: string) => task.log(`${stamp()} ${line}`);
    const duration = () => new Date(Math.round((task.now() - began) / 1000) * 1000).toISOString().slice(11, 19);
    try {
      yield* travel({ ...way, call, guest, task, log });
      log(`migration finished successfully (duration ${duration()})`);
    } catch (thrown) {
      if (guest.config.get('lock') === 'migrate') guest.config.delete('lock');
      if (!(thrown instanceof TaskError)) throw thrown;
      const reason = thrown instanceof TaskInterrupted ? 'interrupted by signal' : thrown.message;
      log(`ERROR: migration aborted (duration ${duration()}): ${reason}`);
      throw new TaskError('migration aborted');
    }
  };
}

function* travel(journey: Journey): TaskSteps {
  const { guest } = journey;
  checkLock(guest);
  const wasRunning = guest.running;
  if (guest.kind === 'lxc') prepareLxc(journey);
  else prepareQemu(journey);
  yield* connect(journey);
  if (guest.kind === 'lxc' && wasRunning) yield* shutDown(journey);
  journey.log(
    `starting migration of ${guest.kind === 'qemu' ? 'VM' : 'CT'} ${guest.vmid} to node '${journey.node.name}' (${journey.node.ip})`,
  );
  guest.config.set('lock', 'migrate');
  yield* copyDisks(journey);
  if (guest.kind === 'qemu' && wasRunning) yield* moveRam(journey);
  else yield journey.call.cluster.taskDurationMs;
  if (guest.kind === 'lxc') journey.log('start final cleanup');
  guest.config.delete('lock');
  guest.node = journey.node.name;
  if (guest.kind === 'lxc' && wasRunning) yield* startThere(journey);
}

/** @throws {TaskError} */
function prepareLxc({ call, guest, node, map }: Journey): void {
  if (guest.running && call.parameters.flag('online')) throw new TaskError('lxc live migration is currently not implemented');
  for (const drive of volumesIn('lxc', guest.config)) {
    const storage = drive.storage ?? '';
    const target = call.cluster.state.storages.get(storage)?.shared === true ? storage : map(storage);
    const reason = unusable(call.cluster.state, storage, undefined) ?? unusable(call.cluster.state, target, node.name);
    if (reason !== undefined) throw new TaskError(reason);
  }
}

function prepareQemu({ call, guest, node, map, log }: Journey): void {
  if (guest.running && !call.parameters.flag('with-conntrack-state'))
    log('conntrack state migration not supported or disabled, active connections might get dropped');
  const devices = localDevices(guest);
  if (devices.length > 0) throw new TaskError(`can't migrate VM which uses local devices: ${devices.join(', ')}`);
  for (const { storage = '' } of volumesIn('qemu', guest.config)) {
    const shared = call.cluster.state.storages.get(storage)?.shared === true;
    const reason = unusable(call.cluster.state, shared ? storage : map(storage), node.name);
    if (reason !== undefined) throw new TaskError(reason);
  }
}

function* connect({ node, log }: Journey): TaskSteps {
  if (node.up) return;
  yield sshTimeoutMs;
  log(`# /usr/bin/ssh ${sshOptions(node)} root@${node.ip} /bin/true`);
  log(`ssh: connect to host ${node.ip} port 22: ${node.unreachable}`);
  throw new TaskError("Can't connect to destination address using public key");
}

function sshOptions({ name }: NodeState): string {
  const hosts = `-o 'UserKnownHostsFile=/etc/pve/nodes/${name}/ssh_known_hosts' -o 'GlobalKnownHostsFile=none'`;
  return `-e none -o 'BatchMode=yes' -o 'HostKeyAlias=${name}' ${hosts}`;
}

/** A container that runs is moved by being stopped. */
function* shutDown({ call, guest, log }: Journey): TaskSteps {
  log(`shutdown CT ${guest.vmid}`);
  yield guest.obeysShutdown ? call.cluster.taskDurationMs : (call.parameters.integer('timeout') ?? 180) * 1000;
  guest.running = false;
}

function* startThere({ call, guest, node, log, task }: Journey): TaskSteps {
  log('start container on target node');
  log(`# /usr/bin/ssh ${sshOptions(node)} root@${node.ip} pct start ${guest.vmid}`);
  yield call.cluster.taskDurationMs;
  setRunning(guest, task);
}

/** Local volumes are named, refused for a reason each, or copied under the same name. */
function* copyDisks(journey: Journey): TaskSteps {
  const { call, guest, log, map } = journey;
  const isVm = guest.kind === 'qemu';
  const local = localDisks(call, guest).sort((one, other) => (one.volid < other.volid ? -1 : 1));
  for (const drive of local) log(foundLine(guest.kind, drive));
  refuseStuck(journey, local);
  if (isVm && local.length > 0) log('copying local disk images');
  for (const drive of local) yield* copyDisk(journey, drive, map(drive.storage ?? ''));
  if (!isVm) log(`# /usr/bin/ssh ${sshOptions(journey.node)} root@${journey.node.ip} pvesr set-state ${guest.vmid} \\''{}'\\'`);
}

function refuseStuck(journey: Journey, local: readonly Drive[]): void {
  const { guest, log } = journey;
  const bad = local.flatMap((drive) => whyNot(journey, drive) ?? []);
  if (bad.length === 0) return;
  const isVm = guest.kind === 'qemu';
  for (const line of bad) log(`can't migrate local ${isVm ? 'disk' : 'volume'} ${line}`);
  throw aborted(journey, isVm ? "Problem found while scanning volumes - can't migrate VM - check log" : "can't migrate CT - check log");
}

function aborted({ log }: Journey, reason: string): TaskError {
  log(`ERROR: ${reason}`);
  log('aborting phase 1 - cleanup resources');
  return new TaskError(reason);
}

function foundLine(kind: GuestKind, { volid, place }: Drive): string {
  if (kind === 'lxc') return `found local volume '${volid}' (in current VM config)`;
  return `found local disk '${volid}' (${isUnused(place) ? 'unused' : 'attached'})`;
}

function whyNot(journey: Journey, drive: Drive): string | undefined {
  const { call, guest } = journey;
  const { owner } = parseVolume(drive.volid);
  const isVm = guest.kind === 'qemu';
  const reasons: readonly (readonly [applies: boolean, reason: string])[] = [
    [isCdrom(drive), 'local cdrom image'],
    [owner !== guest.vmid, isVm ? `owned by other VM (owner = VM ${owner ?? ''})` : `owned by other guest (owner = ${owner ?? ''})`],
    [!isVm && guest.snapshots.length > 0 && !snapshotsTravel(call, drive), 'non-migratable snapshot exists'],
    [isVm && guest.running && guest.snapshots.length > 0, 'online storage migration not possible if non-replicated snapshot exists'],
    [call.cluster.state.volumes.some(({ parent }) => parent === drive.volid), 'referenced by linked clone(s)'],
    [needsConsent(journey, drive), "can't live migrate attached local disks without with-local-disks option"],
  ];
  const found = reasons.find(([applies]) => applies);
  return found === undefined ? undefined : `'${drive.volid}': ${found[1]}`;
}

function needsConsent({ call, guest }: Journey, { place }: Drive): boolean {
  return guest.kind === 'qemu' && guest.running && !isUnused(place) && !call.parameters.flag('with-local-disks');
}

function snapshotsTravel({ cluster }: ApiCall, { storage = '' }: Drive): boolean {
  return ['zfspool', 'btrfs'].includes(cluster.state.storages.get(storage)?.type ?? '');
}

function* copyDisk({ call, guest, node, log }: Journey, drive: Drive, storage: string): TaskSteps {
  const { state, taskDurationMs } = call.cluster;
  const size = sizeOf(drive) ?? 0;
  const volid = drive.volid.replace(/^[^:]+/, storage);
  yield taskDurationMs;
  log(creationLine(state, { volid, storage, size, format: parseVolume(volid).format, parent: null }));
  logCopy(log, size);
  log(`successfully imported '${volid}'`);
  logCopy(log, size);
  log(`volume '${drive.volid}' is '${volid}' on the target`);
  const at = state.volumes.findIndex((one) => one.volid === drive.volid && (one.node === undefined || one.node === guest.node));
  const volume = state.volumes[at];
  if (volume !== undefined)
    state.volumes.splice(at, 1, { ...volume, volid, storage, node: state.storages.get(storage)?.shared === true ? undefined : node.name });
  if (volid !== drive.volid) guest.config.set(drive.place, String(guest.config.get(drive.place)).replace(drive.volid, volid));
}

/** What `dd` says at each end. */
function logCopy(log: (line: string) => void, size: number): void {
  const blocks = Math.ceil(size / 4096);
  for (const line of [`${blocks}+0 records in`, `${blocks}+0 records out`]) log(line);
  log(`${size} bytes (${Math.round(size / 1e6)} MB, ${Math.round(size / 1_048_576)} MiB) copied, 1 s, ${Math.round(size / 1e6)} MB/s`);
}

/** Live: the memory goes over while the VM runs. */
function* moveRam({ call, guest, node, log }: Journey): TaskSteps {
  const { vmid } = guest;
  const socket = `unix:/run/qemu-server/${vmid}.migrate`;
  log(`starting VM ${vmid} on remote node '${node.name}'`);
  yield call.cluster.taskDurationMs;
  for (const line of [
    'start remote tunnel',
    'ssh tunnel ver 1',
    `starting online/live migration on ${socket}`,
    'set migration capabilities',
  ])
    log(line);
  for (const line of ['migration downtime limit: 100 ms', 'migration cachesize: 64.0 MiB', 'set migration parameters']) log(line);
  log(`start migrate command to ${socket}`);
  yield call.cluster.taskDurationMs * 2;
  log('average migration speed: 256.0 MiB/s - downtime 8 ms');
  log('migration completed, transferred 64.0 MiB VM-state');
  log('migration status: completed');
}
