/** A cluster that is not in the configuration yet, asked as every call would ask it. What is found out stays in memory. */

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isProxmoxApi } from '#connectors/proxmox/endpoint';
import { lookAtCertificate } from '#connectors/proxmox/verified-connector';
import type { ProtectionSuggestion } from '#kernel/app';
import { Fault, faultMessage, toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import type { Log } from '#kernel/ports/log';
import { type Message, say } from '#kernel/text/message';
import { type Config, clusterSchema, parseConfig } from '../config/config.ts';
import { apiState } from '../doctor.ts';
import { type ConnectedClusters, connectClusters } from './connect-clusters.ts';
import { type TokenRights, tokenRights } from './new-cluster.ts';
import { protectionSuggestions } from './suggestions.ts';

/** A node of the cluster beside those that were named. */
export interface OtherNode {
  readonly node: string;
  /** Absent: the cluster names none. */
  readonly address?: string;
  /** Fingerprint of its certificate, as a node says whose own was confirmed. Absent: an old release. */
  readonly vouched?: string;
}

/** And what it shows itself. */
export interface FoundNode extends OtherNode {
  /** Of its API; absent: its address is not known. */
  readonly endpoint?: string;
  /** `same`: the certificate that was vouched for. `other`: another one, so somebody may be in between. `away`: none now. */
  readonly shows: 'same' | 'other' | 'away';
  /** Why it is away, or what it shows instead. */
  readonly note: string;
}

export interface ClusterTrial {
  /** @throws {Fault} the token is not accepted, or the cluster does not answer */
  look(signal: AbortSignal): Promise<{ readonly message: Message; readonly rights: TokenRights }>;
  /** Those that none of the endpoints is. */
  otherNodes(signal: AbortSignal): Promise<readonly OtherNode[]>;
  /** Node name → its address, as the cluster says. */
  addresses(signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  suggestions(signal: AbortSignal): Promise<readonly ProtectionSuggestion[]>;
  /** Logs in on a node by ssh and runs `true`. @throws {Fault} why it cannot */
  logIn(node: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export { lookAtHostKey, type SeenHostKey, showHostKey } from '#connectors/ssh/look-at-host-key';

/** In ms, for one node. */
const nodeMs = 5_000;
const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** @param cluster an entry of `clusters`; relative paths in it count from `baseDir`. @throws {Fault} `bad_config` */
export async function tryCluster(cluster: JsonObject, secret: string, baseDir: string): Promise<ClusterTrial> {
  const config = parseConfig({ clusters: [cluster] }, 'the new cluster');
  // Nothing of a cluster that may never be configured stays in the state directory.
  const stateDir = await mkdtemp(join(tmpdir(), 'banksman-trial-'));
  const forget = () => rm(stateDir, { recursive: true, force: true });
  try {
    return trialOf(config, connectClusters({ config, baseDir, stateDir, log: silent, clusterToken: async () => secret }), forget);
  } catch (thrown) {
    await forget();
    throw thrown;
  }
}

function trialOf(config: Config, clusters: ConnectedClusters, forget: () => Promise<void>): ClusterTrial {
  const [entry] = config.clusters;
  const client = entry && clusters.clients.get(entry.name);
  const shell = entry && clusters.configured.get(entry.name)?.access.shell;
  if (entry === undefined || client === undefined) throw new Fault('bad_config', 'the new cluster has no entry');
  const fingerprints = Object.values(typeof entry.tls === 'object' && 'fingerprint' in entry.tls ? pinsOf(entry.tls.fingerprint) : {});
  const addresses = async (signal: AbortSignal) =>
    new Map(
      (await client.clusterStatus(signal)).flatMap(({ type, name, ip }) =>
        type === 'node' && ip !== undefined ? [[name, ip] as const] : [],
      ),
    );
  return {
    async look(signal) {
      await client.version(signal);
      const rights = tokenRights(await client.permissions(signal), entry.tokenId);
      const message = await apiState(client, entry.tokenId, signal).catch((thrown: unknown) => {
        const fault = toFault(thrown);
        if (fault.code === 'token_sees_nothing') return faultMessage(fault);
        throw thrown;
      });
      return { message, rights };
    },
    async otherNodes(signal) {
      const [nodes, at] = await Promise.all([client.nodes(signal), addresses(signal).catch(() => new Map<string, string>())]);
      return nodes.flatMap(({ node, raw }): OtherNode[] => {
        const vouched = textOf(raw['ssl_fingerprint'])?.toUpperCase();
        if (vouched !== undefined && fingerprints.includes(vouched)) return [];
        const address = at.get(node);
        return [{ node, ...(address && { address }), ...(vouched && { vouched }) }];
      });
    },
    addresses,
    suggestions: (signal) => protectionSuggestions(clusters, signal),
    async logIn(node, signal) {
      await shell?.exec(node, 'true', signal);
    },
    async close() {
      await clusters.close();
      await forget();
    },
  };
}

function pinsOf(fingerprint: string | Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return typeof fingerprint === 'string' ? { all: fingerprint } : fingerprint;
}

/** Of the API, as its first endpoint has it: the other nodes' is most likely the same. */
export function apiPort(cluster: JsonObject): number {
  return Number(new URL(clusterSchema.parse(cluster).endpoints[0] ?? 'https://node:8006').port || 443);
}

/** @param port of its API */
export async function lookAtNode(other: OtherNode, port: number, caller: AbortSignal): Promise<FoundNode> {
  const { address, vouched } = other;
  if (address === undefined) return { ...other, shows: 'away', note: 'the cluster names no address of it' };
  const found = { ...other, endpoint: `https://${address.includes(':') ? `[${address}]` : address}:${port}` };
  try {
    const { fingerprint } = await lookAtCertificate(found.endpoint, AbortSignal.any([caller, AbortSignal.timeout(nodeMs)]));
    if (vouched === undefined)
      return { ...found, shows: 'other', note: `nobody vouches for the certificate that it shows: ${fingerprint}` };
    return fingerprint === vouched
      ? { ...found, shows: 'same', note: '' }
      : { ...found, shows: 'other', note: `it shows another certificate than its cluster says: ${fingerprint}` };
  } catch (thrown) {
    return { ...found, shows: 'away', note: toFault(thrown).message };
  }
}

/** The entry with these nodes added, each pinned to what was vouched for it. Those that show another certificate, or of which nothing is known, stay out. */
export function withNodes(cluster: JsonObject, found: readonly FoundNode[]): JsonObject {
  const { endpoints, tls } = clusterSchema.parse(cluster);
  if (tls === undefined || !('fingerprint' in tls)) return cluster;
  const own =
    typeof tls.fingerprint === 'string' ? Object.fromEntries(endpoints.map((one) => [one, tls.fingerprint as string])) : tls.fingerprint;
  const added = Object.fromEntries(
    found.flatMap(({ endpoint, vouched, shows }) => (endpoint && vouched && shows !== 'other' ? [[endpoint, vouched] as const] : [])),
  );
  const fingerprint = { ...own, ...added };
  if (Object.keys(added).length === 0) return cluster;
  return { ...cluster, endpoints: Object.keys(fingerprint), tls: { fingerprint } };
}

/** That an endpoint is Proxmox VE, before a token is asked for. @throws {Fault} `not_proxmox`, `certificate_changed`, `unreachable` */
export async function checkProxmox(endpoint: string, fingerprint: string | undefined, signal: AbortSignal): Promise<void> {
  const trust = fingerprint === undefined ? ({ kind: 'system' } as const) : ({ kind: 'pin', fingerprint } as const);
  const pins = {
    accepts: (_origin: string, got: string) => got.toUpperCase() === fingerprint?.toUpperCase(),
    expected: () => fingerprint ?? '',
  };
  const isApi = await isProxmoxApi({ url: endpoint, trust, pins, timeoutMs: nodeMs }, signal).catch((thrown: unknown) => {
    const failed = thrown instanceof Error ? thrown.message : 'no answer';
    const next = 'look at it again: where it goes on changing, find out on the node who answers there';
    throw new Fault('unreachable', say`${endpoint} does not answer as before: ${failed}`, { audience: 'user', next });
  });
  if (isApi) return;
  throw new Fault('not_proxmox', say`what answers at ${endpoint} is not the API of Proxmox VE`, {
    audience: 'user',
    next: 'name the address of a node, with the port of its web interface (8006 unless a proxy stands before it)',
  });
}

/** Private keys in their usual places, for ssh. */
export function usualIdentities(): readonly string[] {
  return ['id_ed25519', 'id_ecdsa', 'id_rsa'].filter((name) => existsSync(join(homedir(), '.ssh', name))).map((name) => `~/.ssh/${name}`);
}

/** Tries ssh with host keys that are written nowhere yet: by node, why it cannot be logged in on; undefined: it can. */
export async function trySsh(
  cluster: JsonObject,
  { secret, lines, nodes }: { readonly secret: string; readonly lines: readonly string[]; readonly nodes: readonly string[] },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Fault | undefined>> {
  const folder = await mkdtemp(join(tmpdir(), 'banksman-ssh-'));
  try {
    const knownHosts = join(folder, 'known_hosts');
    await writeFile(knownHosts, `${lines.join('\n')}\n`, { mode: 0o600 });
    const ssh = isJsonObject(cluster['ssh']) ? cluster['ssh'] : {};
    const trial = await tryCluster({ ...cluster, ssh: { ...ssh, knownHosts } }, secret, dirname(knownHosts));
    try {
      const tried = await Promise.all(
        nodes.map(async (node) => [node, await trial.logIn(node, signal).then(() => undefined, toFault)] as const),
      );
      return new Map(tried);
    } finally {
      await trial.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
