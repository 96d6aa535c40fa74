/** The configured clusters as the pipeline uses them: a client, a shell and a waker each. Nothing connects before it is used. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProxmoxClient, type KeptPins, type ProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { createTwinPort } from '#connectors/proxmox/twin-port';
import type { TlsTrust } from '#connectors/proxmox/verified-connector';
import { createNodeShell } from '#connectors/ssh/create-node-shell';
import { createWaker } from '#connectors/wake-on-lan/create-waker';
import { systemClock } from '#execution/deadline';
import { Fault, toFault } from '#kernel/errors';
import type { JsonValue } from '#kernel/json';
import type { ClusterOverview, GuestSheet, LiveLists, ProtectedNames, TaskLook, Unreadable } from '#kernel/live';
import type { ClusterPort, GuestRef } from '#kernel/ports/cluster';
import type { LiveReads } from '#kernel/ports/live-reads';
import type { Log } from '#kernel/ports/log';
import type { Resource } from '#kernel/resource';
import { say } from '#kernel/text/message';
import { type ClusterCopy, type ConfiguredCluster, clustersFor } from '#pipeline/deps';
import { derivedBy, takeInventory } from '#pipeline/inventory';
import { type ProtectedList, targetProtection } from '#policy/protected-resources';
import { type Inventory, resolveTarget } from '#policy/resolve-target';
import { redactJson } from '#redaction/redact';
import type { ClusterConfig, Config } from '../config/config.ts';
import { expandPath } from '../config/paths.ts';
import { protectedListOf } from '../config/policy-settings.ts';
import { type KeptText, keepText, readPrivateFile, replacePrivateFile } from '../config/private-file.ts';
import { liveFacts } from './live-facts.ts';
import { createTagMemory } from './tag-memory.ts';

export interface ConnectOptions {
  readonly config: Config;
  readonly baseDir: string;
  /** Where what is learned of the nodes' certificates is kept. */
  readonly stateDir: string;
  readonly log: Log;
  /** SECURITY: given all of the cluster as it counts, since where a token goes is for who stored it to say. */
  clusterToken?(cluster: ClusterConfig): Promise<string | undefined>;
}

export interface ConnectedClusters {
  readonly configured: ReadonlyMap<string, ConfiguredCluster>;
  readonly clients: ReadonlyMap<string, ProxmoxClient>;
  readonly live: LiveLists;
  /** API tokens that have been used. */
  knownSecrets(): readonly string[];
  close(): Promise<void>;
}

/** @throws {Fault} `bad_config` when a CA file cannot be read or a cluster's settings do not fit together */
export function connectClusters(options: ConnectOptions): ConnectedClusters {
  const secrets = new Set<string>();
  const connected = options.config.clusters.map((cluster) => connect(cluster, options, secrets));
  const clients = new Map(connected.map((entry) => [entry.name, entry.client]));
  const configured = new Map(connected.map((entry) => [entry.name, entry.configured]));
  const shown = clustersFor({ id: '', first: true }, configured);
  const forPeople = new Map([...shown].map(([name, { access }]) => [name, access.api]));
  return {
    configured,
    clients,
    live: {
      clusters: [...clients.keys()],
      nodes: (cluster, signal) => clientOf(forPeople, cluster).nodes(signal),
      guests: (cluster, signal) => clientOf(forPeople, cluster).guests(signal),
      protectedNames: (cluster, signal) => protectedNames(cluster, shown, { list: protectedListOf(options.config.protected), signal }),
      ...clusterLooks((cluster) => clientOf(forPeople, cluster), secrets),
      facts: (action, signal) => liveFacts(action, forPeople, { signal, now: Date.now() }),
    },
    knownSecrets: () => [...secrets],
    close: async () => {
      await Promise.allSettled(connected.map((entry) => entry.close()));
    },
  };
}

/** By the same rules as a call's, so that a list and the call after it say the same. */
async function protectedNames(
  cluster: string,
  clusters: ReadonlyMap<string, ConfiguredCluster>,
  { list, signal }: { readonly list: ProtectedList; readonly signal: AbortSignal },
): Promise<ProtectedNames> {
  const configured = clusters.get(cluster);
  if (!configured) throw new Fault('unknown_cluster', say`no cluster is named \`${cluster}\``, { audience: 'user' });
  const inventory = await takeInventory(cluster, configured, {
    needsAddresses: list.addresses.length > 0,
    needsPools: list.pools !== undefined,
    signal,
  });
  const protection = targetProtection(list, await derivedBy(inventory, list, configured));
  const reasonOf = (resource: Resource, rows: Inventory): string | undefined => {
    const { target } = resolveTarget(resource, rows);
    const decision = target && protection(target);
    return decision?.effect === 'deny' ? decision.reason : undefined;
  };
  const guests = new Map<number, string>();
  for (const guest of inventory.guests) {
    // Looked for in its own row alone: in all of them, that is a million comparisons for a thousand guests.
    const reason = reasonOf({ kind: 'guest', access: 'operate', vmid: guest.vmid }, { ...inventory, guests: [guest] });
    if (reason !== undefined) guests.set(guest.vmid, reason);
  }
  const nodes = new Map<string, string>();
  for (const { node } of inventory.nodes) {
    const reason = reasonOf({ kind: 'node', access: 'operate', node }, inventory);
    if (reason !== undefined) nodes.set(node, reason);
  }
  return { guests, nodes };
}

function connect(cluster: ClusterConfig, options: ConnectOptions, secrets: Set<string>) {
  const { limits } = options.config;
  const tokenFile = cluster.tokenFile === undefined ? undefined : keepText(expandPath(cluster.tokenFile, options.baseDir));
  const client = createProxmoxClient({
    name: cluster.name,
    endpoints: cluster.endpoints,
    tokenId: cluster.tokenId,
    token: async () => checkToken(cluster, (await options.clusterToken?.(cluster)) ?? (await readTokenFile(cluster, tokenFile)), secrets),
    tls: trustOf(cluster, options.baseDir),
    timeoutMs: limits.apiMs,
    clock: systemClock,
    log: options.log,
    kept: keptPins(cluster, join(options.stateDir, learnedCertificatesFolder)),
  });
  const ssh = cluster.ssh ?? { user: 'root', knownHosts: '~/.ssh/known_hosts', identityFiles: [], agent: true, nodes: {} };
  const shell = createNodeShell({
    cluster: cluster.name,
    user: ssh.user,
    knownHosts: expandPath(ssh.knownHosts, options.baseDir),
    identityFiles: ssh.identityFiles.map((file) => expandPath(file, options.baseDir)),
    agent: ssh.agent,
    nodes: ssh.nodes,
    timeoutMs: limits.sshMs,
    clock: systemClock,
    log: options.log,
    addressOf: async (node, signal) => (await client.clusterStatus(signal)).find((row) => row.type === 'node' && row.name === node)?.ip,
  });
  const wake: NonNullable<ClusterConfig['wake']> = cluster.wake ?? { via: ['pve'], mac: {} };
  const waker = createWaker({
    via: wake.via,
    pve: (node, signal) => client.wakeOnLan(node, signal),
    ...(wake.http === undefined ? {} : { http: wake.http }),
    mac: wake.mac,
    ...(wake.broadcast === undefined ? {} : { destination: { address: wake.broadcast } }),
    timeoutMs: limits.apiMs,
    clock: systemClock,
    log: options.log,
  });
  const aliases = new Map(Object.entries(ssh.nodes).map(([node, entry]) => [node, [entry.host, ...entry.aliases]]));
  return {
    name: cluster.name,
    client,
    configured: { access: { api: client, shell, waker }, askedBy: client.askedBy, aliases, ...memoryOf(client, options) },
    close: async () => {
      shell.close();
      await client.close();
    },
  };
}

function memoryOf(client: ProxmoxClient, options: ConnectOptions): Pick<ConfiguredCluster, 'tags' | 'copy'> {
  return {
    tags: createTagMemory({ ...options, entries: options.config, cluster: client.name }),
    copy: async (wanted, signal) => copyCluster(await client.liveReads(wanted, signal), client.name),
  };
}

/** In memory, behind the client that speaks to the real one: what plans are rehearsed on. */
async function copyCluster(reads: LiveReads, name: string): Promise<ClusterCopy> {
  const { openCopy } = await import('../plans/twin.ts');
  const { ask, clock, settle } = openCopy(reads);
  const api = createTwinPort(ask, { name, clock });
  return { access: { api, shell: { exec: nowhere }, waker: { wake: nowhere } }, clock, settle };
}

async function nowhere(): Promise<never> {
  throw new Fault('not_rehearsed', 'this cannot be rehearsed: it leaves the API of the cluster', { audience: 'user' });
}

/** In the state directory. */
export const learnedCertificatesFolder = 'certificates';

/** A file for each cluster, pin and token: two configurations on one state directory do not overwrite each other's. */
function keptPins({ name, tokenId, tls }: ClusterConfig, folder: string): KeptPins {
  const mark = createHash('sha256')
    .update(JSON.stringify([name, tokenId, tls]))
    .digest('hex')
    .slice(0, 12);
  const file = `${name}-${mark}.json`;
  return {
    read: () => readPrivateFile(join(folder, file)),
    write: (text) => replacePrivateFile(folder, file, text),
  };
}

function trustOf(cluster: ClusterConfig, baseDir: string): TlsTrust {
  const { tls } = cluster;
  if (tls === undefined) return { kind: 'system' };
  if ('fingerprint' in tls) return { kind: 'pin', fingerprint: tls.fingerprint };
  const file = expandPath(tls.caFile, baseDir);
  try {
    return { kind: 'ca', pem: readFileSync(file, 'utf8') };
  } catch (thrown) {
    throw new Fault(
      'bad_config',
      say`cluster \`${cluster.name}\`: \`tls.caFile\` cannot be read: ${thrown instanceof Error ? thrown.message : file}`,
      { cause: thrown },
    );
  }
}

/** The secret part: a UUID; a file may hold it alone or as `user@realm!name=UUID`, as `pveum` prints it. */
function checkToken(cluster: ClusterConfig, text: string, secrets: Set<string>): string {
  const secret = text.trim().replace(`${cluster.tokenId}=`, '');
  if (!/^[\x21-\x7e]{1,200}$/.test(secret)) {
    throw new Fault('bad_token', say`the API token of cluster \`${cluster.name}\` is empty or holds white space`, {
      next: 'store the token secret (a UUID) alone',
    });
  }
  secrets.add(secret);
  return secret;
}

async function readTokenFile(cluster: ClusterConfig, file: KeptText | undefined): Promise<string> {
  if (file === undefined) {
    throw new Fault('no_token', say`cluster \`${cluster.name}\` has no API token`, {
      next: 'in the editor run “Banksman: Set API Token…”; elsewhere name a 0600 file in `tokenFile`',
    });
  }
  try {
    return await file.read();
  } catch (thrown) {
    throw new Fault(
      'no_token',
      say`the token file of cluster \`${cluster.name}\` cannot be read: ${thrown instanceof Error ? thrown.message : 'unknown error'}`,
      { cause: thrown },
    );
  }
}

function clientOf(clients: ReadonlyMap<string, ClusterPort>, cluster: string): ClusterPort {
  const client = clients.get(cluster);
  if (client === undefined) throw new Fault('unknown_cluster', say`no cluster is named \`${cluster}\``);
  return client;
}

const maxText = 20_000;
const shownTasks = 50;

/**
 * What a person's views read of a cluster, straight from its API: no call of a tool, so nothing in the trail.
 * @param secrets that this process has used; what is read of guests and tasks may hold others, too
 */
export function clusterLooks(
  portOf: (cluster: string) => ClusterPort,
  secrets: ReadonlySet<string>,
): Pick<LiveLists, 'overview' | 'guest' | 'task'> {
  const redact = <T>(value: T): T =>
    redactJson(value as JsonValue, { knownSecrets: [...secrets], maxStringLength: maxText }) as unknown as T;
  return {
    overview: async (cluster, signal) => readOverview(portOf(cluster), signal),
    guest: async (cluster, guest, signal) => redact(await readSheet(portOf(cluster), guest, signal)),
    task: async (cluster, upid, signal) => redact(await readTask(portOf(cluster), upid, signal)),
  };
}

/** @throws {Fault} where the cluster does not answer; tasks that cannot be read are left out */
async function readOverview(api: ClusterPort, signal: AbortSignal): Promise<ClusterOverview> {
  const [resources, tasks] = await Promise.all([api.resources(undefined, signal), api.recentTasks(signal).catch(() => undefined)]);
  return { resources, ...(tasks === undefined ? {} : { tasks }) };
}

async function readSheet(api: ClusterPort, guest: GuestRef, signal: AbortSignal): Promise<GuestSheet> {
  const or = <T>(work: Promise<T>): Promise<T | Unreadable> => work.catch((thrown: unknown) => ({ failed: toFault(thrown).message }));
  const [status, config, snapshots, backups, tasks, metrics] = await Promise.all([
    or(api.guestStatus(guest, signal)),
    or(api.guestConfig(guest, signal)),
    or(api.snapshots(guest, signal)),
    or(api.guestBackups(guest, signal)),
    or(api.rows({ rows: 'tasks', node: guest.node, vmid: guest.vmid }, signal).then((rows) => rows.slice(0, shownTasks))),
    or(api.rows({ rows: 'metrics', of: guest, timeframe: 'hour' }, signal)),
  ]);
  signal.throwIfAborted();
  return { status, config, snapshots, backups, tasks, metrics };
}

async function readTask(api: ClusterPort, upid: string, signal: AbortSignal): Promise<TaskLook> {
  const [{ running, exitStatus }, lines] = await Promise.all([api.taskStatus(upid, signal), api.taskLog(upid, signal)]);
  return { running, lines, ...(exitStatus === undefined ? {} : { exitStatus }) };
}
