/** Facts for the card of an operation, and what several of its prechecks share. */

import { faultMessage, toFault } from '#kernel/errors';
import { type JsonObject, textOf, wordOf } from '#kernel/json';
import type { ClusterPort, GuestRef } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget } from '#kernel/resource';
import { joined, type Message, plainly, plural, say } from '#kernel/text/message';
import type { Obstacle, ToolContext } from '#kernel/tool';
import { nowWords, roughly } from './guest-facts.ts';
import { type GuestLook, guestObstacle, lookAtGuest, type Needs, nodeOffline } from './obstacles.ts';
import { guestOf } from './targets.ts';
import type { Right } from './visible.ts';

export type Looking = Pick<ToolContext, 'targets' | 'signal' | 'cluster'>;

const gib = 2 ** 30;

/** `3.5 GiB`, `64 MiB`. */
export function sizeWords(bytes: number): string {
  return bytes >= gib ? `${(bytes / gib).toFixed(1)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}

const units: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** Bytes of `32G` or `1025M`; undefined for what is no size. */
export function sizeIn(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([KMGT]?)$/.exec(text) ?? [];
  return number === undefined ? undefined : Math.round(Number(number) * (units[unit] ?? 1));
}

export interface Disk {
  readonly place: string;
  readonly storage: string;
  readonly volume: string;
  readonly bytes?: number;
}

const diskPlace = /^(?:(?:scsi|virtio|ide|sata|efidisk|tpmstate|mp)\d{1,3}|rootfs)$/;

/** The disks in a configuration; a drive without a medium, a CD and what is passed through are none. */
export function disksIn(config: JsonObject | undefined): readonly Disk[] {
  return Object.entries(config ?? {}).flatMap(([place, value]) => {
    const [, volume, storage] = /^(([a-zA-Z][a-zA-Z0-9._-]*):[^,]+)/.exec(diskPlace.test(place) ? wordOf(value) : '') ?? [];
    if (volume === undefined || storage === undefined || /media=cdrom/.test(wordOf(value))) return [];
    const bytes = sizeIn(/(?:^|,)size=([^,]+)/.exec(wordOf(value))?.[1] ?? '');
    return [{ place, storage, volume, ...(bytes === undefined ? {} : { bytes }) }];
  });
}

export function diskFacts(config: JsonObject | undefined): readonly Message[] {
  const disks = disksIn(config).map(({ place, storage, bytes }) =>
    bytes === undefined ? say`${place} on ${storage}` : say`${place} on ${storage}, ${sizeWords(bytes)}`,
  );
  return disks.length === 0 ? [] : [say`disks: ${joined(disks, '; ')}`];
}

export function ageWords(seconds: unknown, nowMs: number): Message {
  return typeof seconds === 'number' ? say`${roughly(Math.max(0, nowMs / 1_000 - seconds))} ago` : say`at an unknown time`;
}

export async function backupFact(api: ClusterPort, guest: GuestRef, context: Pick<ToolContext, 'signal' | 'clock'>): Promise<Message> {
  const found = await api.guestBackups(guest, context.signal).catch(faultMessage);
  if (!isList(found)) return plainly(found);
  const newest = found.map((row) => Number(row['ctime'] ?? 0)).toSorted((a, b) => b - a)[0];
  if (newest === undefined) return say`no backup of it is seen by this token`;
  const age = ageWords(newest, context.clock.now());
  return plural(found.length, say`1 backup, the newest ${age}`, say`${found.length} backups, the newest ${age}`);
}

function isList<T>(found: readonly T[] | Message): found is readonly T[] {
  return Array.isArray(found);
}

export function stateFact({ state }: Pick<GuestLook, 'state'>): Message {
  const now = nowWords(state.qmpStatus === 'paused' ? 'paused' : state.status);
  return state.haState === undefined ? now : say`${now}, managed by HA (\`${state.haState}\`)`;
}

/** A look at the guest, with what stands in the way of most operations; what a tool adds comes after it. */
export async function obstacleOf(
  { cluster, targets, signal }: Looking,
  needs: (guest: GuestTarget) => Needs,
  also: (look: GuestLook, api: ClusterPort) => Promise<Obstacle | undefined> | Obstacle | undefined = () => undefined,
): Promise<Obstacle | undefined> {
  const { api } = cluster();
  const guest = guestOf(targets);
  const look = await lookAtGuest(api, guest, signal);
  return (await guestObstacle(look, needs(guest), api, signal)) ?? also(look, api);
}

export function onGuest(vmid: number, ...privileges: readonly string[]): readonly Right[] {
  return privileges.map((privilege) => ({ privilege, path: `/vms/${vmid}` }));
}

/** A guest is made with the right on its number, or on the pool that it gets into. */
export function onNewGuest(vmid: number, pool: string | undefined): Right {
  return { privilege: 'VM.Allocate', path: `/vms/${vmid}`, ...(pool === undefined ? {} : { or: `/pool/${pool}` }) };
}

export function onStorage(storage: string | undefined): readonly Right[] {
  return storage === undefined ? [] : [{ privilege: 'Datastore.AllocateSpace', path: `/storage/${storage}` }];
}

/** Configuration is written in each of these; without a quorum it is read-only. */
export const nothingWritten = 'no configuration can be written';

/** A clone or migration to a node that is down is accepted, and fails, or leaves something that nobody can use. */
export function targetObstacle({ nodes }: Pick<GuestLook, 'nodes'>, target: string | undefined): Obstacle | undefined {
  const status = target === undefined ? undefined : nodes?.find((row) => row.node === target)?.status;
  return status === undefined || status === 'online' ? undefined : nodeOffline(target ?? '');
}

/** Whether a storage takes that content, and has room for anything at all. What cannot be read is no obstacle. */
export async function storageObstacle(api: ClusterPort, place: StoragePlace, signal: AbortSignal): Promise<Obstacle | undefined> {
  const { node, storage } = place;
  const row = await api.record({ record: 'storage', node, storage }, signal).catch(() => undefined);
  const found = row && unfitStorage(row, place);
  return found && { next: 'see get_storage for which storages there are, and what they hold', ...found };
}

interface StoragePlace {
  readonly node: string;
  readonly storage: string;
  readonly content: 'backup' | 'images' | 'rootdir';
}

function unfitStorage(row: JsonObject, { node, storage, content }: StoragePlace): Obstacle | undefined {
  const takes = textOf(row['content']);
  if (takes !== undefined && !takes.split(',').includes(content))
    return { code: 'storage_unfit', message: `storage ${storage} takes no \`${content}\`: it is for ${takes}` };
  if ([row['active'], row['enabled']].some((flag) => Number(flag ?? 1) === 0))
    return { code: 'storage_unavailable', message: `storage ${storage} is not available on node ${node}` };
  if (typeof row['avail'] !== 'number' || row['avail'] > leastRoom) return undefined;
  return { code: 'no_space', message: `storage ${storage} on ${node} is full`, next: 'a person makes room, or names another storage' };
}

const leastRoom = 2 ** 20;

/** A guest's number that is to be new. */
export async function takenObstacle(api: ClusterPort, vmid: number, signal: AbortSignal): Promise<Obstacle | undefined> {
  if (await api.isFree(vmid, signal).catch(() => true)) return undefined;
  return { code: 'guest_exists', message: `guest ${vmid} exists already, though this token may not see it`, next: 'take another number' };
}

/** A pool that a new guest is to get into. Who may not see it hears nothing of whether it is there. */
export async function poolObstacle(api: ClusterPort, pool: string | undefined, signal: AbortSignal): Promise<Obstacle | undefined> {
  if (pool === undefined) return undefined;
  try {
    await api.rows({ rows: 'pool', pool }, signal);
    return undefined;
  } catch (thrown) {
    if (!toFault(thrown).message.includes('does not exist')) return undefined;
    return { code: 'unknown_pool', message: `there is no pool \`${pool}\``, next: 'name another one, or leave `pool` out' };
  }
}

/** Whether the guest stands where it should, as the cluster's own list has it. */
export async function nodeOfGuest(api: ClusterPort, vmid: number, signal: AbortSignal): Promise<string | undefined> {
  return (await api.guests(signal)).find((row) => row.vmid === vmid)?.node;
}

export function runningOnly(guest: GuestTarget, why: string): Obstacle {
  return { code: 'guest_not_running', message: `${describeTarget(guest)} is stopped, and ${why}` };
}
