/** The client of one Proxmox VE cluster (API viewer: https://pve.proxmox.com/pve-docs/api-viewer/). */

import { Fault, reasonMessage, toFault } from '#kernel/errors';
import { type JsonObject, wordOf } from '#kernel/json';
import { notSent } from '#kernel/known-effect';
import type { Clock } from '#kernel/ports/clock';
import type { Asker, ClusterPort, EndpointState, GuestRef, RecordSource, RowsSource } from '#kernel/ports/cluster';
import type { LiveReads, LiveWanted } from '#kernel/ports/live-reads';
import type { Log } from '#kernel/ports/log';
import { say } from '#kernel/text/message';
import { type ApiCalls, createApiCalls } from './api-calls.ts';
import type { Endpoint, EndpointOptions } from './endpoint.ts';
import { guestChanges, guestPath } from './guest-changes.ts';
import { nodeSegment, poolText, snapshotSegment, storageSegment, vmidSegment, volumeText } from './path-parameters.ts';
import { createPinLearner, createPins, type KeptPins, type PinLearner, type Pins } from './pins.ts';
import { readLive } from './read-live.ts';
import { createRequestQueue } from './request-queue.ts';
import * as rows from './rows.ts';
import { parseUpid, type Upid } from './rows.ts';
import { AmbiguousSend, createTransport, inTurn, type Transport } from './transport.ts';
import { outdatedPin } from './transport-failure.ts';
import type { TlsTrust } from './verified-connector.ts';

export interface ProxmoxClientOptions {
  /** The cluster's configured name. */
  readonly name: string;
  /** `https://host:8006`, at least one; tried in this order. */
  readonly endpoints: readonly string[];
  /** `user@realm!tokenname`. */
  readonly tokenId: string;
  /** The token's secret part, asked for with every call so that a rotated one is picked up. */
  readonly token: () => Promise<string>;
  readonly tls: TlsTrust;
  /** Limit of one API request in ms, fail-over included; it may have waited for its turn as long before. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** With one fingerprint for several endpoints: where what is learned of the others outlives the process. Absent: it does not. */
  readonly kept?: KeptPins;
}

export type { KeptPins } from './pins.ts';

/** One endpoint, asked on its own. */
export interface EndpointCheck extends EndpointState {
  /** Why it is of no use; absent: it is reachable, recognised and takes the token. */
  readonly fault?: Fault;
}

export interface ProxmoxClient extends ClusterPort {
  /** The same cluster, asked on somebody's behalf. What is asked without comes in turn with the others, as nobody's call. */
  askedBy(asker: Asker): ClusterPort;
  /** `GET /version`: the cheapest check that endpoint, certificate and token are right. */
  version(signal: AbortSignal): Promise<{ readonly version: string; readonly release: string }>;
  /**
   * `POST /nodes/{node}/wakeonlan`: the node that answers sends a magic packet to `node`, which must be another one.
   * @returns the MAC address it was sent to
   * @throws {Fault} `pve_error` when no MAC is configured for it or it is the answering node; `outcome_unknown` when the answer was lost
   */
  wakeOnLan(node: string, signal: AbortSignal): Promise<string>;
  /** Asks every endpoint, reachable or not, trusted or not. Never rejects; what is wrong is in its row. */
  checkEndpoints(signal: AbortSignal): Promise<readonly EndpointCheck[]>;
  /** What is wrong with a pin that no node has any more, and how to renew it; undefined where one has it, or nothing is known. */
  checkPin(): Promise<{ readonly message: string; readonly remedy: string } | undefined>;
  /** The cluster as it is now, and these guests whole: what a copy in memory is built from. */
  liveReads(wanted: LiveWanted, signal: AbortSignal): Promise<LiveReads>;
  close(): Promise<void>;
}

/** @throws {Fault} `bad_config` when the endpoints or the fingerprints do not fit */
export function createProxmoxClient(options: ProxmoxClientOptions): ProxmoxClient {
  const connections = createConnections(options);
  const transport = createTransport({ ...options, cluster: options.name, ...connections });
  const queue = createRequestQueue({ cluster: options.name, clock: options.clock, waitMs: options.timeoutMs });
  const askedBy = (asker: Asker) => {
    const callsOf = (one: Asker) => createApiCalls({ ...options, transport: inTurn(transport, queue, one) });
    const api = callsOf(asker);
    return { api, port: portOf({ api, first: callsOf({ ...asker, first: true }), looksOnce: asker.looksOnce }, options, connections) };
  };
  const { api, port } = askedBy({ id: '', first: false });
  return {
    ...port,
    ...waking(api),
    askedBy: (asker) => askedBy(asker).port,
    liveReads: (wanted, signal) => readLive(api, wanted, signal),
    async close() {
      await connections.learner?.settle();
      await Promise.all(connections.endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

interface AskerCalls {
  readonly api: ApiCalls;
  /** The same before others: what is looked up around a change. */
  readonly first: ApiCalls;
  readonly looksOnce?: boolean | undefined;
}

function portOf({ api, first, looksOnce = false }: AskerCalls, options: PortOptions, connections: Connections) {
  const resources = resourceReads(api, looksOnce);
  return {
    name: options.name,
    ...endpointReads(api, connections),
    ...clusterReads(api, resources, connections),
    ...guestReads(api),
    ...taskReads(api),
    ...sourceReads(api, resources),
    ...guestChanges(first, options),
  } satisfies Partial<ProxmoxClient>;
}

interface PortOptions extends Pick<ProxmoxClientOptions, 'name' | 'clock'> {
  /** As it stands in the UPIDs of its tasks. */
  readonly tokenId: string;
}

/** The same client over a transport of its own: what is asked there leaves no process. */
export function createPortOver(transport: Transport, options: PortOptions): ClusterPort {
  const api = createApiCalls({ ...options, transport, token: async () => 'none' });
  return portOf({ api, first: api }, options, { endpoints: [] });
}

interface Connections {
  readonly endpoints: readonly Endpoint[];
  readonly pins?: Pins;
  readonly learner?: PinLearner;
}

function createConnections(options: ProxmoxClientOptions): Connections {
  const { name, endpoints: urls, tls: trust, timeoutMs, clock, log, kept } = options;
  const origins = urls.map(originOf);
  if (urls.length === 0) throw new Fault('bad_config', say`cluster \`${name}\` has no \`endpoints\``);
  if (trust.kind !== 'pin') return { endpoints: urls.map((url) => endpointOnUse({ url, trust, timeoutMs })) };
  const pins = createPins(trust.fingerprint, origins, clock);
  const endpoints = urls.map((url) => endpointOnUse({ url, trust, timeoutMs, pins }));
  return { endpoints, pins, learner: createPinLearner({ cluster: name, pins, kept, clock, log }) };
}

/** What makes connections (undici, a sixth of the program, and the system's certificates) is loaded with the first request. */
function endpointOnUse(options: EndpointOptions): Endpoint {
  let opened: Promise<Endpoint> | undefined;
  const open = () => {
    opened ??= import('./endpoint.ts').then(({ createEndpoint }) => createEndpoint(options));
    return opened;
  };
  return {
    origin: originOf(options.url),
    send: async (request, signal) => (await open()).send(request, signal),
    close: async () => (await opened)?.close(),
  };
}

function originOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== 'https:' || parsed.username !== '' || parsed.password !== '') {
    throw new Fault('bad_config', 'an endpoint must be an https URL without user name or password', {
      next: 'write it as `https://10.0.0.11:8006`',
    });
  }
  return parsed.origin;
}

function endpointReads(api: ApiCalls, { endpoints, pins, learner }: Connections) {
  function stateOf({ origin }: Endpoint): EndpointState {
    const node = pins?.nodeAt(origin);
    return { origin, ...(node === undefined ? {} : { node }), certificate: pins?.known(origin) ?? 'ca' };
  }
  return {
    async endpoints() {
      await learner?.settle();
      return endpoints.map(stateOf);
    },
    async checkPin() {
      await learner?.settle();
      const until = pins?.outdatedUntil();
      return until === undefined ? undefined : outdatedPin(until);
    },
    async checkEndpoints(signal: AbortSignal) {
      const faults = await Promise.all(endpoints.map((endpoint) => api.check(endpoint, signal)));
      return endpoints.map((endpoint, index) => {
        const fault = faults[index];
        return { ...stateOf(endpoint), ...(fault === undefined ? {} : { fault }) };
      });
    },
  } satisfies Partial<ProxmoxClient>;
}

/** What the API's own `type` stands for. */
const resourceTypes: Readonly<Record<'vm' | 'storage' | 'node', readonly string[]>> = {
  vm: ['qemu', 'lxc', 'openvz'],
  storage: ['storage'],
  node: ['node'],
};

interface ResourceReads {
  now(signal: AbortSignal): Promise<unknown>;
  /** Names of the storages that may hold backups and that `node` sees: as they were read before, where the asker looks once. */
  backupStorages(node: string, signal: AbortSignal): Promise<readonly string[]>;
}

function resourceReads(api: ApiCalls, looksOnce: boolean): ResourceReads {
  let seen: ReadonlyMap<string, ReadonlySet<string>> | undefined;

  async function now(signal: AbortSignal): Promise<unknown> {
    const data = await api.get('/cluster/resources', signal);
    if (looksOnce) seen = storagesForBackups(data);
    return data;
  }

  return {
    now,
    backupStorages: async (node, signal) => [...((seen ?? storagesForBackups(await now(signal))).get(node) ?? [])],
  };
}

/** By node. */
function storagesForBackups(data: unknown): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { type, node, storage, content } of rows.readObjects(data)) {
    if (type !== 'storage' || typeof node !== 'string' || typeof storage !== 'string' || !wordOf(content).includes('backup')) continue;
    found.set(node, (found.get(node) ?? new Set()).add(storage));
  }
  return found;
}

function clusterReads(api: ApiCalls, resources: ResourceReads, { pins }: Connections) {
  return {
    async clusterStatus(signal) {
      const status = rows.readClusterStatus(await api.get('/cluster/status', signal));
      pins?.noteAddresses(new Map(status.flatMap(({ type, name, ip }) => (type === 'node' && ip !== undefined ? [[name, ip]] : []))));
      return status;
    },
    nodes: async (signal) => rows.readNodes(await api.get('/nodes', signal)),
    guests: async (signal) => rows.readGuests(await resources.now(signal)),
    async resources(type, signal) {
      // Rows of the network are not among those of all types.
      if (type === 'sdn') return rows.readObjects(await api.get('/cluster/resources?type=sdn', signal));
      const all = rows.readResources(await resources.now(signal));
      return type === undefined ? all : all.filter((row) => resourceTypes[type].some((one) => one === row['type']));
    },
    nodeStatus: async (node, signal) => rows.readObject(await api.get(`/nodes/${nodeSegment(node)}/status`, signal)),
    recentTasks: async (signal) => rows.readObjects(await api.get('/cluster/tasks', signal)),
    async backups(node, storage, signal) {
      const path = `/nodes/${nodeSegment(node)}/storage/${storageSegment(storage)}/content?content=backup`;
      return rows.readObjects(await api.get(path, signal));
    },
    grantHint: (privilege, path, signal) => api.grantHint({ privilege, path }, signal),
    permissions: async (signal) => rows.readPermissions(await api.get('/access/permissions', signal)),
    async version(signal: AbortSignal) {
      return rows.readVersion(await api.get('/version', signal));
    },
  } satisfies Partial<ProxmoxClient>;
}

function guestReads(api: ApiCalls) {
  return {
    guestConfig: async (guest, signal) => rows.readObject(await api.get(`${guestPath(guest)}/config`, signal)),
    guestStatus: async (guest, signal) => rows.readObject(await api.get(`${guestPath(guest)}/status/current`, signal)),
    snapshots: async (guest, signal) => rows.readObjects(await api.get(`${guestPath(guest)}/snapshot`, signal)),
  } satisfies Partial<ProxmoxClient>;
}

function taskPath(upid: Upid): string {
  return `/nodes/${nodeSegment(upid.node)}/tasks/${encodeURIComponent(upid.text)}`;
}

function taskReads(api: ApiCalls) {
  return {
    async taskStatus(text, signal) {
      const upid = parseUpid(text);
      return rows.readTaskStatus(await api.get(`${taskPath(upid)}/status`, signal), upid);
    },
    taskLog: async (text, signal) => rows.readTaskLog(await api.get(`${taskPath(parseUpid(text))}/log?limit=500`, signal)),
  } satisfies Partial<ProxmoxClient>;
}

function waking(api: ApiCalls) {
  return {
    async wakeOnLan(node: string, signal: AbortSignal) {
      try {
        return rows.readText(await api.change({ method: 'POST', path: `/nodes/${nodeSegment(node)}/wakeonlan` }, signal));
      } catch (thrown) {
        if (!(thrown instanceof AmbiguousSend)) throw toFault(thrown).with({ effect: notSent });
        const message = say`it is unknown whether a wake-up packet was sent to \`${node}\`: ${thrown.message}`;
        throw new Fault('outcome_unknown', message, {
          retryable: true,
          next: 'look whether the node comes up; waking it again does no harm',
          effect: { state: 'sent' },
        });
      }
    },
  } satisfies Partial<ProxmoxClient>;
}

// Where the API has the lists and records that the port names. Every value in a path or query is checked here.
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
  pool: ({ pool }: Rows<'pool'>) => `/pools${query({ poolid: poolText(pool) })}`,
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

function sourceReads(api: ApiCalls, resources: ResourceReads) {
  async function backupsOn(guest: GuestRef, storage: string, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const all = await api.get(rowsPath({ rows: 'content', node: guest.node, storage, content: 'backup' }), signal);
    return rows.readObjects(all).filter((row) => Number(row['vmid']) === guest.vmid);
  }
  return {
    rows: async (source, signal) => rows.readObjects((await api.get(rowsPath(source), signal)) ?? []),
    record: async (source, signal) => rows.readObject(await api.get(recordPath(source), signal)),
    async guestBackups(guest, signal) {
      const storages = await resources.backupStorages(guest.node, signal);
      const lists = await Promise.allSettled(storages.map((storage) => backupsOn(guest, storage, signal)));
      signal.throwIfAborted();
      const backups = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
      const failed = lists.find((list) => list.status === 'rejected');
      if (backups.length > 0 || failed === undefined) return backups;
      throw new Fault('backups_unread', say`backups of guest ${guest.vmid} cannot be read: ${reasonMessage(failed.reason)}`, {
        cause: failed.reason,
        retryable: true,
      });
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
