/** The demo as a whole: its configuration, its private files, its ports, its end. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { type DemoCluster, type DemoOptions, demoTokens, startDemoCluster } from '#demo/index';
import { call, data } from './api-client.ts';

const open: DemoCluster[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((demo) => demo.close()));
});

async function start(options: DemoOptions = {}): Promise<DemoCluster> {
  const demo = await startDemoCluster(options);
  open.push(demo);
  return demo;
}

describe('the configuration', () => {
  it('is one that the product takes, also after a round trip through JSON', async () => {
    const demo = await start();
    const config = parseConfig(JSON.parse(JSON.stringify(demo.config)), 'the demo');
    expect(config.clusters[0]).toMatchObject({ name: 'demo', tokenId: demoTokens.ops });
    expect(config.protected).toMatchObject({
      nodes: ['agent1'],
      guests: [103],
      services: ['docker'],
      addresses: ['192.168.1.61', '192.168.1.65'],
    });
  });

  it('names three endpoints, each with a loopback address of its own', async () => {
    const demo = await start();
    const [cluster] = demo.config.clusters;
    expect(cluster.endpoints.map((url) => new URL(url).hostname)).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.3']);
    const local = await Promise.all(
      cluster.endpoints.map(async (endpoint) => {
        const rows = await data<readonly { readonly name: string; readonly local?: number }[]>(demo, {
          endpoint,
          path: '/cluster/status',
          authorization: demo.authorization[demoTokens.ops],
        });
        return rows.find((row) => row.local === 1)?.name;
      }),
    );
    expect(local).toEqual(['Home', 'pve', 'agent1']);
  });

  it('holds a token, pin and addresses that work', async () => {
    const demo = await start();
    const [cluster] = demo.config.clusters;
    const secret = readFileSync(cluster.tokenFile, 'utf8').trim();
    expect((await call(demo, { path: '/version', authorization: `PVEAPIToken=${cluster.tokenId}=${secret}` })).status).toBe(200);
    expect(cluster.tls.fingerprint).toBe(demo.fingerprint);
    expect(await fingerprintOf(cluster.endpoints[0] ?? '')).toBe(demo.fingerprint);
    const nodes = await data<readonly { readonly name: string; readonly ip: string }[]>(demo, {
      path: '/cluster/status',
      authorization: demo.authorization[demoTokens.ops],
    });
    expect(
      nodes
        .slice(1)
        .map((node) => node.ip)
        .sort(),
    ).toEqual(['192.168.1.50', '192.168.1.60', '192.168.1.61']);
    expect(cluster.ssh.nodes['agent1']?.aliases).toEqual(['agent1.lan', '192.168.1.61']);
  });

  it('pins each endpoint by itself where that is asked for', async () => {
    const demo = await start({ pins: 'each' });
    const [cluster] = demo.config.clusters;
    const pins = cluster.tls.fingerprint as Readonly<Record<string, string>>;
    expect(new Set(Object.values(pins)).size).toBe(3);
    for (const url of cluster.endpoints) expect(await fingerprintOf(url)).toBe(pins[url]);
    const nodes = await data<readonly { readonly ssl_fingerprint: string }[]>(demo, {
      path: '/nodes',
      authorization: demo.authorization[demoTokens.ops],
    });
    expect(nodes.map((node) => node.ssl_fingerprint).sort()).toEqual(Object.values(pins).sort());
    expect(() => parseConfig(demo.config, 'the demo')).not.toThrow();
  });
});

describe('private files', () => {
  it('are for their owner only, and gone afterwards', async () => {
    const demo = await start();
    const [cluster] = demo.config.clusters;
    const directory = dirname(cluster.tokenFile);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const file of [cluster.tokenFile, cluster.ssh.knownHosts, ...cluster.ssh.identityFiles, demo.caFile])
      expect(statSync(file).mode & 0o777).toBe(0o600);
    await demo.close();
    await demo.close();
    expect(existsSync(directory)).toBe(false);
    await expect(call({ ...demo, caFile: '/dev/null' }, { path: '/version' })).rejects.toThrow(/ECONNREFUSED/);
  });

  it('hold other secrets each time', async () => {
    const [one, other] = [await start(), await start()];
    expect(one.authorization[demoTokens.ops]).not.toBe(other.authorization[demoTokens.ops]);
    expect(one.fingerprint).not.toBe(other.fingerprint);
  });
});

describe('the port', () => {
  it('is the one asked for; a taken one is refused and nothing is left behind', async () => {
    const first = await start();
    const port = Number(new URL(first.url).port);
    await expect(startDemoCluster({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await first.close();
    const second = await start({ port });
    expect(second.url).toBe(`https://127.0.0.1:${port}`);
  });

  it('need not be free on the other addresses', async () => {
    const blocker: Server = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.2', resolve));
    const demo = await start();
    expect(demo.config.clusters[0].endpoints).toHaveLength(3);
    await new Promise((resolve) => blocker.close(resolve));
  });
});

describe('the first state', () => {
  it('has something to stop and something to refuse', async () => {
    const demo = await start();
    const guests = [...demo.cluster.state.guests.values()];
    expect(guests.filter((guest) => guest.running).map((guest) => guest.vmid)).toEqual([100, 103, 200, 201]);
    expect(guests.map((guest) => `${guest.kind}/${guest.vmid}@${guest.node}`)).toEqual([
      'qemu/100@pve',
      'qemu/101@Home',
      'qemu/103@agent1',
      'qemu/104@pve',
      'qemu/105@agent1',
      'lxc/200@Home',
      'lxc/201@pve',
      'qemu/900@pve',
    ]);
  });

  it('is the same for the same seed, load figures included', async () => {
    const clock = { now: () => Date.UTC(2026, 10, 21) };
    const ask = async (seed: number) => {
      const demo = await start({ clock, seed });
      return data<readonly object[]>(demo, { path: '/cluster/resources', authorization: demo.authorization[demoTokens.ops] });
    };
    expect(await ask(7)).toEqual(await ask(7));
    expect(await ask(7)).not.toEqual(await ask(8));
  });

  it('takes real time, by the machine’s clock', async () => {
    const demo = await start({ taskDurationMs: 30 });
    const authorization = demo.authorization[demoTokens.ops];
    const upid = await data<string>(demo, { method: 'POST', path: '/nodes/pve/lxc/201/status/stop', authorization });
    const seen: unknown[] = [];
    for (let task: Record<string, unknown> = {}; task['status'] !== 'stopped'; seen.push(task['status'])) {
      task = await data<Record<string, unknown>>(demo, { path: `/nodes/pve/tasks/${encodeURIComponent(upid)}/status`, authorization });
    }
    expect(seen.at(-1)).toBe('stopped');
    expect(demo.cluster.state.guests.get(201)?.running).toBe(false);
  });
});

function fingerprintOf(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
