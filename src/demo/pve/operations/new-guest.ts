/** What every way to make a guest shares: the id that is taken at once, the pool, the volumes, the start at the end. */
import { randomUuid } from '../../random.ts';
import { failed, forbidden } from '../api-error.ts';
import type { ApiCall } from '../api-method.ts';
import { isDrive, parseDrive } from '../drives.ts';
import { type GuestTarget, startPlan } from '../guest-plans.ts';
import { request } from '../ha-manager.ts';
import { addResource } from '../high-availability.ts';
import type { ConfigValue, GuestKind, GuestState, NodeState } from '../state.ts';
import { type TaskContext, TaskError } from '../task-engine.ts';
import { asTaskError } from './config-change.ts';
import { type ConfigAsk, checkVolume } from './config-rights.ts';
import { makeDisk } from './devices.ts';

export interface NewGuest {
  readonly call: ApiCall;
  readonly kind: GuestKind;
  readonly vmid: number;
  readonly pool: string | undefined;
  readonly storage: string | undefined;
  readonly values: Map<string, string>;
}

/** @throws {ApiError} 500 for a name that no node has */
export function requireNode({ cluster }: ApiCall, name: string): NodeState {
  const node = cluster.state.nodes.get(name);
  if (node === undefined) throw failed(`no such cluster node '${name}'`);
  return node;
}

/** @throws {ApiError} 403 */
export function requirePool({ cluster }: ApiCall, pool: string | undefined): void {
  if (pool !== undefined && !cluster.state.pools.has(pool)) throw forbidden(`pool '${pool}' does not exist`);
}

/** PVE's text for an id that is in use. */
export function taken({ kind, vmid, node }: Pick<GuestState, 'kind' | 'vmid' | 'node'>): string {
  return `${kind === 'qemu' ? 'VM' : 'CT'} ${vmid} already exists on node '${node}'`;
}

/** @throws {ApiError} 500 for a volume of another kind, 403 */
export function requireType(ask: Pick<ConfigAsk, 'call' | 'vmid'>, volid: string, type: string): void {
  const [, folder = 'images'] = /^[^:/]+:(iso|vztmpl|backup|snippets|import)\//.exec(volid) ?? [];
  if (/^[^:/]+:/.test(volid) && folder !== type) throw failed(`unable to use volume ${volid} - content type needs to be '${type}'`);
  checkVolume(ask, volid);
}

/** @throws {ApiError} 500 */
export function requireUnused({ cluster }: ApiCall, vmid: number, before = ''): void {
  const other = cluster.state.guests.get(vmid);
  if (other !== undefined) throw failed(`${before}${taken(other)}`);
}

export function guestTarget({ call, kind, vmid }: NewGuest): GuestTarget {
  return { cluster: call.cluster, kind, node: call.node, vmid };
}

/** The id is taken from the request on: the file is there, locked, until the worker is done. */
export function claim({ call, kind, vmid }: NewGuest): GuestState {
  const guest: GuestState = {
    ...{ vmid, kind, node: call.node, config: new Map<string, ConfigValue>([['lock', 'create']]), pending: new Map(), snapshots: [] },
    ...{ origin: undefined, running: false, paused: false, agentAnswers: false, obeysShutdown: true, startLog: [] },
    ...{ startedAt: 0, createdAt: call.cluster.clock.now(), pid: 1400 + (vmid % 1000) * 17 },
  };
  call.cluster.state.guests.set(vmid, guest);
  return guest;
}

/** What was begun is taken back where it cannot be finished. @throws {TaskError} */
export function orForget({ call, vmid }: NewGuest, before: string, act: () => void): void {
  try {
    asTaskError(act);
  } catch (thrown) {
    call.cluster.state.guests.delete(vmid);
    if (thrown instanceof TaskError) throw new TaskError(`${before}${thrown.message}`);
    throw thrown;
  }
}

/** Starts it and hands it to the HA manager, where that was wished. */
export function finish(wish: NewGuest, guest: GuestState, task: TaskContext): void {
  const { call, kind, vmid } = wish;
  const start = call.parameters.flag('start');
  if (call.parameters.flag('ha-managed')) {
    task.log('Add as HA resource');
    request(call.cluster, addResource(call.cluster.ha, guest), start ? 'started' : 'stopped');
  }
  if (!start) return;
  if (kind === 'qemu') task.log('Execute autostart');
  call.cluster.tasks.start(
    { node: call.node, type: kind === 'qemu' ? 'qmstart' : 'vzstart', id: String(vmid), user: call.user },
    startPlan(guestTarget(wish)),
  );
}

/** Makes a guest a member of a pool. */
export function addToPool({ cluster }: ApiCall, pool: string | undefined, vmid: number): void {
  const known = pool === undefined ? undefined : cluster.state.pools.get(pool);
  if (known !== undefined) cluster.state.pools.set(known.id, { ...known, guests: new Set([...known.guests, vmid]) });
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]) => (one < other ? -1 : 1);

/** Each volume is made and given a file system. @param mounts places and their values */
export function makeMounts(
  { call, vmid, storage }: NewGuest,
  guest: GuestState,
  mounts: ReadonlyMap<string, string>,
  task: TaskContext,
): void {
  const wanted = [...mounts].filter(([place]) => isDrive('lxc', place));
  for (const [place, value] of wanted.length === 0 ? [['rootfs', '4'] as const] : wanted.sort(byName)) {
    const text = makeDisk(call, { kind: 'lxc', vmid, place, value, log: task.log, defaultStorage: storage });
    guest.config.set(place, text);
    const size = call.cluster.state.volumes.find(({ volid }) => volid === parseDrive(place, text).volid)?.size ?? 0;
    for (const line of fileSystemLines(size, randomUuid(call.cluster.random))) task.log(line);
  }
}

/** What making a file system prints: small ones have blocks of 1 KiB. */
function fileSystemLines(size: number, uuid: string): string[] {
  const block = size < 512 * 1_048_576 ? 1024 : 4096;
  const blocks = Math.floor(size / block);
  const group = block * 8;
  const backups = [1, 3, 5, 7, 9, 25, 27, 49].map((factor) => factor * group + (block === 1024 ? 1 : 0)).filter((one) => one < blocks);
  const inodes = Math.floor(size / (block === 1024 ? 4096 : 16_384));
  return [
    `Creating filesystem with ${blocks} ${block / 1024}k blocks and ${inodes} inodes`,
    `Filesystem UUID: ${uuid}`,
    ...(backups.length === 0 ? [] : ['Superblock backups stored on blocks: ', `\t${backups.join(', ')}`]),
  ];
}
