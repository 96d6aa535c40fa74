/** All three connectors against the embedded demo cluster, configured as a user would. */
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createProxmoxClient, type ProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { createNodeShell } from '#connectors/ssh/create-node-shell';
import { createWaker } from '#connectors/wake-on-lan/create-waker';
import { type DemoCluster, startDemoCluster } from '#demo/index';
import { systemClock } from '#execution/deadline';
import { useCleanup } from './cleanup.ts';
import { describeReads } from './proxmox-suite.ts';
import { memoryLog, never } from './pve-server.ts';

const start = useCleanup();
let demo: DemoCluster;
beforeAll(async () => {
  demo = await startDemoCluster({ taskDurationMs: 50 });
});
afterEach(() => demo.faults.clear());
afterAll(() => demo?.close());

const common = { clock: systemClock, log: memoryLog() };

function client(endpoints?: readonly string[], timeoutMs = 15_000): ProxmoxClient {
  const [config] = demo.config.clusters;
  const token = async () => readFile(config.tokenFile, 'utf8');
  return start(
    createProxmoxClient({
      name: config.name,
      endpoints: endpoints ?? config.endpoints,
      tokenId: config.tokenId,
      token,
      tls: { kind: 'pin', fingerprint: config.tls.fingerprint },
      timeoutMs,
      ...common,
    }),
  );
}

function shell(timeoutMs = 30_000) {
  const [{ name, ssh }] = demo.config.clusters;
  return start(createNodeShell({ cluster: name, ...ssh, timeoutMs, ...common }));
}

const web = { node: 'pve', vmid: 100, guestType: 'qemu' } as const;

async function ended(pve: ProxmoxClient, upid: string) {
  return vi.waitFor(async () => {
    const status = await pve.taskStatus(upid, never);
    if (status.running) throw new Error('still running');
    return status;
  });
}

describe('reads', () => {
  describeReads(client);
});

describe('actions', () => {
  it('run, and what they change is changed', async () => {
    const pve = client();
    const stop = await pve.changeGuest(web, 'stop', never);
    await expect(ended(pve, stop)).resolves.toMatchObject({ running: false, exitStatus: 'OK', node: 'pve' });
    await expect(pve.guestStatus(web, never)).resolves.toMatchObject({ status: 'stopped' });
    const again = await pve.changeGuest(web, 'start', never);
    await expect(ended(pve, again)).resolves.toMatchObject({ exitStatus: 'OK' });
    await expect(pve.guestStatus(web, never)).resolves.toMatchObject({ status: 'running' });
  });

  it('that fail in their task are reported by its exit status', async () => {
    const pve = client();
    const locked = (await pve.guests(never)).find((guest) => guest.vmid === 104);
    const upid = await pve.changeGuest({ node: locked?.node ?? '', vmid: 104, guestType: 'qemu' }, 'start', never);
    await expect(ended(pve, upid)).resolves.toMatchObject({ exitStatus: expect.stringContaining('locked') as string });
  });

  it('without quorum are refused', async () => {
    demo.faults.loseQuorum();
    const refused = client().changeGuest({ node: 'Home', vmid: 101, guestType: 'qemu' }, 'start', never);
    await expect(refused).rejects.toMatchObject({ code: 'pve_no_quorum' });
  });
});

describe('faults', () => {
  it('a node that is down is said to be', async () => {
    await demo.faults.nodeDown('agent1');
    const pve = client();
    await expect(pve.nodeStatus('agent1', never)).rejects.toMatchObject({ code: 'pve_node_unreachable' });
    await expect(pve.clusterStatus(never)).resolves.toContainEqual(expect.objectContaining({ name: 'agent1', online: false }));
    await expect(pve.guests(never)).resolves.toContainEqual(expect.objectContaining({ vmid: 103, node: 'agent1' }));
  });

  it('the first endpoint down leaves the others', async () => {
    const pve = client();
    await pve.version(never);
    await vi.waitFor(async () => expect((await pve.endpoints())[1]?.certificate).toBe('unseen'));
    await demo.faults.nodeDown('Home');
    await expect(pve.clusterStatus(never)).resolves.toContainEqual(expect.objectContaining({ name: 'Home', online: false }));
  });

  it('a revoked token', async () => {
    const [{ tokenId }] = demo.config.clusters;
    demo.faults.revokeToken(tokenId);
    await expect(client().nodes(never)).rejects.toMatchObject({
      code: 'pve_unauthorized',
      next: expect.stringContaining(tokenId) as string,
    });
  });

  it('a certificate that was swapped', async () => {
    demo.faults.swapCertificate();
    await expect(client().nodes(never)).rejects.toMatchObject({ code: 'pve_tls_fingerprint' });
  });
});

describe('the shell', () => {
  it('runs a command on each node, with the host keys and the key of the configuration', async () => {
    const nodes = Object.keys(demo.config.clusters[0].ssh.nodes);
    const sh = shell();
    for (const node of nodes) await expect(sh.exec(node, 'hostname', never)).resolves.toMatchObject({ stdout: `${node}\n`, exitCode: 0 });
  });

  it.each([
    ['changeHostKey', 'ssh_host_changed'],
    ['refuseAuth', 'ssh_auth_failed'],
    ['refuseChannels', 'ssh_channel_failed'],
    ['refuseConnections', 'ssh_unreachable'],
  ] as const)('meets %s with %s', async (fault, code) => {
    await demo.faults.ssh[fault]('pve');
    await expect(shell().exec('pve', 'hostname', never)).rejects.toMatchObject({ code });
  });

  it('gives up on a command that hangs', async () => {
    demo.faults.ssh.hang('pve');
    await expect(shell(1_000).exec('pve', 'hostname', never)).rejects.toMatchObject({ code: 'ssh_timeout' });
  });
});

describe('the waker', () => {
  function waker() {
    const [{ wake }] = demo.config.clusters;
    const pve = client();
    return createWaker({
      via: wake.via,
      pve: (node, signal) => pve.wakeOnLan(node, signal),
      http: wake.http,
      mac: {},
      timeoutMs: 15_000,
      ...common,
    });
  }

  it('asks the cluster first', async () => {
    await demo.faults.nodeDown('pve');
    await expect(waker().wake('pve', never)).resolves.toMatchObject({ via: 'pve' });
  });

  it('and the service next', async () => {
    await demo.faults.nodeDown('pve');
    demo.faults.removeWakeAddress('pve');
    await expect(waker().wake('pve', never)).resolves.toMatchObject({ via: 'http' });
    expect(demo.wakeRequests).toContain('pve');
  });
});
