/** A guest as a change to it is approved for. */
import type { GuestCondition } from '#kernel/guest-condition';
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort, GuestRef } from '#kernel/ports/cluster';

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
    ...(typeof lock === 'string' ? { lock } : {}),
    ...(snapshots === undefined ? {} : { snapshots: snapshotNames(snapshots) }),
    ...(config === undefined ? {} : { config: keptIn(config) }),
  };
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
