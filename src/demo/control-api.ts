/**
 * Faults from another process: `POST {controlUrl}` with `{"fault":"nodeDown","arguments":["pve"]}`; ssh faults as `ssh.hang`.
 * SECURITY: only with `control: true`, on loopback, under a path that nobody can guess; it can break the demo and reach nothing else.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { DemoFaults } from './demo-types.ts';
import { type LoopbackServer, startLoopbackServer } from './loopback-http.ts';
import type { Cluster } from './pve/cluster.ts';

const names = [
  'api',
  'nodeDown',
  'nodeUp',
  'proxyDown',
  'proxyUp',
  'loseQuorum',
  'regainQuorum',
  'revokeToken',
  'expireToken',
  'swapCertificate',
  'taskNeverEnds',
  'taskFails',
  'taskWarns',
  'guestIgnoresShutdown',
  'haStalls',
  'removeWakeAddress',
  'clear',
] as const;
const sshNames = ['changeHostKey', 'refuseAuth', 'refuseConnections', 'refuseChannels', 'hang'] as const;

/** `GET` on the returned URL answers with guests, nodes and tasks as they are. */
export async function startControlApi(faults: DemoFaults, cluster: Cluster): Promise<LoopbackServer> {
  const path = `/${randomBytes(24).toString('hex')}`;
  const server = await startLoopbackServer(async (request, body) => {
    if (!samePath(request.url ?? '', path)) return { status: 404, body: { error: 'not found' } };
    if (request.method === 'GET') return { status: 200, body: summary(cluster) };
    const { fault, arguments: given = [] } = JSON.parse(body) as { readonly fault: string; readonly arguments?: readonly unknown[] };
    await apply(faults, fault, given);
    return { status: 200, body: { ok: true } };
  });
  return { ...server, url: server.url + path };
}

function samePath(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

async function apply(faults: DemoFaults, name: string, given: readonly unknown[]): Promise<void> {
  const plain = names.find((one) => one === name);
  const ssh = sshNames.find((one) => `ssh.${one}` === name);
  // The other process is a test of ours: its arguments are checked by the switches, not by type.
  const run = (plain === undefined ? (ssh === undefined ? undefined : faults.ssh[ssh]) : faults[plain]) as
    | ((...args: readonly unknown[]) => unknown)
    | undefined;
  if (run === undefined)
    throw new Error(`no fault \`${name}\`; there are ${[...names, ...sshNames.map((one) => `ssh.${one}`)].join(', ')}`);
  await run.apply(faults, [...given]);
}

function summary(cluster: Cluster): object {
  cluster.tasks.advance();
  return {
    nodes: [...cluster.state.nodes.values()].map(({ name, up }) => ({ name, up })),
    guests: [...cluster.state.guests.values()].map(({ vmid, node, running }) => ({ vmid, node, running })),
    tasks: cluster.tasks.list().map(({ upid, type, id, user, exitstatus }) => ({ upid, type, id, user, exitstatus: exitstatus ?? null })),
  };
}
