/** What a target holds that its name does not tell: the tags in a snapshot or archive, the backups that are left of a guest. */
import { Fault } from '#kernel/errors';
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort } from '#kernel/ports/cluster';
import {
  type GuestResource,
  type GuestTarget,
  type NewGuestResource,
  type NewGuestTarget,
  type Resource,
  type TagsResource,
  type TagsTarget,
  type Target,
  tagsIn,
} from '#kernel/resource';
import type { Inventory } from '#policy/resolve-target';

export interface TargetSources {
  readonly api: ClusterPort;
  readonly inventory: Inventory;
  readonly signal: AbortSignal;
}

/** Fails closed: what cannot be read may hold what is protected. @throws {Fault} why it cannot be read */
export async function withContents(
  target: Target | undefined,
  resource: Resource | undefined,
  sources: TargetSources,
): Promise<Target | undefined> {
  if (target === undefined || resource === undefined) return target;
  if (target.kind === 'guest' && resource.kind === 'guest') return withBackups(target, resource, sources);
  if (target.kind === 'tags' && resource.kind === 'tags') return { ...target, tags: await tagsOf(target, resource, sources) };
  if (target.kind === 'new_guest' && resource.kind === 'new_guest') return withOrigin(target, resource, sources);
  return target;
}

/** A storage that cannot be read is no reason to believe in a backup there, nor in none where others have one. */
async function withBackups(target: GuestTarget, { destroyed }: GuestResource, { api, signal }: TargetSources): Promise<GuestTarget> {
  if (destroyed !== true) return target;
  const { backups } = await api.guestBackups(target, signal);
  return { ...target, backups: backups.length };
}

async function withOrigin(target: NewGuestTarget, { from }: NewGuestResource, sources: TargetSources): Promise<NewGuestTarget> {
  return from === undefined ? target : { ...target, from: { vmid: from.vmid, isSame: await isSameGuest(from, sources) } };
}

/** A number may be another guest's by now: what is drawn when a guest is made (its id, the addresses of its cards) is not. */
async function isSameGuest(
  { vmid, node, archive }: NonNullable<NewGuestResource['from']>,
  { api, inventory, signal }: TargetSources,
): Promise<boolean> {
  const guest = inventory.guests.find((row) => row.vmid === vmid);
  if (guest === undefined || !inventory.nodes.some((row) => row.node === node)) return false;
  const [now, then] = await Promise.all([
    api.guestConfig({ vmid, node: guest.node, guestType: guest.type }, signal).catch((): JsonObject => ({})),
    api.archivedConfig(node, archive, signal),
  ]);
  const marks = marksIn(Object.entries(now));
  return marksIn(linesOf(then)).some((mark) => marks.includes(mark));
}

function marksIn(values: readonly (readonly [key: string, value: unknown])[]): readonly string[] {
  return values.flatMap(([key, value]) => {
    const text = wordOf(value).toLowerCase();
    if (key === 'smbios1') return text.match(/\buuid=[0-9a-f-]{36}\b/g) ?? [];
    return /^net\d+$/.test(key) ? (text.match(/\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/g) ?? []) : [];
  });
}

async function tagsOf(
  target: TagsTarget,
  { snapshot, archive, vmid }: TagsResource,
  { api, inventory, signal }: TargetSources,
): Promise<readonly string[]> {
  // What is not there is said of the node or guest itself.
  if (archive !== undefined && !inventory.nodes.some((row) => row.node === archive.node)) return target.tags;
  if (archive !== undefined) return archivedTags(await api.archivedConfig(archive.node, archive.volume, signal));
  const guest = inventory.guests.find((row) => row.vmid === vmid);
  if (snapshot === undefined || guest === undefined) return target.tags;
  const names = (await api.snapshots({ vmid, node: guest.node, guestType: guest.type }, signal)).map((row) => row['name']);
  if (!names.includes(snapshot) || snapshot === 'current') {
    throw new Fault('unknown_snapshot', `guest ${vmid} has no snapshot \`${snapshot}\``, {
      audience: 'user',
      next: `see get_guest with \`vmid\` ${vmid}`,
    });
  }
  const config = await api.record(
    { record: 'snapshot_config', guest: { vmid, node: guest.node, guestType: guest.type }, name: snapshot },
    signal,
  );
  return tagsIn(config['tags']);
}

/** The configuration as its file reads: `tags: prod;web` before the first section of a snapshot. */
function linesOf(config: string): readonly (readonly [key: string, value: string])[] {
  const [current = ''] = config.split(/^\[/m);
  return current.split('\n').flatMap((line) => {
    const [, key, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    return key === undefined || value === undefined ? [] : [[key, value] as const];
  });
}

function archivedTags(config: string): readonly string[] {
  return tagsIn(linesOf(config).find(([key]) => key === 'tags')?.[1]);
}
