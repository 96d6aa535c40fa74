/**
 * Path parameters of the Proxmox VE API, checked again at the lowest layer.
 * SECURITY: the server percent-decodes a path before it splits it, so `agent1%2fqemu%2f103` as a node name reaches another guest;
 * `localhost` and every spelling of an address name whichever node answers. Encoding is no defence against either: only names pass.
 */
import { canonicalAddress } from '#kernel/address';
import { Fault } from '#kernel/errors';
import type { GuestAction } from '#kernel/ports/cluster';
import { type GuestType, guestTypes } from '#kernel/resource';

/** `pve-node` of the API (`PVE::JSONSchema`), plus the `_` that configured names may hold. */
const nodeName = /^[a-zA-Z0-9_](?:[a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?$/;
/** `pve-storage-id` of the API. */
const storageId = /^[a-zA-Z][a-zA-Z0-9._-]{0,98}[a-zA-Z0-9]$/;

const guestActions: readonly GuestAction[] = ['start', 'stop', 'reboot', 'shutdown', 'reset', 'suspend', 'resume'];
/** `pve-configid` of the API, at most 40 characters. */
const snapshotName = /^[a-zA-Z][a-zA-Z0-9_-]{1,39}$/;
/** `storage:path`, without what a path or query could be split at; a backup server's paths have times with `:`. */
const volumeId = /^[a-zA-Z][a-zA-Z0-9._-]{0,99}:[A-Za-z0-9][A-Za-z0-9._/:+-]{0,299}$/;
/** `pve-poolid` of the API, at most three deep. */
const poolId = /^[a-zA-Z0-9._-]{1,100}(?:\/[a-zA-Z0-9._-]{1,100}){0,2}$/;

/**
 * A node name that is safe as a path segment.
 * @throws {Fault} `bad_target` for an address, `localhost`, or anything outside the pattern
 */
export function nodeSegment(node: string): string {
  if (node.toLowerCase() === 'localhost') throw badTarget(`\`localhost\` is no node name: it is whichever node answers`);
  // A purely numeric or 0x name would be resolved as an IPv4 address (`2130706433` is 127.0.0.1).
  if (canonicalAddress(node) !== undefined) throw badTarget(`${quote(node)} is an address, not a node name`);
  if (!nodeName.test(node)) throw badTarget(`${quote(node)} is not a node name`);
  return node;
}

/** @throws {Fault} `bad_target` unless an integer in the API's range 100 to 999999999 */
export function vmidSegment(vmid: number): string {
  if (!Number.isInteger(vmid) || vmid < 100 || vmid > 999_999_999)
    throw badTarget(`${quote(vmid)} is not a guest number (100 to 999999999)`);
  return String(vmid);
}

/** @throws {Fault} `bad_target` unless `qemu` or `lxc` */
export function guestTypeSegment(type: GuestType): string {
  if (!guestTypes.includes(type)) throw badTarget(`${quote(type)} is not a guest type (qemu, lxc)`);
  return type;
}

/** @throws {Fault} `bad_target` unless one that is offered: `status/…` of the API may know more */
export function actionSegment(action: GuestAction): string {
  if (!guestActions.includes(action)) throw badTarget(`${quote(action)} is not an action (${guestActions.join(', ')})`);
  return action;
}

/** @throws {Fault} `bad_target` unless a storage id as the API defines it */
export function storageSegment(storage: string): string {
  if (!storageId.test(storage)) throw badTarget(`${quote(storage)} is not a storage name`);
  return storage;
}

/** @throws {Fault} `bad_target` unless a snapshot's name as the API defines it, and none of its own words */
export function snapshotSegment(name: string): string {
  if (!snapshotName.test(name) || name === 'current' || name === 'pending') throw badTarget(`${quote(name)} is not a snapshot's name`);
  return name;
}

/** A volume, for a query or a form. @throws {Fault} `bad_target` unless `storage:path` with nothing but plain characters, and no `..` */
export function volumeText(volume: string): string {
  if (!volumeId.test(volume) || volume.includes('..')) throw badTarget(`${quote(volume)} is not a volume`);
  return volume;
}

/** A pool, for a form. @throws {Fault} `bad_target` unless a pool's id as the API defines it */
export function poolText(pool: string): string {
  if (!poolId.test(pool)) throw badTarget(`${quote(pool)} is not a pool`);
  return pool;
}

function quote(value: unknown): string {
  return `\`${String(value)
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 80)}\``;
}

function badTarget(message: string): Fault {
  return new Fault('bad_target', message, { audience: 'user', next: 'use a name as in get_cluster_status, get_vms or get_containers' });
}
