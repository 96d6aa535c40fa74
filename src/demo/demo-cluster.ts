/**
 * The embedded demo cluster: a PVE API emulator on HTTPS and ssh nodes over one shared state, all on loopback and in this process.
 * It is loaded only when asked for, and takes everything with it when it is closed.
 */
import { randomUUID } from 'node:crypto';
import { type Authority, type Certificate, createAuthority } from './certificate.ts';
import { startControlApi } from './control-api.ts';
import { createFaults } from './demo-faults.ts';
import { createDemoFiles, type DemoFiles } from './demo-files.ts';
import type { DemoCluster, DemoClusterConfig, DemoConfig, DemoOptions } from './demo-types.ts';
import { demoSeed, demoTokens } from './initial-state.ts';
import { type ApiEndpoint, startApiEndpoint } from './pve/api-endpoint.ts';
import { ApiFaults } from './pve/api-faults.ts';
import { type Cluster, createCluster } from './pve/cluster.ts';
import type { ClusterSeed } from './pve/cluster-seed.ts';
import { wakeAddress } from './pve/methods/nodes.ts';
import { createRandom } from './random.ts';
import { type SshNode, startSshNode } from './ssh/node-server.ts';
import { generateOpensshKey } from './ssh/openssh-key.ts';
import { startWakeApi, type WakeApi } from './wake-api.ts';

const defaultTaskDurationMs = 1500;
const loopback = '127.0.0.1';
const sshUser = 'root';
const protectedResources: DemoConfig['protected'] = { nodes: ['agent1'], guests: [103], services: ['docker'], addresses: ['192.168.1.61', '192.168.1.65'] };

/**
 * Starts the demo cluster.
 * @throws `EADDRINUSE` when `port` is taken; nothing is left behind then
 */
export async function startDemoCluster(options: DemoOptions = {}): Promise<DemoCluster> {
  const cleanup: (() => Promise<void>)[] = [];
  try {
    return await start(options, cleanup);
  } catch (thrown) {
    await runAll(cleanup);
    throw thrown;
  }
}

/** Everything that was started, in reverse, each even if another fails. */
async function runAll(cleanup: (() => Promise<void>)[]): Promise<void> {
  await Promise.allSettled(cleanup.splice(0).reverse().map((one) => one()));
}

async function start(options: DemoOptions, cleanup: (() => Promise<void>)[]): Promise<DemoCluster> {
  const clock = options.clock ?? { now: () => Date.now() };
  const secrets = Object.fromEntries(Object.values(demoTokens).map((id) => [id, randomUUID()]));
  const seed = options.state === undefined || options.state === 'demo' ? demoSeed(clock.now(), secrets) : options.state;
  const cluster = createCluster({ seed, clock, random: createRandom(options.seed ?? 1), taskDurationMs: options.taskDurationMs ?? defaultTaskDurationMs });
  const files = await createDemoFiles();
  cleanup.push(() => files.remove());

  const certificates = issueCertificates(cluster, options.certificatePerNode ?? false);
  const api = new ApiFaults();
  const endpoints = await startEndpoints(cluster, { certificates, api, port: options.port ?? 0 }, cleanup);
  const clientKey = generateOpensshKey('banksman-demo');
  const sshNodes = await startSshNodes(cluster, clientKey.publicLine, cleanup);
  const wake = await startWakeApi(cluster);
  cleanup.push(() => wake.close());
  followNodes(cluster, endpoints, sshNodes);

  const faults = createFaults({ cluster, api, endpoints, sshNodes, newCertificate: certificates.another, originalCertificate: certificates.of });
  const control = options.control === true ? await startControlApi(faults, cluster) : undefined;
  if (control !== undefined) cleanup.push(() => control.close());

  const caFile = await files.write('ca.pem', certificates.authority.certificatePem);
  const config = await writeConfig({ cluster, seed, files, endpoints, sshNodes, wake, clientKey: clientKey.privateFile, perNode: options.certificatePerNode ?? false });
  const [first] = endpoints.values();
  if (first === undefined) throw new Error('a demo cluster needs at least one node');
  return {
    config,
    url: first.url,
    fingerprint: certificates.of(first.node).fingerprint,
    caFile,
    faults,
    cluster,
    authorization: Object.fromEntries(seed.access.tokens.map((token) => [token.id, `PVEAPIToken=${token.id}=${token.secret}`])),
    wakeRequests: wake.requests,
    controlUrl: control?.url,
    close: () => runAll(cleanup),
  };
}

interface Certificates {
  readonly authority: Authority;
  of(node: string): Certificate;
  another(node: string): Certificate;
}

function issueCertificates(cluster: Cluster, perNode: boolean): Certificates {
  // Certificates are for real clients, so they live by the machine's clock.
  const authority = createAuthority(`Proxmox Virtual Environment ${cluster.state.name}`, Date.now());
  const names = [...cluster.state.nodes.keys()];
  const addresses = [...names.map((_, index) => `127.0.0.${index + 1}`), ...[...cluster.state.nodes.values()].map((node) => node.ip)];
  const issue = (node: string) => authority.issue(node, ['localhost', ...(perNode ? [node] : names)], addresses);
  const shared = issue(names[0] ?? 'localhost');
  const byNode = new Map(names.map((name) => [name, perNode ? issue(name) : shared]));
  for (const [name, certificate] of byNode) cluster.fingerprints.set(name, certificate.fingerprint);
  return { authority, of: (node) => byNode.get(node) ?? shared, another: issue };
}

interface EndpointPlan {
  readonly certificates: Certificates;
  readonly api: ApiFaults;
  readonly port: number;
}

/** One endpoint per node on 127.0.0.1, .2, .3: what works on 127.0.0.1 only does not work on a real cluster. */
async function startEndpoints(cluster: Cluster, plan: EndpointPlan, cleanup: (() => Promise<void>)[]): Promise<Map<string, ApiEndpoint>> {
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

async function startSshNodes(cluster: Cluster, clientKey: string, cleanup: (() => Promise<void>)[]): Promise<Map<string, SshNode>> {
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
    for (const server of [endpoints.get(node.name), sshNodes.get(node.name)]) {
      // A port that was taken meanwhile leaves the node unreachable, which is what a client then sees.
      void (node.up ? server?.open() : server?.close())?.catch(() => undefined);
    }
  };
}

interface ConfigParts {
  readonly cluster: Cluster;
  readonly seed: ClusterSeed;
  readonly files: DemoFiles;
  readonly endpoints: ReadonlyMap<string, ApiEndpoint>;
  readonly sshNodes: ReadonlyMap<string, SshNode>;
  readonly wake: WakeApi;
  readonly clientKey: string;
  readonly perNode: boolean;
}

async function writeConfig(parts: ConfigParts): Promise<DemoConfig> {
  const { cluster, files, endpoints, wake } = parts;
  const [token] = parts.seed.access.tokens;
  if (token === undefined) throw new Error('a demo cluster needs at least one token');
  const [fingerprint = ''] = cluster.fingerprints.values();
  const pins = Object.fromEntries([...endpoints.values()].map((endpoint) => [endpoint.url, cluster.fingerprints.get(endpoint.node) ?? '']));
  return {
    clusters: [
      {
        name: 'demo',
        endpoints: [...endpoints.values()].map((endpoint) => endpoint.url),
        tokenId: token.id,
        tokenFile: await files.write('token', `${token.secret}\n`),
        tls: { fingerprint: parts.perNode ? pins : fingerprint },
        ssh: await writeSshConfig(parts),
        wake: { via: ['pve', 'http'], http: `${wake.url}/wake/{node}`, mac: wakeAddresses(cluster) },
      },
    ],
    protected: protectedResources,
  };
}

function wakeAddresses(cluster: Cluster): Record<string, string> {
  return Object.fromEntries([...cluster.state.nodes.values()].flatMap((node) => {
    const mac = wakeAddress(node);
    return mac === undefined ? [] : [[node.name, mac]];
  }));
}

async function writeSshConfig({ cluster, files, sshNodes, clientKey }: ConfigParts): Promise<DemoClusterConfig['ssh']> {
  const entries = [...sshNodes].map(([name, server]) => ({ name, server, ip: cluster.state.nodes.get(name)?.ip ?? '' }));
  const knownHosts = entries.map(({ server }) => `[${loopback}]:${server.port} ${server.hostKey()}\n`).join('');
  return {
    user: sshUser,
    knownHosts: await files.write('known_hosts', knownHosts),
    identityFiles: [await files.write('id_ed25519', clientKey)],
    agent: false,
    nodes: Object.fromEntries(entries.map(({ name, server, ip }) => [name, { host: loopback, port: server.port, aliases: [`${name}.lan`, ip] }])),
  };
}
