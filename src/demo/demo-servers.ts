/** Starts the servers of a demo: certificates, one API endpoint and one ssh node per cluster node. */
import { type Authority, type Certificate, createAuthority } from './certificate.ts';
import { type ApiEndpoint, startApiEndpoint } from './pve/api-endpoint.ts';
import type { ApiFaults } from './pve/api-faults.ts';
import type { Cluster } from './pve/cluster.ts';
import { type SshNode, startSshNode } from './ssh/node-server.ts';

/** What ends everything that was started, in the order of starting. */
export type Cleanup = (() => Promise<void>)[];

export const loopback = '127.0.0.1';
export const sshUser = 'root';

export interface Certificates {
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

export interface EndpointPlan {
  readonly certificates: Certificates;
  readonly api: ApiFaults;
  /** Of the first endpoint. */
  readonly port: number;
}

/** One endpoint per node on 127.0.0.1, .2, .3: what works on 127.0.0.1 only does not work on a real cluster. */
export async function startEndpoints(cluster: Cluster, plan: EndpointPlan, cleanup: Cleanup): Promise<Map<string, ApiEndpoint>> {
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
export async function startSshNodes(cluster: Cluster, clientKey: string, cleanup: Cleanup): Promise<Map<string, SshNode>> {
  const nodes = new Map<string, SshNode>();
  for (const node of cluster.state.nodes.values()) {
    const server = await startSshNode({ cluster, node, user: sshUser, clientKey, address: loopback });
    cleanup.push(() => server.close());
    nodes.set(node.name, server);
  }
  return nodes;
}

/** A node that goes down by itself (a shutdown over the API) takes its servers along. */
export function followNodes(cluster: Cluster, endpoints: ReadonlyMap<string, ApiEndpoint>, sshNodes: ReadonlyMap<string, SshNode>): void {
  cluster.onNodeChange = (node) => {
    const switchTo = (up: boolean, server: ApiEndpoint | SshNode | undefined) => (up ? server?.open() : server?.close());
    // A port that was taken meanwhile leaves the node unreachable, which is what a client then sees.
    void switchTo(node.up && node.proxyUp, endpoints.get(node.name))?.catch(() => undefined);
    void switchTo(node.up, sshNodes.get(node.name))?.catch(() => undefined);
  };
}
