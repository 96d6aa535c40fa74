/** Clones: full ones copy the disks, linked ones of a template stand on its base volumes. */
import { randomUuid } from '../../random.ts';
import { badParameters, failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { allocate, type Drive, disksOf, parseVolume, printDrive, sizeOf, usableStorage, withVolume } from '../drives.ts';
import { missingConfig, notOnNode } from '../guest-plans.ts';
import { begin, targetOf } from '../methods/guest-actions.ts';
import { type ConfigValue, type GuestKind, type GuestState, guestOn, isTemplate } from '../state.ts';
import type { TaskContext, TaskPlan, TaskSteps } from '../task-engine.ts';
import { requireSnapshot } from './config.ts';
import { checkBridge } from './config-rights.ts';
import { lxcNetwork, networkText } from './devices.ts';
import { addToPool, requireNode, requirePool, taken } from './new-guest.ts';
import { canLink } from './templates.ts';

export const cloneMethods: readonly ApiMethod[] = [
  operation('POST /nodes/{node}/qemu/{vmid}/clone', (call) => clone(call, 'qemu')),
  operation('POST /nodes/{node}/lxc/{vmid}/clone', (call) => clone(call, 'lxc')),
];

interface Wish {
  readonly kind: GuestKind;
  readonly newid: number;
  /** Undefined: the guest's own node. */
  readonly target: string | undefined;
  readonly full: boolean;
  readonly storage: string | undefined;
  readonly format: string | undefined;
  readonly snapname: string | undefined;
  readonly pool: string | undefined;
}

function requireAllocation(call: ApiCall, newid: number): void {
  const pool = call.parameters.text('pool');
  const paths = pool === undefined ? [`/vms/${newid}`] : [`/pool/${pool}`, `/vms/${newid}`];
  const path = paths.find((one) => call.cluster.access.holds(call.user, one, 'VM.Allocate'));
  if (path === undefined) throw forbidden(pool === undefined ? `/vms/${newid}, VM.Allocate` : `/pool/${pool}, VM.Allocate`);
}

function clone(call: ApiCall, kind: GuestKind): string {
  const { parameters } = call;
  const newid = parameters.integer('newid') ?? 0;
  requireAllocation(call, newid);
  const named = parameters.text('target');
  const target = named === call.node || named === 'localhost' ? undefined : named;
  checkPlaces(call, kind, target);
  requireQuorum(call);
  const guest = source(call, kind);
  const lock = guest.config.get('lock');
  if (lock !== undefined) throw failed(`${kind === 'qemu' ? 'VM' : 'CT'} is locked (${lock})`);
  if (kind === 'lxc') requireFree(call, kind, newid);
  const wish = wishOf(call, guest, { newid, target });
  checkDisks(call, guest, wish);
  if (kind === 'qemu') requireFree(call, kind, newid);
  return begin(targetOf(call, kind), call, kind === 'qemu' ? 'qmclone' : 'vzclone', clonePlan(call, guest, wish));
}

/** Pool, node and storage that are named. @throws {ApiError} */
function checkPlaces(call: ApiCall, kind: GuestKind, target: string | undefined): void {
  const storage = call.parameters.text('storage');
  requirePool(call, call.parameters.text('pool'));
  if (target !== undefined) requireNode(call, target);
  if (storage !== undefined) checkStorage(call, { kind, storage, target });
}

/** @throws {ApiError} 500 for a snapshot that is not there, or what a linked clone cannot choose */
function wishOf({ parameters }: ApiCall, guest: GuestState, { newid, target }: Pick<Wish, 'newid' | 'target'>): Source {
  const [storage, format, snapname] = [parameters.text('storage'), parameters.text('format'), parameters.text('snapname')];
  const config = snapname === undefined ? guest.config : requireSnapshot(guest, snapname).config;
  const full = parameters.has('full') ? parameters.flag('full') : !isTemplate(guest);
  const chosen = full ? undefined : [['storage', storage] as const, ['format', format] as const].find(([, value]) => value !== undefined);
  if (chosen !== undefined) throw failed(`parameter '${chosen[0]}' not allowed for linked clones`);
  return { kind: guest.kind, newid, target, full, storage, format, snapname, pool: parameters.text('pool'), config: new Map(config) };
}

/** A VM's text names no file here. */
function source(call: ApiCall, kind: GuestKind): GuestState {
  const vmid = call.parameters.integer('vmid') ?? 0;
  const guest = guestOn(call.cluster.state, kind, call.node, vmid);
  if (guest === undefined)
    throw failed(kind === 'qemu' ? notOnNode({ node: call.node, vmid }) : missingConfig({ kind, node: call.node, vmid }));
  return guest;
}

function checkStorage(
  call: ApiCall,
  { kind, storage, target }: { readonly kind: GuestKind; readonly storage: string; readonly target: string | undefined },
): void {
  const known = usableStorage(call.cluster, storage, call.node);
  if (kind === 'qemu' && !known.content.includes('images'))
    throw badParameters({ storage: `storage '${storage}' does not support vm images` });
  if (target === undefined) return;
  usableStorage(call.cluster, storage, target);
  if (!known.shared) throw failed(`can't clone to non-shared storage '${storage}'`);
}

function requireFree({ cluster, node }: ApiCall, kind: GuestKind, newid: number): void {
  const other = cluster.state.guests.get(newid);
  if (other === undefined) return;
  if (kind === 'qemu' && other.kind === 'qemu' && other.node === node)
    throw failed(`unable to create VM ${newid}: config file already exists`);
  throw failed(taken(other));
}

type Source = Wish & { readonly config: ReadonlyMap<string, ConfigValue> };

/** Space where the copies go, shared storages for another node, base volumes for a linked one. */
function checkDisks(call: ApiCall, guest: GuestState, wish: Source): void {
  const { kind, target, full, snapname, config } = wish;
  const disks = disksOf(kind, config);
  checkUse(call, wish, disks);
  if (full && kind === 'lxc' && guest.running && snapname === undefined && disks.length > 0)
    throw failed('Full clone of a running container is only possible from a snapshot');
  const tooFar = target !== undefined && usesLocal(call, wish, disks);
  if (tooFar && kind === 'qemu') throw failed(`can't clone VM to node '${target}' (VM uses local storage)`);
  refuseUnlinkable(call, wish, disks);
  if (tooFar) throw failed(`can't clone CT to node '${target}' (CT uses local storage)`);
}

function checkUse(call: ApiCall, { storage, config }: Source, disks: readonly Drive[]): void {
  for (const drive of disks) requirePrivilege(call, `/storage/${storage ?? drive.storage}`, 'Datastore.AllocateSpace');
  for (const [key, value] of config) if (/^net\d+$/.test(key)) checkBridge(call, String(value));
}

/** Of a VM its own storages count, of a container those that the copies go to. */
function usesLocal({ cluster }: ApiCall, { kind, storage }: Wish, disks: readonly Drive[]): boolean {
  const place = (drive: Drive) => (kind === 'qemu' ? drive.storage : (storage ?? drive.storage)) ?? '';
  return disks.some((drive) => cluster.state.storages.get(place(drive))?.shared !== true);
}

function refuseUnlinkable({ cluster }: ApiCall, { kind, full, snapname }: Wish, disks: readonly Drive[]): void {
  const bad = full ? undefined : disks.find(({ volid }) => snapname !== undefined || !canLink(cluster, volid));
  if (bad !== undefined) throw failed(notLinkable(kind, bad, snapname));
}

function notLinkable(kind: GuestKind, { volid, place }: Drive, snapname: string | undefined): string {
  if (kind === 'lxc') return `Linked clone feature for '${volid}' is not available`;
  return `Linked clone feature is not supported for${snapname === undefined ? '' : ' a snapshot of'} '${volid}' (${place})`;
}

/** What a clone does not take over. */
const left = /^(?:parent|lock|template|vmstate|running(?:machine|cpu)|running-nets-host-mtu|unused\d+|snaptime)$/;

function clonePlan(call: ApiCall, guest: GuestState, wish: Source): TaskPlan {
  const { state } = call.cluster;
  const { kind, newid, target } = wish;
  const config = new Map<string, ConfigValue>([...wish.config].filter(([key]) => !left.test(key)));
  if (wish.snapname !== undefined) config.delete('description');
  nameClone(call, guest, wish, config);
  freshen(call, kind, config);
  // From the request on the id is taken: the file is there, locked.
  const made: GuestState = {
    ...guest,
    ...{ vmid: newid, config, pending: new Map(), snapshots: [], origin: undefined, node: call.node },
    ...{ running: false, paused: false, createdAt: call.cluster.clock.now() },
  };
  config.set('lock', kind === 'qemu' ? 'clone' : 'create');
  state.guests.set(newid, made);
  return function* (task) {
    try {
      yield* copyDisks(call, wish, made, task);
    } catch (thrown) {
      state.guests.delete(newid);
      throw thrown;
    }
    config.delete('lock');
    if (target !== undefined) made.node = target;
    addToPool(call, wish.pool, newid);
  };
}

function nameClone({ parameters }: ApiCall, guest: GuestState, { kind }: Wish, config: Map<string, ConfigValue>): void {
  if (kind === 'qemu') config.set('name', parameters.text('name') ?? `Copy-of-VM-${String(guest.config.get('name') ?? guest.vmid)}`);
  else if (parameters.has('hostname')) config.set('hostname', parameters.text('hostname') ?? '');
  const description = parameters.text('description') ?? '';
  if (description !== '') config.set('description', kind === 'lxc' ? `${description}\n` : description);
}

/** Addresses and identities of its own. */
function freshen(call: ApiCall, kind: GuestKind, config: Map<string, ConfigValue>): void {
  for (const [key, value] of config) {
    if (!/^net\d+$/.test(key)) continue;
    const text = String(value).replace(/[0-9a-f]{2}(?::[0-9a-f]{2}){5}/i, '');
    config.set(
      key,
      kind === 'qemu' ? networkText(call, key, text.replace(/^([\w-]+)=/, '$1')) : lxcNetwork(call, text.replace(/,?hwaddr=(?=,|$)/, '')),
    );
  }
  if (kind === 'lxc') return;
  const smbios = String(config.get('smbios1') ?? '')
    .replace(/(^|,)uuid=[^,]*/, '')
    .replace(/^,/, '');
  config.set('smbios1', [`uuid=${randomUuid(call.cluster.random)}`, ...(smbios === '' ? [] : [smbios])].join(','));
  if (config.has('vmgenid')) config.set('vmgenid', randomUuid(call.cluster.random));
}

function* copyDisks(call: ApiCall, wish: Source, made: GuestState, task: TaskContext): TaskSteps {
  const disks = disksOf(wish.kind, made.config);
  for (const drive of disks) {
    const volid = wish.full ? copy(call, wish, drive, task) : link(call, wish, drive, task);
    made.config.set(drive.place, printDrive(withVolume(drive, volid, sizeOf(drive))));
  }
  if (disks.length > 0) yield call.cluster.taskDurationMs * (wish.full ? 2 : 1);
}

function copy({ cluster, node }: ApiCall, { kind, newid, storage, format }: Wish, drive: Drive, task: TaskContext): string {
  const size = sizeOf(drive) ?? 0;
  const place = storage ?? drive.storage ?? '';
  task.log(
    kind === 'qemu'
      ? `create full clone of drive ${drive.place} (${drive.volid})`
      : `create full clone of mountpoint ${drive.place} (${drive.volid})`,
  );
  const { volume, log } = allocate(cluster, {
    storage: place,
    node,
    kind,
    vmid: newid,
    format: format ?? parseVolume(drive.volid).format,
    size,
  });
  for (const line of log) task.log(line);
  if (kind === 'qemu') {
    task.log(`transferred 0.0 B of ${human(size)} (0.00%)`);
    task.log(`transferred ${human(size)} of ${human(size)} (100.00%)`);
  }
  return volume.volid;
}

function link({ cluster, node }: ApiCall, { kind, newid }: Wish, drive: Drive, task: TaskContext): string {
  const { format, file } = parseVolume(drive.volid);
  const own = drive.volid.slice(drive.volid.indexOf(':') + 1);
  task.log(
    kind === 'qemu'
      ? `create linked clone of drive ${drive.place} (${drive.volid})`
      : `create linked clone of mount point ${drive.place} (${drive.volid})`,
  );
  const wish = { storage: drive.storage ?? '', node, kind, vmid: newid, format, size: sizeOf(drive) ?? 0, base: drive.volid };
  const { volume, log } = allocate(cluster, wish);
  const name = parseVolume(volume.volid).file;
  if (own.includes('/')) task.log(`clone ${own}: images, ${name}, ${newid} to ${name} (base=../${own.split('/').slice(-2).join('/')})`);
  else task.log(`clone ${file} to ${name}`);
  for (const line of log) task.log(line);
  return volume.volid;
}

/** `2.1 GiB`, as the image tool prints it. */
function human(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < units.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  return `${amount.toFixed(1)} ${units[unit]}`;
}
