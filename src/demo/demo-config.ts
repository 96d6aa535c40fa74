/** Writes the files that the demo's configuration points to, and the configuration. */
import type { DemoFiles } from './demo-files.ts';
import { loopback, sshUser } from './demo-servers.ts';
import type { DemoClusterConfig, DemoConfig } from './demo-types.ts';
import type { ApiEndpoint } from './pve/api-endpoint.ts';
import type { Cluster } from './pve/cluster.ts';
import type { ClusterSeed } from './pve/cluster-seed.ts';
import { wakeAddress } from './pve/methods/nodes.ts';
import type { SshNode } from './ssh/node-server.ts';

const protectedResources: DemoConfig['protected'] = {
  nodes: ['agent1'],
  guests: [103],
  services: ['docker'],
  addresses: ['192.168.1.61', '192.168.1.65'],
};

export interface ConfigParts {
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

export async function writeConfig(parts: ConfigParts): Promise<DemoConfig> {
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
