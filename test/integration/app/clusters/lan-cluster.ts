/** A cluster as it is in a network: every node answers at an address of its own on the port of the first, one of them over IPv6, too. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createWebServer } from 'node:https';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { createAuthority } from '#demo/certificate';
import { type ClusterSeed, type DemoCluster, demoTokens, startDemoCluster } from '#demo/index';
import { demoSeed } from '#demo/initial-state';

export interface LanCluster {
  readonly demo: DemoCluster;
  /** Of every node's API. */
  readonly port: number;
  readonly secret: string;
  /** The first node, by IPv6. */
  readonly overIpv6: string;
  close(): Promise<void>;
}

/** @param change what is other than in the demo */
export async function startLanCluster(change: (seed: ClusterSeed) => Partial<ClusterSeed> = () => ({})): Promise<LanCluster> {
  const seed = demoSeed(Date.now(), Object.fromEntries(Object.values(demoTokens).map((id) => [id, randomUUID()])));
  const nodes = seed.nodes.map((node, index) => ({ ...node, ip: `127.0.0.${index + 1}` }));
  const demo = await startDemoCluster({ state: { ...seed, nodes, ...change(seed) } });
  const [at, ...others] = demo.config.clusters[0].endpoints.map((url) => new URL(url));
  const first = Number(at?.port);
  const relays = await Promise.all([
    relay({ host: '::1', port: first, ipv6Only: true }, at),
    ...others.map((to, index) => relay({ host: `127.0.0.${index + 2}`, port: first }, to)),
  ]);
  return {
    demo,
    port: first,
    secret: demo.authorization[demoTokens.ops]?.replace(/^.*=/, '') ?? '',
    overIpv6: `[::1]:${first}`,
    close: async () => {
      for (const end of relays) await end();
      await demo.close();
    },
  };
}

/** A web server of another kind, whose certificate nobody vouches for. */
export async function startOtherServer(): Promise<{ readonly address: string; close(): Promise<void> }> {
  const { certificatePem, privateKeyPem } = createAuthority('nobody', Date.now()).issue('nas', [], ['127.0.0.1']);
  const server = createWebServer({ cert: certificatePem, key: privateKeyPem }, (_request, response) => response.writeHead(404).end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** Bytes as they come: the certificate is the node's own. */
async function relay(at: { host: string; port: number; ipv6Only?: boolean }, to: URL | undefined): Promise<() => Promise<void>> {
  const open = new Set<Socket>();
  const server = createServer((from) => {
    const there = dial(Number(to?.port), to?.hostname ?? '127.0.0.1');
    for (const [one, other] of [
      [from, there],
      [there, from],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(at, resolve));
  return async () => {
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  };
}
