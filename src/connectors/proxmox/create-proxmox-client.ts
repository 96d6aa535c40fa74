/** The client of one Proxmox VE cluster (API viewer: https://pve.proxmox.com/pve-docs/api-viewer/). */
import { Fault, toFault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { notSent } from '#kernel/known-effect';
import type { Clock } from '#kernel/ports/clock';
import type { ClusterPort, EndpointState, GuestAction, GuestRef } from '#kernel/ports/cluster';
import type { Log } from '#kernel/ports/log';
import type { GuestType } from '#kernel/resource';
import { cancelledFault, withTimeLimit } from '../time-limit.ts';
import { type ApiCalls, createApiCalls } from './api-calls.ts';
import { createEndpoint, type Endpoint } from './endpoint.ts';
import { createPinLearner, type KeptPins, type PinLearner } from './learn-pins.ts';
import { actionSegment, guestTypeSegment, nodeSegment, storageSegment, vmidSegment } from './path-parameters.ts';
import { createPins, type Pins } from './pins.ts';
import * as rows from './rows.ts';
import { AmbiguousSend, createTransport } from './transport.ts';
import { outdatedPin } from './transport-fault.ts';
import { parseUpid, readUpid, type Upid } from './upid.ts';
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
  /** Limit of one API request in ms, fail-over included. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** With one fingerprint for several endpoints: where what is learned of the others outlives the process. Absent: it does not. */
  readonly kept?: KeptPins;
}

export type { KeptPins } from './learn-pins.ts';

/** One endpoint, asked on its own. */
export interface EndpointCheck extends EndpointState {
  /** Why it is of no use; absent: it is reachable, recognised and takes the token. */
  readonly fault?: Fault;
}

export interface ProxmoxClient extends ClusterPort {
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
  close(): Promise<void>;
}

/** How long the search for the task of a lost answer may take, in ms. */
const searchLimitMs = 8_000;

/** @throws {Fault} `bad_config` when the endpoints or the fingerprints do not fit */
export function createProxmoxClient(options: ProxmoxClientOptions): ProxmoxClient {
  const connections = createConnections(options);
  const api = createApiCalls({ ...options, transport: createTransport({ ...options, cluster: options.name, ...connections }) });
  return {
    name: options.name,
    ...endpointReads(api, connections),
    ...clusterReads(api, connections),
    ...guestReads(api),
    ...taskReads(api),
    ...actions(api, options),
    async close() {
      await connections.learner?.settle();
      await Promise.all(connections.endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

interface Connections {
  readonly endpoints: readonly Endpoint[];
  readonly pins?: Pins;
  readonly learner?: PinLearner;
}

function createConnections(options: ProxmoxClientOptions): Connections {
  const { name, endpoints: urls, tls: trust, timeoutMs, clock, log, kept } = options;
  const origins = urls.map(originOf);
  if (urls.length === 0) throw new Fault('bad_config', `cluster \`${name}\` has no \`endpoints\``);
  if (trust.kind !== 'pin') return { endpoints: urls.map((url) => createEndpoint({ url, trust, timeoutMs })) };
  const pins = createPins(trust.fingerprint, origins, clock);
  const endpoints = urls.map((url) => createEndpoint({ url, trust, timeoutMs, pins }));
  return { endpoints, pins, learner: createPinLearner({ cluster: name, pins, kept, clock, log }) };
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

function clusterReads(api: ApiCalls, { pins }: Connections) {
  return {
    async clusterStatus(signal) {
      const status = rows.readClusterStatus(await api.get('/cluster/status', signal));
      pins?.noteAddresses(new Map(status.flatMap(({ type, name, ip }) => (type === 'node' && ip !== undefined ? [[name, ip]] : []))));
      return status;
    },
    nodes: async (signal) => rows.readNodes(await api.get('/nodes', signal)),
    guests: async (signal) => rows.readGuests(await api.get('/cluster/resources', signal)),
    async resources(type, signal) {
      // Rows of the network are not among those of all types.
      if (type === 'sdn') return rows.readObjects(await api.get('/cluster/resources?type=sdn', signal));
      const all = rows.readResources(await api.get('/cluster/resources', signal));
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

function guestPath({ node, guestType, vmid }: GuestRef): string {
  return `/nodes/${nodeSegment(node)}/${guestTypeSegment(guestType)}/${vmidSegment(vmid)}`;
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

function actions(api: ApiCalls, { tokenId, clock }: ProxmoxClientOptions) {
  async function listUpids(signal: AbortSignal): Promise<readonly string[]> {
    const tasks: readonly JsonObject[] = rows.readObjects(await api.get('/cluster/tasks', signal));
    return tasks.map((task) => task['upid']).filter((upid): upid is string => typeof upid === 'string');
  }

  async function resolveLostAnswer(search: OwnTaskSearch, lost: AmbiguousSend, signal: AbortSignal): Promise<string> {
    if (signal.aborted) throw outcomeUnknown(search, `${lost.message} after the request had been sent`);
    try {
      return await withTimeLimit(clock, searchLimitMs, signal, (limited) => findOwnTask(search, lost.message, limited));
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.code === 'outcome_unknown') throw thrown;
      throw outcomeUnknown(search, `${lost.message}; the cluster's task list could not be read either`);
    }
  }

  return {
    async changeGuest(guest, action, signal, { timeoutSeconds } = {}) {
      let search: OwnTaskSearch | undefined;
      try {
        const path = `${guestPath(guest)}/status/${actionSegment(action)}`;
        // Before, not after: a task is recognised as ours by not having been there. If this fails, nothing has been sent yet.
        search = { guest, action, tokenId, clock, listUpids, before: new Set(await listUpids(signal)) };
        if (signal.aborted) throw cancelledFault(signal, `${action} of ${guest.vmid} was not sent`);
        const upid = await api.post(path, signal, timeoutSeconds === undefined ? {} : { timeout: String(timeoutSeconds) });
        if (typeof upid !== 'string' || !readUpid(upid)) throw new AmbiguousSend('the answer names no task');
        return upid;
      } catch (thrown) {
        if (thrown instanceof AmbiguousSend && search !== undefined) return resolveLostAnswer(search, thrown, signal);
        // Not sent, or refused at once: the API starts no task then.
        throw toFault(thrown).with({ effect: notSent });
      }
    },
    async wakeOnLan(node: string, signal: AbortSignal) {
      try {
        return rows.readText(await api.post(`/nodes/${nodeSegment(node)}/wakeonlan`, signal));
      } catch (thrown) {
        if (!(thrown instanceof AmbiguousSend)) throw toFault(thrown).with({ effect: notSent });
        const message = `it is unknown whether a wake-up packet was sent to \`${node}\`: ${thrown.message}`;
        throw new Fault('outcome_unknown', message, {
          retryable: true,
          next: 'look whether the node comes up; waking it again does no harm',
          effect: { state: 'sent' },
        });
      }
    },
  } satisfies Partial<ProxmoxClient>;
}

// Which task, if any, an action started whose answer was lost.

/** Task types as the API names them; under high availability the request becomes one to the HA manager. */
const taskTypes: Readonly<Record<GuestType, Readonly<Record<GuestAction, readonly string[]>>>> = {
  qemu: { start: ['qmstart', 'hastart'], stop: ['qmstop', 'hastop'], reboot: ['qmreboot'] },
  lxc: { start: ['vzstart', 'hastart'], stop: ['vzstop', 'hastop'], reboot: ['vzreboot'] },
};

/** Waits before each look, in ms: a node under load takes a while to show a new task. */
const looks = [0, 500, 1_500, 3_000];

interface OwnTaskSearch {
  readonly guest: GuestRef;
  readonly action: GuestAction;
  /** `user@realm!tokenname`, as it stands in a UPID. */
  readonly tokenId: string;
  /** What was there before the action was sent: told by identity, because the clocks of node and client differ. */
  readonly before: ReadonlySet<string>;
  readonly listUpids: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
}

/**
 * @returns the UPID of the one task that this very action can have started
 * @throws {Fault} `outcome_unknown` when there is none to be seen, or more than one; `why` says what happened to the answer
 */
async function findOwnTask(search: OwnTaskSearch, why: string, signal: AbortSignal): Promise<string> {
  for (const wait of looks) {
    if (wait > 0) await search.clock.sleep(wait, signal);
    const upids = await search.listUpids(signal);
    const found = upids.map(readUpid).filter((upid) => upid !== undefined && isOwn(upid, search));
    const [only, ...others] = found;
    if (only && others.length === 0) return only.text;
    if (only) throw outcomeUnknown(search, `${why}; several tasks could be it: ${found.map((upid) => upid?.text).join(', ')}`);
  }
  throw outcomeUnknown(search, `${why}; no task of it shows in the cluster's list`);
}

function isOwn(upid: Upid, { guest, action, tokenId, before }: OwnTaskSearch): boolean {
  const types = taskTypes[guest.guestType][action];
  return types.includes(upid.type) && upid.id === String(guest.vmid) && upid.user === tokenId && !before.has(upid.text);
}

function outcomeUnknown({ guest, action }: Pick<OwnTaskSearch, 'guest' | 'action'>, why: string): Fault {
  const message = `it is unknown whether the ${action} of ${guest.vmid} was carried out: ${why}`;
  const next = 'do not repeat it blindly: look at the guest with get_vms or get_containers, and at get_recent_tasks, first';
  return new Fault('outcome_unknown', message, { next, effect: { state: 'sent' } });
}
