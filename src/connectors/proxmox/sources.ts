/** Where the API has the lists and records that the port names. Every value in a path or query is checked here. */
import { Fault } from '#kernel/errors';
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort, GuestRef, RecordSource, RowsSource } from '#kernel/ports/cluster';
import type { ApiCalls } from './api-calls.ts';
import { guestPath } from './guest-changes.ts';
import { nodeSegment, snapshotSegment, storageSegment, vmidSegment, volumeText } from './path-parameters.ts';
import * as rows from './rows.ts';

/** @param values checked or harmless by type; undefined ones are left out */
function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)] as [string, string]]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** As many as a node keeps in its index of finished tasks. */
const mostTasks = 1_000;

type Rows<Kind extends RowsSource['rows']> = Extract<RowsSource, { rows: Kind }>;
type OfGuest = { readonly guest: GuestRef };
type OfNode = { readonly node: string };

const rowsPaths = {
  pending: ({ guest }: OfGuest) => `${guestPath(guest)}/pending`,
  interfaces: ({ guest }: OfGuest) => `${guestPath(guest)}/interfaces`,
  services: ({ node }: OfNode) => `/nodes/${nodeSegment(node)}/services`,
  updates: ({ node }: OfNode) => `/nodes/${nodeSegment(node)}/apt/update`,
  replication_state: ({ node }: OfNode) => `/nodes/${nodeSegment(node)}/replication`,
  tasks: ({ node, vmid, errors, since }: Rows<'tasks'>) => {
    const filters = { vmid: vmid && vmidSegment(vmid), errors: errors === true ? 1 : undefined, since };
    return `/nodes/${nodeSegment(node)}/tasks${query({ source: 'all', limit: mostTasks, ...filters })}`;
  },
  metrics: ({ of, timeframe }: Rows<'metrics'>) =>
    `${'vmid' in of ? guestPath(of) : `/nodes/${nodeSegment(of.node)}`}/rrddata${query({ timeframe, cf: 'AVERAGE' })}`,
  ha: () => '/cluster/ha/status/current',
  ha_groups: () => '/cluster/ha/groups',
  ha_resources: () => '/cluster/ha/resources',
  ha_rules: () => '/cluster/ha/rules',
  replication: () => '/cluster/replication',
  storage: () => '/storage',
  content: ({ node, storage, content }: Rows<'content'>) =>
    `/nodes/${nodeSegment(node)}/storage/${storageSegment(storage)}/content${query({ content })}`,
};

type Records<Kind extends RecordSource['record']> = Extract<RecordSource, { record: Kind }>;

const recordPaths = {
  agent_network: ({ guest }: OfGuest) => `${guestPath(guest)}/agent/network-get-interfaces`,
  agent_os: ({ guest }: OfGuest) => `${guestPath(guest)}/agent/get-osinfo`,
  ceph: () => '/cluster/ceph/status',
  migration: ({ guest, target }: Records<'migration'>) => `${guestPath(guest)}/migrate${query({ target: target && nodeSegment(target) })}`,
  feature: ({ guest, feature }: Records<'feature'>) => `${guestPath(guest)}/feature${query({ feature })}`,
  snapshot_config: ({ guest, name }: Records<'snapshot_config'>) => `${guestPath(guest)}/snapshot/${snapshotSegment(name)}/config`,
  storage: ({ node, storage }: Records<'storage'>) => `/nodes/${nodeSegment(node)}/storage/${storageSegment(storage)}/status`,
};

/** Sound: the table has, under each kind, the function for that kind. */
function rowsPath(source: RowsSource): string {
  return (rowsPaths[source.rows] as (source: RowsSource) => string)(source);
}

function recordPath(source: RecordSource): string {
  return (recordPaths[source.record] as (source: RecordSource) => string)(source);
}

export function sourceReads(api: ApiCalls) {
  async function backupsOn(guest: GuestRef, storage: string, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const all = await api.get(rowsPath({ rows: 'content', node: guest.node, storage, content: 'backup' }), signal);
    return rows.readObjects(all).filter((row) => Number(row['vmid']) === guest.vmid);
  }
  return {
    rows: async (source, signal) => rows.readObjects((await api.get(rowsPath(source), signal)) ?? []),
    record: async (source, signal) => rows.readObject(await api.get(recordPath(source), signal)),
    async guestBackups(guest, signal) {
      const storages = rows.readResources(await api.get('/cluster/resources', signal)).flatMap(({ type, node, storage, content }) => {
        const holds = type === 'storage' && node === guest.node && wordOf(content).includes('backup');
        return holds && typeof storage === 'string' ? [storage] : [];
      });
      const lists = await Promise.allSettled([...new Set(storages)].map((storage) => backupsOn(guest, storage, signal)));
      signal.throwIfAborted();
      const backups = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
      return { backups, whole: lists.every((list) => list.status === 'fulfilled') };
    },
    archivedConfig: async (node, archive, signal) =>
      rows.readText(await api.get(`/nodes/${nodeSegment(node)}/vzdump/extractconfig${query({ volume: volumeText(archive) })}`, signal)),
    async isFree(vmid, signal) {
      try {
        await api.get(`/cluster/nextid${query({ vmid: vmidSegment(vmid) })}`, signal);
        return true;
      } catch (thrown) {
        if (thrown instanceof Fault && /already exists/.test(thrown.message)) return false;
        throw thrown;
      }
    },
  } satisfies Partial<ClusterPort>;
}
