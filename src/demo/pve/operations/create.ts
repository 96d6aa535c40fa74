/** Making guests: an empty VM, a container from a template. Restoring one from a backup is `restore.ts`. */
import { randomUuid } from '../../random.ts';
import { badParameters, failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { disksOf, isCdrom, isDrive, isUnused, parseDrive, usableStorage, volumePath } from '../drives.ts';
import { typedValue } from '../guest-config.ts';
import { begin } from '../methods/guest-actions.ts';
import type { ConfigValue, GuestKind, GuestState } from '../state.ts';
import { type TaskContext, TaskError, type TaskPlan } from '../task-engine.ts';
import { setOption } from './apply-config.ts';
import {
  type ConfigAsk,
  checkBridge,
  checkLxc,
  checkOptions,
  checkStorages,
  checkTags,
  requireOnGuest,
  uniqueTags,
} from './config-rights.ts';
import { lxcNetwork, makeDisk, networkText } from './devices.ts';
import {
  addToPool,
  claim,
  finish,
  guestTarget,
  makeMounts,
  type NewGuest,
  orForget,
  requirePool,
  requireType,
  requireUnused,
} from './new-guest.ts';
import { restoreLxc, restoreQemu } from './restore.ts';

export const createMethods: readonly ApiMethod[] = [
  operation('POST /nodes/{node}/qemu', createQemu),
  operation('POST /nodes/{node}/lxc', createLxc),
];

/** Parameters that are no options. */
const directives = new Set([
  ...[
    'node',
    'vmid',
    'archive',
    'bwlimit',
    'force',
    'pool',
    'start',
    'ha-managed',
    'storage',
    'unique',
    'live-restore',
    'import-working-storage',
  ],
  ...['ostemplate', 'restore', 'ignore-unpack-errors', 'password', 'ssh-public-keys'],
]);

function wishIn(call: ApiCall, kind: GuestKind): NewGuest {
  const { parameters } = call;
  const names = parameters.names().filter((name) => !directives.has(name) && !(kind === 'lxc' && isUnused(name)));
  const values = new Map(names.map((name) => [name === 'cdrom' ? 'ide2' : name, parameters.text(name) ?? '']));
  return { call, kind, vmid: parameters.integer('vmid') ?? 0, pool: parameters.text('pool'), storage: parameters.text('storage'), values };
}

/** On the id or on the pool; for overwriting an own guest, the right to back it up. @throws {ApiError} 403 that says no more */
function requireAllocation({ call, vmid, pool }: NewGuest, overwrites: boolean): void {
  const { access, state } = call.cluster;
  const may = (path: string, privilege: string) => access.holds(call.user, path, privilege);
  if (may(`/vms/${vmid}`, 'VM.Allocate') || (pool !== undefined && may(`/pool/${pool}`, 'VM.Allocate'))) return;
  if (overwrites && state.guests.has(vmid) && may(`/vms/${vmid}`, 'VM.Backup')) return;
  throw forbidden();
}

function createQemu(call: ApiCall): string {
  requireQuorum(call);
  const wish = wishIn(call, 'qemu');
  const { vmid, pool, storage, values } = wish;
  requirePool(call, pool);
  if (storage !== undefined) requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
  if (call.parameters.flag('ha-managed')) requirePrivilege(call, '/', 'Sys.Console');
  const ask: ConfigAsk = { call, kind: 'qemu', vmid, pool };
  if (call.parameters.flag('start')) requireOnGuest(ask, 'VM.PowerMgmt');
  const archive = call.parameters.text('archive');
  requireAllocation(wish, archive !== undefined && call.parameters.flag('force'));
  if (archive !== undefined) checkArchive(wish, archive);
  if (values.size > 0) checkValues(ask, values, storage);
  if (archive !== undefined) return restoreQemu(wish, archive);
  requireUnused(call, vmid, `unable to create VM ${vmid} - `);
  const guest = claim(wish);
  return begin(guestTarget(wish), call, 'qmcreate', createPlan(wish, guest));
}

/** @throws {ApiError} 400 for disks that the archive brings, 500 for one that is not there */
function checkArchive({ call, vmid, values }: NewGuest, archive: string): void {
  const disk = [...values.keys()].sort().find((name) => isDrive('qemu', name));
  if (disk !== undefined) throw badParameters({ [disk]: "option conflicts with option 'archive'" });
  if (archive === '-') throw failed('pipe requires cli environment');
  requireType({ call, vmid }, archive, 'backup');
  if (!call.cluster.state.volumes.some((one) => one.volid === archive)) throw failed(`volume '${archive}' does not exist`);
}

function checkValues(ask: ConfigAsk, values: Map<string, string>, storage: string | undefined): void {
  const { call } = ask;
  checkStorages(ask, values, storage);
  checkOptions(ask, values.keys());
  for (const [option, value] of values) {
    if (/^net\d+$/.test(option)) {
      checkBridge(call, value);
      values.set(option, networkText(call, option, value));
    }
    if (isDrive('qemu', option) && /:iso\//.test(value) && !isCdrom(parseDrive(option, value)))
      throw badParameters({ [option]: "explicit 'media=cdrom' is required for iso images" });
    if (isDrive('qemu', option) && !isCdrom(parseDrive(option, value))) requireOnGuest(ask, 'VM.Config.Disk');
  }
}

function createPlan(wish: NewGuest, guest: GuestState): TaskPlan {
  const { call, vmid, pool } = wish;
  return function* (task) {
    yield Math.ceil(call.cluster.taskDurationMs / 2);
    orForget(wish, `unable to create VM ${vmid} - `, () => fillQemu(wish, guest, task));
    yield Math.ceil(call.cluster.taskDurationMs / 2);
    guest.config.delete('lock');
    addToPool(call, pool, vmid);
    finish(wish, guest, task);
  };
}

function fillQemu({ call, vmid, storage, values, pool }: NewGuest, guest: GuestState, task: TaskContext): void {
  const { cluster } = call;
  for (const [option, value] of [...values].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const text = isDrive('qemu', option)
      ? makeDisk(call, { kind: 'qemu', vmid, place: option, value, log: task.log, defaultStorage: storage })
      : value;
    setOption(guest, option, typedValue('qemu', option, text));
  }
  const tags = values.get('tags');
  if (tags !== undefined) {
    checkTags({ call, kind: 'qemu', vmid, pool }, '', tags);
    guest.config.set('tags', uniqueTags(tags));
  }
  guest.config.set('meta', `creation-qemu=10.1.2,ctime=${Math.floor(task.now() / 1000)}`);
  if (!guest.config.has('boot')) guest.config.set('boot', defaultBoot(guest));
  if (!guest.config.has('smbios1')) guest.config.set('smbios1', `uuid=${randomUuid(cluster.random)}`);
  if (!guest.config.has('vmgenid')) guest.config.set('vmgenid', randomUuid(cluster.random));
}

/** The first disk, the first CD-ROM, the first card. Nothing to boot from: an empty text. */
function defaultBoot({ config }: GuestState): string {
  const [disk] = disksOf('qemu', config);
  const cdrom = [...config].find(([key, value]) => isDrive('qemu', key) && isCdrom(parseDrive(key, value)))?.[0];
  const card = [...config.keys()].filter((key) => /^net\d+$/.test(key)).sort()[0];
  const order = [disk?.place, cdrom, card].filter((one) => one !== undefined);
  return order.length === 0 ? '' : `order=${order.join(';')}`;
}

function createLxc(call: ApiCall): string {
  requireQuorum(call);
  const wish = wishIn(call, 'lxc');
  const { vmid, pool, values } = wish;
  const { parameters } = call;
  const restore = parameters.flag('restore');
  if (!restore && parameters.text('unprivileged') === '0') requirePrivilege(call, '/', 'Sys.Modify');
  const overwrites = checkId(call, vmid, restore && parameters.flag('force'));
  requirePool(call, pool);
  requireAllocation(wish, overwrites);
  const changes = new Map(values);
  changes.delete('unprivileged');
  checkLxc({ call, kind: 'lxc', vmid, pool }, changes, new Map<string, ConfigValue>([['unprivileged', 1]]));
  const template = parameters.text('ostemplate') ?? '';
  requireType(wish, template, restore ? 'backup' : 'vztmpl');
  const onStorage = { ...wish, storage: wish.storage ?? 'local' };
  checkMounts(onStorage);
  if (restore) return restoreLxc(onStorage, template, overwrites);
  const guest = claim(wish);
  return begin(guestTarget(wish), call, 'vzcreate', createLxcPlan(onStorage, guest, template));
}

/** @returns whether a container of this node is overwritten, as was wished @throws {ApiError} 500 */
function checkId(call: ApiCall, vmid: number, force: boolean): boolean {
  const old = call.cluster.state.guests.get(vmid);
  if (!force || old?.kind !== 'lxc' || old.node !== call.node) {
    requireUnused(call, vmid);
    return false;
  }
  if (old.running) throw failed("can't overwrite running container");
  if (old.config.get('protection') === 1) throw failed(`unable to restore CT ${vmid} - protection mode enabled`);
  return true;
}

function checkMounts({ call, values, storage = 'local' }: NewGuest): void {
  const mounts = [...values].filter(([place]) => isDrive('lxc', place));
  if (mounts.length === 0) requireRootdir(call, storage);
  else if (!values.has('rootfs')) throw failed("mount points configured, but 'rootfs' not set - aborting");
  for (const [place, value] of mounts) requireRootdir(call, parseDrive(place, value).storage ?? storage);
}

/** @throws {ApiError} 500, or 400 for a storage that takes no containers */
function requireRootdir(call: ApiCall, storage: string): void {
  const known = usableStorage(call.cluster, storage, call.node);
  if (!known.content.includes('rootdir')) throw badParameters({ storage: `storage '${storage}' does not support container directories` });
  requirePrivilege(call, `/storage/${storage}`, 'Datastore.AllocateSpace');
}

function createLxcPlan(wish: NewGuest, guest: GuestState, template: string): TaskPlan {
  const { call, vmid, pool, values } = wish;
  return function* (task) {
    orForget(wish, `unable to create CT ${vmid} - `, () => {
      makeMounts(wish, guest, values, task);
      if (!call.cluster.state.volumes.some((one) => one.volid === template)) throw new TaskError(`volume '${template}' does not exist`);
      task.log(`extracting archive '${templatePath(call, template)}'`);
      task.log('Total bytes read: 194560 (190KiB, 93MiB/s)');
      task.log('Detected container architecture: amd64');
      fillLxc(wish, guest, template);
      logKeys(guest, task);
    });
    yield call.cluster.taskDurationMs * 2;
    guest.config.delete('lock');
    addToPool(call, pool, vmid);
    finish(wish, guest, task);
  };
}

function templatePath({ cluster }: ApiCall, volid: string): string {
  return volumePath(cluster.state, volid.replace(/:vztmpl\//, ':')).replace('/images/', '/template/cache/');
}

function fillLxc({ call, vmid, values }: NewGuest, guest: GuestState, template: string): void {
  const { config } = guest;
  const [, ostype = 'debian'] = /\/([a-z]+)-/.exec(template) ?? [];
  const defaults = { arch: 'amd64', ostype, hostname: `CT${vmid}`, memory: 512, swap: 512, unprivileged: 1 };
  for (const [key, value] of Object.entries(defaults)) config.set(key, value);
  for (const [option, value] of values) {
    if (isDrive('lxc', option)) continue;
    const text = /^net\d+$/.test(option) ? lxcNetwork(call, value) : option === 'tags' ? uniqueTags(value) : value;
    setOption(guest, option, typedValue('lxc', option, text));
  }
  if (config.get('unprivileged') === 0) config.delete('unprivileged');
}

function logKeys(guest: GuestState, task: TaskContext): void {
  for (const type of ['rsa', 'ed25519', 'ecdsa']) {
    task.log(`Creating SSH host key 'ssh_host_${type}_key' - this may take some time ...`);
    task.log(
      `done: SHA256:${Buffer.from(`${guest.vmid}-${type}`.padEnd(32, '.')).toString('base64').slice(0, 43)} root@${guest.config.get('hostname')}`,
    );
  }
}
