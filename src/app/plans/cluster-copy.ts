/** A cluster's copy in memory, behind the client that speaks to the real one: what plans are rehearsed on. */
import { createTwinPort } from '#connectors/proxmox/twin-port';
import { Fault } from '#kernel/errors';
import type { LiveReads } from '#kernel/ports/live-reads';
import type { ClusterCopy } from '#pipeline/deps';

export async function copyCluster(reads: LiveReads, name: string): Promise<ClusterCopy> {
  const { openCopy } = await import('./twin.ts');
  const { ask, clock, settle } = openCopy(reads);
  const api = createTwinPort(ask, { name, clock });
  return { access: { api, shell: { exec: nowhere }, waker: { wake: nowhere } }, clock, settle };
}

async function nowhere(): Promise<never> {
  throw new Fault('not_rehearsed', 'this cannot be rehearsed: it leaves the API of the cluster', { audience: 'user' });
}
