/** What a real cluster does to a client that trusts it: rows in any order, nodes with certificates of their own, HA, deaths mid-task. */
import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { demoTokens, startDemoCluster } from '#demo/index';
import { data } from './api-client.ts';
import { ask, clock, demo, line, post, type Row, rows, send, type Token, taskOf } from './fresh-demo.ts';

const sorted = (values: readonly unknown[]) => values.map(String).sort();

describe('the order of rows', () => {
  it.each(['/cluster/resources?type=vm', '/nodes', '/nodes/pve/storage', '/nodes/pve/qemu'])(
    'changes from call to call: %s',
    async (path) => {
      const orders = new Set<string>();
      const contents = new Set<string>();
      for (let round = 0; round < 12; round += 1) {
        const ids = (await rows(path)).map((row) => String(row['id'] ?? row['storage'] ?? row['vmid']));
        orders.add(ids.join());
        contents.add([...ids].sort().join());
      }
      expect(orders.size).toBeGreaterThan(1);
      expect(contents.size).toBe(1);
    },
  );

  it('is the same again with the same seed', async () => {
    const again = await startDemoCluster({ clock, seed: 1 });
    const path = '/cluster/resources?type=vm';
    const authorization = again.authorization[demoTokens.root];
    const second = await data<readonly Row[]>(again, { path, authorization });
    expect((await rows(path)).map((row) => row['id'])).toEqual(second.map((row) => row['id']));
    await again.close();
  });
});

describe('names and indexes', () => {
  it('offers the next id as text', async () => {
    expect(await data(demo, { path: '/cluster/nextid', authorization: demo.authorization[demoTokens.nobody] })).toBe('102');
  });

  it.each([
    ['/nodes/no%20such/status', "501 Method 'GET /nodes/no such/status' not implemented"],
    ['/nodes/nosuch/status', "500 hostname lookup 'nosuch' failed - failed to get address info for: nosuch: Name or service not known"],
    // The name resolves whatever its case, but no certificate is on file under it.
    ['/nodes/PVE/status', '596 tls_process_server_certificate: certificate verify failed'],
    ['/nodes/home/status', '596 tls_process_server_certificate: certificate verify failed'],
  ])('%s: %s', async (path, expected) => {
    expect(line(await ask(path))).toBe(expected);
  });

  it.each([
    ['qemu', 'qemu-server', 'status'],
    ['lxc', 'lxc', 'status'],
    ['lxc', 'lxc', ''],
  ])('reads the configuration before it tells what lies below a guest: %s %s', async (kind, folder, rest) => {
    expect(line(await ask(`/nodes/pve/${kind}/999/${rest}`))).toBe(`500 Configuration file 'nodes/pve/${folder}/999.conf' does not exist`);
  });

  it.each(['/', '/cluster', '/access', '/nodes/pve', '/nodes/pve/qemu/999', '/nodes/pve/qemu/100/status'])(
    'tells anybody what lies below %s',
    async (path) => {
      expect((await rows(path, 'nobody')).length).toBeGreaterThan(4);
    },
  );
});

function presented(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

describe('certificates', () => {
  it('are of each node its own, while the configuration pins the first', async () => {
    const { endpoints, tls } = demo.config.clusters[0];
    const shown = await Promise.all(endpoints.map(presented));
    expect(new Set(shown).size).toBe(3);
    expect(tls.fingerprint).toBe(shown[0]);
  });

  it('are told of by every node, in three ways', async () => {
    const { endpoints } = demo.config.clusters[0];
    const shown = sorted(await Promise.all(endpoints.map(presented)));
    expect(sorted((await rows('/nodes', 'nobody')).map((row) => row['ssl_fingerprint']))).toEqual(shown);
    const info = await Promise.all(['Home', 'pve', 'agent1'].map((node) => rows(`/nodes/${node}/certificates/info`, 'nobody')));
    const own = info.map((files) => files.find((file) => file['filename'] === 'pve-ssl.pem')?.['fingerprint']);
    expect(sorted(own)).toEqual(shown);
    await demo.faults.nodeDown('agent1');
    const join = await data<{ readonly nodelist: readonly Row[] }>(demo, {
      path: '/cluster/config/join',
      authorization: demo.authorization[demoTokens.readOnly],
    });
    expect(sorted(join.nodelist.map((node) => node['pve_fp']))).toEqual(shown);
    expect(line(await ask('/nodes/agent1/certificates/info'))).toBe('595 Connection refused');
  });
});

describe('HA', () => {
  const status = async (vmid = 101) => (await rows('/cluster/ha/status/current')).find((row) => row['sid'] === `vm:${vmid}`);
  const manage = (form: Readonly<Record<string, string>>) => send('POST', '/cluster/ha/resources', form);
  const running = () => {
    demo.cluster.tasks.advance();
    return demo.cluster.state.guests.get(101)?.running;
  };

  it('has no manager before there is a resource', async () => {
    expect((await rows('/cluster/ha/status/current')).map((row) => row['id'])).toEqual(['quorum']);
    await manage({ sid: 'vm:101', state: 'stopped' });
    expect(await status()).toMatchObject({ state: 'queued', request_state: 'stopped' });
    clock.advance(10_000);
    expect((await rows('/cluster/ha/status/current')).map((row) => row['id'])).toEqual([
      ...['quorum', 'master', 'lrm:Home', 'lrm:agent1', 'lrm:pve', 'service:vm:101'],
    ]);
    expect(await status()).toMatchObject({ state: 'stopped', crm_state: 'stopped' });
  });

  it('answers start and stop with a task that only asks; the guest follows later', async () => {
    await manage({ sid: 'vm:101', state: 'stopped' });
    clock.advance(10_000);
    const start = await post('/nodes/Home/qemu/101/status/start');
    clock.advance(600);
    expect(await taskOf(start)).toMatchObject({ type: 'hastart', exitstatus: 'OK' });
    expect([running(), (await status())?.['state']]).toEqual([false, 'starting']);
    clock.advance(20_000);
    expect([running(), (await status())?.['state']]).toEqual([true, 'started']);
    for (const action of ['stop', 'shutdown']) {
      const stop = await post(`/nodes/Home/qemu/101/status/${action}`);
      clock.advance(600);
      expect(await taskOf(stop)).toMatchObject({ type: 'hastop', exitstatus: 'OK' });
      expect(running()).toBe(action === 'stop');
      clock.advance(20_000);
      expect(running()).toBe(false);
    }
  });

  it('never follows while the manager is stalled', async () => {
    await manage({ sid: 'vm:101', state: 'stopped' });
    clock.advance(10_000);
    demo.faults.haStalls();
    const start = await post('/nodes/Home/qemu/101/status/start');
    clock.advance(3_600_000);
    expect(await taskOf(start)).toMatchObject({ exitstatus: 'OK' });
    expect([running(), (await status())?.['state']]).toEqual([false, 'starting']);
  });

  it('leaves reset, reboot and ignored resources alone', async () => {
    await manage({ sid: 'vm:101', state: 'ignored' });
    const start = await post('/nodes/Home/qemu/101/status/start');
    clock.advance(5000);
    expect(await taskOf(start)).toMatchObject({ type: 'qmstart', exitstatus: 'OK' });
    await send('PUT', '/cluster/ha/resources/vm:101', { state: 'started' });
    expect(await post('/nodes/Home/qemu/101/status/reset')).toContain(':qmreset:');
    expect(await post('/nodes/Home/qemu/101/status/reboot')).toContain(':qmreboot:');
    expect(await post('/nodes/Home/qemu/101/status/stop')).toContain(':hastop:');
  });
});

describe('deaths in the middle of a task', () => {
  it('the node’s proxy ends: others answer for themselves, not for it, and the task goes on', async () => {
    const upid = await post('/nodes/pve/qemu/100/status/stop');
    await demo.faults.proxyDown('pve');
    const [home = '', pve = ''] = demo.config.clusters[0].endpoints;
    expect(line(await ask(`/nodes/pve/tasks/${encodeURIComponent(upid)}/status`, 'root', home))).toBe('595 Connection refused');
    await expect(ask('/version', 'root', pve)).rejects.toThrow(/ECONNREFUSED/);
    expect((await rows('/nodes')).map((row) => row['status'])).toEqual(['online', 'online', 'online']);
    clock.advance(5000);
    await demo.faults.proxyUp('pve');
    expect(await taskOf(upid)).toMatchObject({ exitstatus: 'OK' });
  });

  it('at the first question about a task, of the asked node or another', async () => {
    const upid = await post('/nodes/pve/qemu/100/status/stop');
    const path = `/nodes/pve/tasks/${encodeURIComponent(upid)}/status`;
    demo.faults.api({ path: '/tasks/', times: 1, effect: { kind: 'proxy-dies', node: 'pve' } });
    expect(line(await ask(path))).toBe('595 Connection refused');
    demo.faults.api({ path: '/tasks/', times: 1, effect: { kind: 'proxy-dies' } });
    await expect(ask(path)).rejects.toThrow(/ECONNRESET|hang up/);
    await demo.faults.clear();
    expect((await ask(path)).status).toBe(200);
  });

  it('the token is deleted: 401 from then on', async () => {
    const upid = await post('/nodes/pve/qemu/100/status/stop');
    demo.faults.api({ path: '/tasks/', times: 1, effect: { kind: 'token-revoked' } });
    const path = `/nodes/pve/tasks/${encodeURIComponent(upid)}/status`;
    expect([line(await ask(path)), line(await ask('/version'))]).toEqual(['401 Authentication failed!', '401 Authentication failed!']);
  });

  it('a node that is off the net is not reached', async () => {
    await demo.faults.nodeDown('agent1', 'No route to host');
    expect(line(await ask('/nodes/agent1/services'))).toBe('595 No route to host');
  });

  it('a guest that ignores its shutdown: the task fails when `timeout` is over', async () => {
    demo.faults.guestIgnoresShutdown(100);
    const upid = await post('/nodes/pve/qemu/100/status/reboot', { timeout: '20' });
    clock.advance(19_000);
    expect(await taskOf(upid)).toMatchObject({ status: 'running' });
    clock.advance(2000);
    expect(await taskOf(upid)).toMatchObject({ exitstatus: 'VM quit/powerdown failed - got timeout' });
  });
});

describe('tokens with rights in one place', () => {
  it.each([
    ['onNode', '/nodes/pve/status', 200],
    ['onNode', '/nodes/Home/status', 403],
    ['onPool', '/nodes/pve/qemu/100/status/current', 200],
    ['onPool', '/nodes/pve/lxc/201/status/current', 200],
    ['onPool', '/nodes/agent1/qemu/105/status/current', 403],
    ['onPool', '/nodes/Home/storage/nas/status', 200],
    ['onPool', '/nodes/Home/storage/local/status', 403],
    ['onGuest', '/nodes/pve/qemu/100/status/current', 200],
    ['onGuest', '/nodes/pve/lxc/201/status/current', 403],
    ['onGuest', '/nodes/pve/status', 403],
    ['onNode', '/cluster/status', 403],
  ] as const)('%s: %s is %i', async (token, path, status) => {
    expect((await ask(path, token)).status).toBe(status);
  });

  it('see the guests there and nothing else', async () => {
    const seen = async (token: Token) => sorted((await rows('/cluster/resources?type=vm', token)).map((row) => row['vmid']));
    expect([await seen('onNode'), await seen('onPool'), await seen('onGuest')]).toEqual([[], ['100', '201'], ['100']]);
    const paths = await data<Row>(demo, { path: '/access/permissions', authorization: demo.authorization[demoTokens.onPool] });
    expect(Object.keys(paths).sort()).toEqual(['/pool/prod', '/storage/nas', '/vms/100', '/vms/201']);
  });
});
