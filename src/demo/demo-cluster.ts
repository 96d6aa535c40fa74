/**
 * The embedded demo cluster: a PVE API emulator on HTTPS and ssh nodes over one shared state, all on loopback and in this process.
 * It is loaded only when asked for, and takes everything with it when it is closed.
 */
import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Authority, type Certificate, createAuthority } from './certificate.ts';
import { createFaults, type DemoFaults } from './demo-faults.ts';
import { demoSeed, demoTokens } from './initial-state.ts';
import { startListener } from './listener.ts';
import { type ApiEndpoint, startApiEndpoint } from './pve/api-endpoint.ts';
import { type Cluster, createCluster } from './pve/cluster.ts';
import { ApiFaults } from './pve/faults.ts';
import { receiveMagicPacket, wakeAddress } from './pve/methods/nodes.ts';
import type { ClusterSeed } from './pve/state.ts';
import type { DemoClock } from './pve/task-engine.ts';
import { createRandom } from './random.ts';
import { generateOpensshKey, type SshNode, startSshNode } from './ssh/node-server.ts';

const defaults = { port: 0, seed: 1, taskDurationMs: 1500, state: 'demo', pins: 'first' } as const;
type Settings = Required<DemoOptions>;

/**
 * Starts the demo cluster.
 * @throws `EADDRINUSE` when `port` is taken; nothing is left behind then
 */
export async function startDemoCluster(options: DemoOptions = {}): Promise<DemoCluster> {
  const cleanup: Cleanup = [];
  try {
    return await start({ clock: { now: () => Date.now() }, ...defaults, ...options }, cleanup);
  } catch (thrown) {
    await runAll(cleanup);
    throw thrown;
  }
}

/** Everything that was started, in reverse, each even if another fails. */
async function runAll(cleanup: Cleanup): Promise<void> {
  await Promise.allSettled(
    cleanup
      .splice(0)
      .reverse()
      .map((one) => one()),
  );
}

async function start(settings: Settings, cleanup: Cleanup): Promise<DemoCluster> {
  const { clock } = settings;
  const seed = seedOf(settings);
  const cluster = createCluster({ seed, clock, random: createRandom(settings.seed), taskDurationMs: settings.taskDurationMs });
  const files = await createDemoFiles();
  cleanup.push(() => files.remove());
  const certificates = issueCertificates(cluster);
  const api = new ApiFaults();
  const endpoints = await startEndpoints(cluster, { certificates, api, port: settings.port }, cleanup);
  const [first] = endpoints.values();
  if (first === undefined) throw new Error('a demo cluster needs at least one node');
  const key = generateOpensshKey('banksman-demo');
  const sshNodes = await startSshNodes(cluster, key.publicLine, cleanup);
  const wake = await startWakeApi(cluster);
  cleanup.push(() => wake.close());
  followNodes(cluster, endpoints, sshNodes);
  const faults = createFaults({
    cluster,
    api,
    endpoints,
    sshNodes,
    newCertificate: certificates.another,
    originalCertificate: certificates.of,
  });
  return {
    config: await writeConfig({
      cluster,
      seed,
      files,
      endpoints,
      sshNodes,
      wakeUrl: wake.url,
      clientKey: key.privateFile,
      pinEach: settings.pins === 'each',
    }),
    url: first.url,
    fingerprint: certificates.of(first.node).fingerprint,
    caFile: await files.write('ca.pem', certificates.authority.certificatePem),
    faults,
    cluster,
    authorization: Object.fromEntries(seed.access.tokens.map((token) => [token.id, `PVEAPIToken=${token.id}=${token.secret}`])),
    wakeRequests: wake.requests,
    close: () => runAll(cleanup),
  };
}

/** SECURITY: the demo's token secrets are made anew for each run. */
function seedOf({ state, clock }: Settings): ClusterSeed {
  if (state !== 'demo') return state;
  return demoSeed(clock.now(), Object.fromEntries(Object.values(demoTokens).map((id) => [id, randomUUID()])));
}

interface WakeApi {
  readonly url: string;
  /** Node names asked for, in order. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** An HTTP service that wakes nodes, as people run one beside a cluster. */
async function startWakeApi(cluster: Cluster): Promise<WakeApi> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    cluster.tasks.advance();
    const name = /^\/wake\/([^/?]+)$/.exec(request.url ?? '')?.[1] ?? '';
    const node = cluster.state.nodes.get(name);
    if (node !== undefined) {
      requests.push(node.name);
      receiveMagicPacket(cluster, node);
    }
    const body =
      node === undefined
        ? { success: false, error: `unknown machine \`${name}\`` }
        : { success: true, node: node.name, mac: wakeAddress(node) ?? null };
    response.writeHead(node === undefined ? 404 : 200, { 'Content-Type': 'application/json', Connection: 'close' });
    response.end(JSON.stringify(body));
  });
  const { port, close } = await startListener(server, {
    addresses: [loopback],
    port: 0,
    dropConnections: () => server.closeAllConnections(),
  });
  return { url: `http://${loopback}:${port}`, requests, close };
}

const protectedResources: DemoConfig['protected'] = {
  nodes: ['agent1'],
  guests: [103],
  services: ['docker'],
  addresses: ['192.168.1.61', '192.168.1.65'],
};

interface ConfigParts {
  readonly cluster: Cluster;
  readonly seed: ClusterSeed;
  readonly files: DemoFiles;
  readonly endpoints: ReadonlyMap<string, ApiEndpoint>;
  readonly sshNodes: ReadonlyMap<string, SshNode>;
  /** Of the HTTP wake-on-LAN service. */
  readonly wakeUrl: string;
  /** The client's private key file. */
  readonly clientKey: string;
  /** Whether each endpoint has a pin of its own. */
  readonly pinEach: boolean;
}

async function writeConfig(parts: ConfigParts): Promise<DemoConfig> {
  const { cluster, files, endpoints } = parts;
  const [token] = parts.seed.access.tokens;
  if (token === undefined) throw new Error('a demo cluster needs at least one token');
  const pinOf = (node: string) => cluster.certificates.nodes.get(node)?.fingerprint ?? '';
  const pins = Object.fromEntries([...endpoints.values()].map(({ url, node }) => [url, pinOf(node)]));
  const [first = ''] = Object.values(pins);
  return {
    clusters: [
      {
        name: 'demo',
        endpoints: [...endpoints.values()].map((endpoint) => endpoint.url),
        tokenId: token.id,
        tokenFile: await files.write('token', `${token.secret}\n`),
        tls: { fingerprint: parts.pinEach ? pins : first },
        ssh: await writeSshConfig(parts),
        wake: { via: ['pve', 'http'], http: `${parts.wakeUrl}/wake/{node}`, mac: wakeAddresses(cluster) },
      },
    ],
    protected: protectedResources,
  };
}

function wakeAddresses(cluster: Cluster): Record<string, string> {
  return Object.fromEntries(
    [...cluster.state.nodes.values()].flatMap((node) => {
      const mac = wakeAddress(node);
      return mac === undefined ? [] : [[node.name, mac]];
    }),
  );
}

async function writeSshConfig({ cluster, files, sshNodes, clientKey }: ConfigParts): Promise<DemoClusterConfig['ssh']> {
  const entries = [...sshNodes].map(([name, server]) => ({ name, server, ip: cluster.state.nodes.get(name)?.ip ?? '' }));
  const knownHosts = entries.map(({ server }) => `[${loopback}]:${server.port} ${server.hostKey()}\n`).join('');
  return {
    user: sshUser,
    knownHosts: await files.write('known_hosts', knownHosts),
    identityFiles: [await files.write('id_ed25519', clientKey)],
    agent: false,
    nodes: Object.fromEntries(
      entries.map(({ name, server, ip }) => [name, { host: loopback, port: server.port, aliases: [`${name}.lan`, ip] }]),
    ),
  };
}

/** The configuration (`app/config/config.ts`), as JSON: usable as `--config`. */
export interface DemoConfig {
  readonly clusters: readonly [DemoClusterConfig];
  readonly protected: {
    readonly nodes: readonly string[];
    readonly guests: readonly number[];
    readonly services: readonly string[];
    readonly addresses: readonly string[];
  };
}

export interface DemoClusterConfig {
  readonly name: string;
  /** One per node, the first on 127.0.0.1, the others on other loopback addresses where the machine has them. */
  readonly endpoints: readonly string[];
  readonly tokenId: string;
  readonly tokenFile: string;
  readonly tls: { readonly fingerprint: string | Readonly<Record<string, string>> };
  readonly ssh: {
    readonly user: string;
    readonly knownHosts: string;
    readonly identityFiles: readonly string[];
    readonly agent: false;
    readonly nodes: Readonly<Record<string, { readonly host: string; readonly port: number; readonly aliases: readonly string[] }>>;
  };
  readonly wake: { readonly via: readonly ['pve', 'http']; readonly http: string; readonly mac: Readonly<Record<string, string>> };
}

export interface DemoOptions {
  /** Port of the first API endpoint; 0 (default): any free one. A taken port rejects with `EADDRINUSE`. */
  readonly port?: number;
  /** Default: the machine's. A manual one makes tasks stand still until it is moved. */
  readonly clock?: DemoClock;
  /** Of load figures; default 1. Keys and secrets are always random. */
  readonly seed?: number;
  /** How long a start or stop takes, in ms; default 1,500. */
  readonly taskDurationMs?: number;
  /** Default `demo`. Otherwise the whole cluster; the first token of its `access` goes into the configuration. */
  readonly state?: 'demo' | ClusterSeed;
  /** What `tls.fingerprint` of the configuration pins: the first node's certificate only (default, as the README has it), or each. */
  readonly pins?: 'first' | 'each';
}

export interface DemoCluster {
  readonly config: DemoConfig;
  /** The first endpoint. */
  readonly url: string;
  /** Its certificate's SHA-256 fingerprint. */
  readonly fingerprint: string;
  /** PEM of the authority that issued all certificates, in the private directory. */
  readonly caFile: string;
  readonly faults: DemoFaults;
  /** State, tasks and access control, for tests. Call `cluster.tasks.advance()` before reading what time changes. */
  readonly cluster: Cluster;
  /** Token id → its `Authorization` header value. */
  readonly authorization: Readonly<Record<string, string>>;
  /** Requests that reached the HTTP wake-on-LAN service: node names. */
  readonly wakeRequests: readonly string[];
  /** Stops everything and removes the private directory. Twice is no error. */
  close(): Promise<void>;
}

// Starts the servers of a demo: certificates, one API endpoint and one ssh node per cluster node; and its private directory.

/** What ends everything that was started, in the order of starting. */
type Cleanup = (() => Promise<void>)[];

const loopback = '127.0.0.1';
const sshUser = 'root';

interface Certificates {
  readonly authority: Authority;
  of(node: string): Certificate;
  /** Another one for the same node, by the same authority. */
  another(node: string): Certificate;
}

/** Issues a certificate for each node, as a real cluster has them, and tells the cluster of them. */
export function issueCertificates(cluster: Cluster): Certificates {
  // Certificates are for real clients, so they live by the machine's clock.
  const authority = createAuthority(`Proxmox Virtual Environment ${cluster.state.name}`, Date.now());
  const names = [...cluster.state.nodes.keys()];
  const addresses = (node: string) => ['127.0.0.1', `127.0.0.${names.indexOf(node) + 1}`, cluster.state.nodes.get(node)?.ip ?? ''];
  const issue = (node: string) => authority.issue(node, ['localhost', node], [...new Set(addresses(node))]);
  const byNode = new Map(names.map((name) => [name, issue(name)]));
  cluster.certificates.authority = authority.certificatePem;
  for (const [name, certificate] of byNode) cluster.certificates.nodes.set(name, certificate);
  return { authority, of: (node) => byNode.get(node) ?? issue(node), another: issue };
}

interface EndpointPlan {
  readonly certificates: Certificates;
  readonly api: ApiFaults;
  /** Of the first endpoint. */
  readonly port: number;
}

/** One endpoint per node on 127.0.0.1, .2, .3: what works on 127.0.0.1 only does not work on a real cluster. */
async function startEndpoints(cluster: Cluster, plan: EndpointPlan, cleanup: Cleanup): Promise<Map<string, ApiEndpoint>> {
  const endpoints = new Map<string, ApiEndpoint>();
  for (const node of cluster.state.nodes.keys()) {
    const address = `127.0.0.${endpoints.size + 1}`;
    const endpoint = await startApiEndpoint({
      cluster,
      node,
      certificate: plan.certificates.of(node),
      faults: plan.api,
      addresses: address === loopback ? [loopback] : [address, loopback],
      port: endpoints.size === 0 ? plan.port : 0,
    });
    cleanup.push(() => endpoint.close());
    endpoints.set(node, endpoint);
  }
  return endpoints;
}

/** @param clientKey the public key that may log in */
async function startSshNodes(cluster: Cluster, clientKey: string, cleanup: Cleanup): Promise<Map<string, SshNode>> {
  const nodes = new Map<string, SshNode>();
  for (const node of cluster.state.nodes.values()) {
    const server = await startSshNode({ cluster, node, user: sshUser, clientKey, address: loopback });
    cleanup.push(() => server.close());
    nodes.set(node.name, server);
  }
  return nodes;
}

/** A node that goes down by itself (a shutdown over the API) takes its servers along. */
function followNodes(cluster: Cluster, endpoints: ReadonlyMap<string, ApiEndpoint>, sshNodes: ReadonlyMap<string, SshNode>): void {
  cluster.onNodeChange = (node) => {
    const switchTo = (up: boolean, server: ApiEndpoint | SshNode | undefined) => (up ? server?.open() : server?.close());
    // A port that was taken meanwhile leaves the node unreachable, which is what a client then sees.
    void switchTo(node.up && node.proxyUp, endpoints.get(node.name))?.catch(() => undefined);
    void switchTo(node.up, sshNodes.get(node.name))?.catch(() => undefined);
  };
}

interface DemoFiles {
  readonly directory: string;
  /** Writes a file that only its owner can read, and returns its path. */
  write(name: string, content: string): Promise<string>;
  remove(): Promise<void>;
}

/** SECURITY: the directory is made by `mkdtemp` with mode 0700, the files with 0600; nothing in it outlives `remove`. */
async function createDemoFiles(): Promise<DemoFiles> {
  const directory = await mkdtemp(join(tmpdir(), 'banksman-demo-'));
  await chmod(directory, 0o700);
  return {
    directory,
    async write(name, content) {
      const path = join(directory, name);
      await writeFile(path, content, { mode: 0o600 });
      await chmod(path, 0o600);
      return path;
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
