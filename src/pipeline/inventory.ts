/** The cluster's own rows, asked for when a call names a guest, node or service. */
import { canonicalAddress } from '#kernel/address';
import type { Inventory } from '#policy/resolve-target';
import type { ConfiguredCluster } from './deps.ts';

export async function takeInventory(cluster: string, configured: ConfiguredCluster, signal: AbortSignal): Promise<Inventory> {
  const { api } = configured.access;
  const [nodes, status, guests] = await Promise.all([api.nodes(signal), api.clusterStatus(signal), api.guests(signal)]);
  const addressOf = new Map(status.filter((row) => row.type === 'node' && row.ip !== undefined).map((row) => [row.name, row.ip ?? '']));
  return {
    cluster,
    nodes: nodes.map((row) => {
      const aliases = configured.aliases.get(row.node) ?? [];
      const known = [addressOf.get(row.node) ?? '', ...aliases].map((name) => canonicalAddress(name));
      return { node: row.node, online: row.status === 'online', addresses: known.filter((address) => address !== undefined), aliases };
    }),
    guests,
  };
}
