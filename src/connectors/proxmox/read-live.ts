/** A cluster as it is now, read for a copy of it: the guests that are asked for in full, the others as the cluster's list has them. */
import { toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf, wordOf } from '#kernel/json';
import type { LiveGuest, LiveReads, LiveWanted, Row } from '#kernel/ports/live-reads';
import type { ApiCalls } from './api-calls.ts';
import { guestPath } from './guest-changes.ts';
import { nodeSegment, snapshotSegment, storageSegment, volumeText } from './path-parameters.ts';
import * as rows from './rows.ts';

/** @throws {Fault} when the cluster's own lists cannot be read; what is only to be seen with more rights is left out */
export async function readLive(
  api: ApiCalls,
  { vmids, nodes, archives, pools: into }: LiveWanted,
  signal: AbortSignal,
): Promise<LiveReads> {
  const read = readers(api, signal);
  const resources = await read.all('/cluster/resources');
  const places = new Set([...nodes, ...resources.filter((row) => vmids.includes(Number(row['vmid']))).map((row) => wordOf(row['node']))]);
  const [status, guests, volumes, pools, more] = await Promise.all([
    read.lists('/cluster/status'),
    Promise.all(
      resources.filter(isGuest).map(async (row) => (vmids.includes(Number(row['vmid'])) ? wholeGuest(row, read) : bareGuest(row))),
    ),
    volumesOn([...places], resources, read).then((found) => withArchived(found, archives, read)),
    poolsIn(resources, into, read),
    Promise.all([
      read.lists('/storage'),
      read.lists('/cluster/ha/status/current'),
      read.lists('/cluster/ha/rules'),
      read.lists('/cluster/backup'),
      read.one('/cluster/options'),
      read.one('/access/permissions'),
    ]),
  ]);
  const [storages, ha, haRules, backupJobs, options, permissions] = more;
  return {
    ...{ status, resources, guests, volumes, pools },
    ...{ storages: storages.length > 0 ? storages : storagesIn(resources), ha, haRules, backupJobs, options },
    permissions: permissions as LiveReads['permissions'],
  };
}

/** A backup that nobody can look into stays without. */
async function withArchived(volumes: LiveReads['volumes'], archives: LiveWanted['archives'], read: Readers): Promise<LiveReads['volumes']> {
  const texts = await Promise.all(
    archives.map(
      async ({ node, volume }): Promise<[string, string | undefined]> => [
        volume,
        await read.text(`/nodes/${nodeSegment(node)}/vzdump/extractconfig?volume=${encodeURIComponent(volumeText(volume))}`),
      ],
    ),
  );
  const known = new Map(texts);
  return volumes.map((row) => {
    const archived = known.get(wordOf(row['volid']));
    return archived === undefined ? row : { ...row, archived };
  });
}

interface Readers {
  all(path: string): Promise<readonly JsonObject[]>;
  /** Empty where it cannot be read. */
  lists(path: string): Promise<readonly JsonObject[]>;
  one(path: string): Promise<JsonObject>;
  text(path: string): Promise<string | undefined>;
}

function readers(api: ApiCalls, signal: AbortSignal): Readers {
  const all = async (path: string) => rows.readObjects((await api.get(path, signal)) ?? []);
  const otherwise = <T>(value: T) => {
    signal.throwIfAborted();
    return value;
  };
  return {
    all,
    lists: (path) => all(path).catch(() => otherwise([])),
    text: async (path) => textOf(await api.get(path, signal).catch(() => otherwise(undefined))),
    one: async (path) => {
      const value = await api.get(path, signal).catch(() => otherwise({}));
      return isJsonObject(value) ? value : {};
    },
  };
}

function isGuest({ type }: JsonObject): boolean {
  return type === 'qemu' || type === 'lxc';
}

async function wholeGuest(row: JsonObject, read: Readers): Promise<LiveGuest> {
  const guestType = row['type'] === 'lxc' ? 'lxc' : 'qemu';
  const vmid = Number(row['vmid']);
  const base = guestPath({ vmid, node: wordOf(row['node']), guestType });
  const [config, pending, snapshots, status] = await Promise.all([
    read.one(`${base}/config?current=1`),
    read.lists(`${base}/pending`),
    read.lists(`${base}/snapshot`),
    read.one(`${base}/status/current`),
  ]);
  const names = snapshots.flatMap((one) => (textOf(one['name']) === undefined || one['name'] === 'current' ? [] : [wordOf(one['name'])]));
  const configs = await Promise.all(
    names.map(async (name): Promise<[string, Row]> => [name, await read.one(`${base}/snapshot/${snapshotSegment(name)}/config`)]),
  );
  const paused = status['qmpstatus'] === 'paused' ? { paused: true } : {};
  return { vmid, config, pending, snapshots, snapshotConfigs: Object.fromEntries(configs), ...paused };
}

/** What its row says; its disks and snapshots are of no matter to anybody else. */
function bareGuest(row: JsonObject): LiveGuest {
  const name = textOf(row['name']);
  const config = {
    digest: '',
    ...(name === undefined ? {} : { [row['type'] === 'lxc' ? 'hostname' : 'name']: name }),
    ...Object.fromEntries(['tags', 'template', 'lock'].flatMap((key) => (row[key] === undefined ? [] : [[key, row[key]]]))),
  };
  return { vmid: Number(row['vmid']), config, snapshots: [] };
}

async function volumesOn(nodes: readonly string[], resources: readonly JsonObject[], read: Readers): Promise<LiveReads['volumes']> {
  const seen = new Set<string>();
  const wanted = resources.flatMap((row) => {
    const [storage, node] = [wordOf(row['storage']), wordOf(row['node'])];
    const place = Number(row['shared'] ?? 0) === 1 ? storage : `${node}/${storage}`;
    if (row['type'] !== 'storage' || !nodes.includes(node) || row['status'] !== 'available' || seen.has(place)) return [];
    seen.add(place);
    return [{ node, storage }];
  });
  const lists = await Promise.all(
    wanted.map(async ({ node, storage }) => {
      const found = await read.lists(`/nodes/${nodeSegment(node)}/storage/${storageSegment(storage)}/content`);
      return found.map((row) => ({ ...row, node }));
    }),
  );
  return lists.flat();
}

/** A pool's own page has its members. One that a guest is to get into and that this token may not see is taken to be there, with nobody in it. */
async function poolsIn(resources: readonly JsonObject[], into: readonly string[], read: Readers): Promise<LiveReads['pools']> {
  const names = [...new Set([...resources.map((row) => row['pool']), ...into].flatMap((name) => textOf(name) ?? []))].filter((name) =>
    /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/.test(name),
  );
  const pages = await Promise.all(
    names.map(async (poolid) => {
      try {
        return await read.all(`/pools?poolid=${encodeURIComponent(poolid)}`);
      } catch (thrown) {
        return !into.includes(poolid) || toFault(thrown).message.includes('does not exist') ? [] : [{ poolid, members: [] }];
      }
    }),
  );
  return pages.flat();
}

/** Where the definitions may not be read, the list of resources says what can be known of a storage. */
function storagesIn(resources: readonly JsonObject[]): LiveReads['storages'] {
  const byName = new Map<string, Row>();
  for (const row of resources.filter(({ type }) => type === 'storage')) {
    const { storage, plugintype, content, shared } = row;
    byName.set(wordOf(storage), { storage, type: plugintype, content, ...(Number(shared ?? 0) === 1 ? { shared: 1 } : {}) });
  }
  return [...byName.values()];
}
