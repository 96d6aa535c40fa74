/** The demo's wake-on-LAN service over HTTP: `/wake/{node}`, GET or POST, as the one in many home labs. */
import { type LoopbackServer, startLoopbackServer } from './loopback-http.ts';
import type { Cluster } from './pve/cluster.ts';
import { receiveMagicPacket, wakeAddress } from './pve/methods/nodes.ts';

export interface WakeApi extends LoopbackServer {
  /** Node names asked for, in order. */
  readonly requests: readonly string[];
}

export async function startWakeApi(cluster: Cluster): Promise<WakeApi> {
  const requests: string[] = [];
  const server = await startLoopbackServer((request) => {
    cluster.tasks.advance();
    const name = /^\/wake\/([^/?]+)$/.exec(request.url ?? '')?.[1];
    const node = name === undefined ? undefined : cluster.state.nodes.get(decodeURIComponent(name));
    if (node === undefined) return { status: 404, body: { success: false, error: `unknown machine \`${name ?? ''}\`` } };
    requests.push(node.name);
    receiveMagicPacket(cluster, node);
    return { status: 200, body: { success: true, node: node.name, mac: wakeAddress(node) ?? null } };
  });
  return { ...server, requests };
}
