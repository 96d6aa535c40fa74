/** The cluster's own rows, asked for when a call names a guest, node or service. */
import { canonicalAddress } from '#kernel/address';
import { Fault } from '#kernel/errors';
import type { ClusterStatusRow } from '#kernel/ports/cluster';
import type { Inventory } from '#policy/resolve-target';
import type { ConfiguredCluster } from './deps.ts';

/**
 * @param needsAddresses whether addresses are protected: then a token that may not see the nodes' own is refused, else they are left out
 * @throws {Fault} why the cluster cannot be asked
 */
export async function takeInventory(
  cluster: string,
  configured: ConfiguredCluster,
  { needsAddresses, signal }: { readonly needsAddresses: boolean; readonly signal: AbortSignal },
): Promise<Inventory> {
  const { api } = configured.access;
  // Rights on one node are enough to read it: the status of the cluster takes rights on all of it.
  const none = (thrown: unknown): readonly ClusterStatusRow[] => {
    if (!needsAddresses && thrown instanceof Fault && thrown.code === 'pve_forbidden') return [];
    throw thrown;
  };
  const [nodes, status, guests] = await Promise.all([api.nodes(signal), api.clusterStatus(signal).catch(none), api.guests(signal)]);
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
