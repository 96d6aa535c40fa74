/** A guest as a change to it is approved for. */
import { createHash } from 'node:crypto';
import type { GuestCondition } from '#kernel/guest-condition';
import { canonicalJson, type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort, GuestRef } from '#kernel/ports/cluster';
import { tagsIn } from '#kernel/resource';
import type { ToolContext } from '#kernel/tool';
import { guestOf } from './targets.ts';

/** The keys of a configuration that `set_guest_config` knows: what it replaces, its inverse restores. */
export const keptKeys = ['cores', 'memory', 'tags', 'description', 'onboot'] as const;

export async function conditionOf(api: ClusterPort, guest: GuestRef, signal: AbortSignal): Promise<GuestCondition> {
  const none = () => undefined;
  const [config, status, snapshots] = await Promise.all([
    api.guestConfig(guest, signal).catch(none),
    api.guestStatus(guest, signal).catch(none),
    api.snapshots(guest, signal).catch(none),
  ]);
  const { digest, lock } = config ?? {};
  const state = stateIn(status);
  return {
    vmid: guest.vmid,
    exists: true,
    node: guest.node,
    ...(state === undefined ? {} : { status: state }),
    ...(typeof digest === 'string' ? { digest } : {}),
    ...(config === undefined ? {} : { settings: settingsOf(config) }),
    ...(typeof lock === 'string' ? { lock } : {}),
    ...(snapshots === undefined ? {} : { snapshots: snapshotNames(snapshots) }),
    ...(config === undefined ? {} : { config: keptIn(config) }),
  };
}

/** `precondition` of a tool that changes one guest. */
export async function ownCondition(
  _input: unknown,
  { cluster, targets, signal }: Pick<ToolContext, 'cluster' | 'targets' | 'signal'>,
): Promise<readonly GuestCondition[]> {
  return [await conditionOf(cluster().api, guestOf(targets), signal)];
}

/** Of the configuration as a whole, and made anew with every copy. */
const madeAnew: ReadonlySet<string> = new Set(['digest', 'lock', 'vmgenid', 'meta', 'snapstate']);
/** What is drawn or counted up where a guest is made: a card's address, an id, the name of a volume on its storage. */
const drawn: readonly (readonly [key: RegExp, part: RegExp])[] = [
  [/^net\d+$/, /\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/gi],
  [/^smbios1$/, /\buuid=[^,]+/g],
  [/^(?:(?:scsi|virtio|ide|sata|efidisk|tpmstate|mp|unused)\d+|rootfs)$/, /:[^,]+/],
];

function settingsOf(config: JsonObject): string {
  const kept = Object.entries(config).flatMap(([key, value]) => {
    if (madeAnew.has(key) || wordOf(value) === '') return [];
    const part = drawn.find(([keys]) => keys.test(key))?.[1];
    // Proxmox VE sorts tags when they are set, unless the datacenter's `tag-style` says otherwise: nothing goes by their order.
    const text = key === 'tags' ? tagsIn(value).join(';') : wordOf(value).trimEnd();
    return [[key, part === undefined ? text : text.replace(part, '*')] as const];
  });
  return createHash('sha256')
    .update(canonicalJson(Object.fromEntries(kept)))
    .digest('hex');
}

/** These guests as they are now, wherever they are. */
export async function conditionsNow(api: ClusterPort, vmids: readonly number[], signal: AbortSignal): Promise<readonly GuestCondition[]> {
  const rows = await api.guests(signal);
  return Promise.all(
    vmids.map(async (vmid) => {
      const row = rows.find((one) => one.vmid === vmid);
      return row === undefined ? absent(vmid) : conditionOf(api, { vmid, node: row.node, guestType: row.type }, signal);
    }),
  );
}

export function absent(vmid: number): GuestCondition {
  return { vmid, exists: false };
}

/** The API always lists the current state as a pseudo-snapshot. */
export function realSnapshots(rows: readonly JsonObject[]): readonly JsonObject[] {
  return rows.filter((row) => row['name'] !== 'current');
}

export function snapshotNames(rows: readonly JsonObject[]): readonly string[] {
  return realSnapshots(rows)
    .map((row) => wordOf(row['name']))
    .sort();
}

function stateIn(status: JsonObject | undefined): string | undefined {
  if (status?.['qmpstatus'] === 'paused') return 'paused';
  return typeof status?.['status'] === 'string' ? status['status'] : undefined;
}

function keptIn(config: JsonObject): Readonly<Record<string, string>> {
  const kept = keptKeys.flatMap((key) => (wordOf(config[key]) === '' ? [] : [[key, wordOf(config[key])] as const]));
  return Object.fromEntries(kept);
}
