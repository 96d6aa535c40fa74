/** What a target holds that its name does not tell: the tags in a snapshot or archive, the backups that are left of a guest. */
import { Fault } from '#kernel/errors';
import type { ClusterPort } from '#kernel/ports/cluster';
import { type Resource, type TagsResource, type TagsTarget, type Target, tagsIn } from '#kernel/resource';
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
  if (target?.kind === 'guest' && resource?.kind === 'guest' && resource.destroyed === true) {
    const { backups } = await sources.api.guestBackups(target, sources.signal);
    // A storage that cannot be read is no reason to believe in a backup there, nor in none where others have one.
    return { ...target, backups: backups.length };
  }
  if (target?.kind === 'tags' && resource?.kind === 'tags') return { ...target, tags: await tagsOf(target, resource, sources) };
  return target;
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
function archivedTags(config: string): readonly string[] {
  const [current = ''] = config.split(/^\[/m);
  return tagsIn(/^tags:\s*(.*)$/m.exec(current)?.[1]);
}
