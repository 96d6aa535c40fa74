/** Each fault does what it says, to the requests it is for, and `clear` undoes it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type DemoCluster, demoTokens, type ManualClock, startDemoCluster } from '#demo/index';
import { call, data, type WireAnswer, type WireRequest } from './api-client.ts';

let demo: DemoCluster;
let clock: ManualClock;

beforeEach(async () => {
  clock = createManualClock(Date.UTC(2026, 10, 21));
  demo = await startDemoCluster({ clock, taskDurationMs: 1000 });
});
afterEach(() => demo.close());

function ask(request: Partial<WireRequest> = {}): Promise<WireAnswer> {
  return call(demo, { path: '/version', authorization: demo.authorization[demoTokens.ops], ...request });
}

function endpoint(index: number): string {
  return demo.config.clusters[0].endpoints[index] ?? '';
}

describe('answers', () => {
  it('are replaced by a status, so many times', async () => {
    const fault = demo.faults.api({
      path: '^/version$',
      times: 2,
      effect: { kind: 'status', status: 599, reason: 'Too many redirections' },
    });
    const answers = [await ask(), await ask({ path: '/nodes' }), await ask(), await ask()];
    expect(answers.map((answer) => answer.status)).toEqual([599, 200, 599, 200]);
    expect(answers[0]).toMatchObject({ statusMessage: 'Too many redirections', body: '' });
    expect(fault.hits()).toBe(2);
  });

  it('come late: what was asked after them is answered before', async () => {
    demo.faults.api({ path: '^/version$', effect: { kind: 'latency', ms: 1500 } });
    const order: string[] = [];
    const late = ask().then((answer) => order.push(`late ${answer.status}`));
    await ask({ path: '/nodes' }).then((answer) => order.push(`soon ${answer.status}`));
    await late;
    expect(order).toEqual(['soon 200', 'late 200']);
  });

  it('are not JSON, of one endpoint and one verb only', async () => {
    const fault = demo.faults.api({ endpoint: 'pve', method: 'GET', effect: { kind: 'malformed' } });
    expect((await ask({ endpoint: endpoint(1) })).body).toBe('{"data":[{"vmid":100,');
    expect((await ask({ endpoint: endpoint(0) })).body).toMatchObject({ data: { release: '9.1' } });
    fault.remove();
    expect((await ask({ endpoint: endpoint(1) })).body).toMatchObject({ data: { release: '9.1' } });
  });

  it('never come, and nothing is done', async () => {
    demo.faults.api({ method: 'POST', effect: { kind: 'hang' } });
    const abort = new AbortController();
    const hanging = ask({ method: 'POST', path: '/nodes/pve/qemu/100/status/stop', signal: abort.signal });
    await ask();
    abort.abort();
    await expect(hanging).rejects.toThrow(/abort/);
    expect(demo.cluster.tasks.list().filter((task) => task.type === 'qmstop' && task.node === 'pve')).toEqual([]);
  });

  it.each(['silence', 'reset'] as const)('never arrive although it was done (%s)', async (kind) => {
    demo.faults.api({ method: 'POST', effect: { kind } });
    const abort = new AbortController();
    const lost = ask({ method: 'POST', path: '/nodes/pve/qemu/100/status/stop', signal: abort.signal });
    const failed = expect(lost).rejects.toThrow(kind === 'silence' ? /abort/ : /ECONNRESET|aborted|hang up/);
    while (!demo.cluster.tasks.list().some((task) => task.type === 'qmstop' && task.node === 'pve')) await ask();
    if (kind === 'silence') abort.abort();
    await failed;
    clock.advance(5000);
    demo.cluster.tasks.advance();
    expect(demo.cluster.state.guests.get(100)?.running).toBe(false);
  });
});

describe('nodes', () => {
  it('refuse connections while they are down, and the others say so', async () => {
    await demo.faults.nodeDown('pve');
    await expect(ask({ endpoint: endpoint(1) })).rejects.toThrow(/ECONNREFUSED/);
    expect(await ask({ path: '/nodes/pve/status' })).toMatchObject({ status: 595, statusMessage: 'Connection refused', body: '' });
    await demo.faults.nodeUp('pve');
    expect((await ask({ endpoint: endpoint(1) })).status).toBe(200);
  });

  it('without quorum read, stop, and do not start', async () => {
    demo.faults.loseQuorum();
    const status = await data<readonly Record<string, unknown>[]>(demo, {
      path: '/cluster/status',
      authorization: demo.authorization[demoTokens.ops],
      endpoint: endpoint(1),
    });
    expect(status.map((row) => `${row['name']} ${row['quorate'] ?? row['online']}`).sort()).toEqual([
      'Home 0',
      'agent1 0',
      'demo 0',
      'pve 1',
    ]);
    const post = (path: string) => ask({ method: 'POST', path, endpoint: endpoint(1) });
    expect(await post('/nodes/pve/qemu/104/status/start')).toMatchObject({ status: 500, statusMessage: 'cluster not ready - no quorum?' });
    expect((await post('/nodes/pve/qemu/100/status/stop')).status).toBe(200);
    demo.faults.regainQuorum();
    expect((await post('/nodes/pve/qemu/104/status/start')).status).toBe(200);
  });

  it('show another certificate after a swap', async () => {
    demo.faults.swapCertificate('Home');
    // Same authority, so a client that trusts it is content; a pin is not.
    expect((await ask()).status).toBe(200);
    expect(await fingerprintOf(endpoint(0))).not.toBe(demo.fingerprint);
    expect(await fingerprintOf(endpoint(1))).toBe(demo.cluster.certificates.nodes.get('pve')?.fingerprint);
    await demo.faults.clear();
    expect(await fingerprintOf(endpoint(0))).toBe(demo.fingerprint);
  });
});

async function fingerprintOf(url: string): Promise<string> {
  const { connect } = await import('node:tls');
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

describe('tokens', () => {
  it('are refused once revoked or expired, and taken again after `clear`', async () => {
    for (const spoil of ['revokeToken', 'expireToken'] as const) {
      demo.faults[spoil](demoTokens.ops);
      expect(await ask()).toMatchObject({ status: 401, statusMessage: 'Authentication failed!', body: '' });
      await demo.faults.clear();
      expect((await ask()).status).toBe(200);
      clock.advance(5000);
    }
  });
});

describe('tasks', () => {
  async function stop(vmid: number): Promise<Record<string, unknown>> {
    const authorization = demo.authorization[demoTokens.ops];
    const upid = await data<string>(demo, { method: 'POST', path: `/nodes/pve/qemu/${vmid}/status/stop`, authorization });
    clock.advance(3_600_000);
    return data(demo, { path: `/nodes/pve/tasks/${encodeURIComponent(upid)}/status`, authorization });
  }

  it('never end, until somebody stops them', async () => {
    demo.faults.taskNeverEnds({ type: 'qmstop', id: 100 });
    const task = await stop(100);
    expect(task).toMatchObject({ status: 'running' });
    expect((await ask({ method: 'DELETE', path: `/nodes/pve/tasks/${encodeURIComponent(String(task['upid']))}` })).status).toBe(200);
    expect(
      await data(demo, {
        path: `/nodes/pve/tasks/${encodeURIComponent(String(task['upid']))}/status`,
        authorization: demo.authorization[demoTokens.ops],
      }),
    ).toMatchObject({ exitstatus: 'received interrupt' });
  });

  it('fail with the given text and change nothing', async () => {
    demo.faults.taskFails({ node: 'pve' }, 'no space left on device');
    expect(await stop(100)).toMatchObject({ status: 'stopped', exitstatus: 'no space left on device' });
    expect(demo.cluster.state.guests.get(100)?.running).toBe(true);
  });

  it('do their work and warn', async () => {
    demo.faults.taskWarns({}, 'disk is nearly full', 'old machine type');
    expect(await stop(100)).toMatchObject({ exitstatus: 'WARNINGS: 2' });
    expect(demo.cluster.state.guests.get(100)?.running).toBe(false);
  });
});

describe('wake on LAN', () => {
  const wake = () => ask({ method: 'POST', path: '/nodes/agent1/wakeonlan' });

  it('fails without an address in the node’s configuration', async () => {
    demo.faults.removeWakeAddress('agent1');
    expect(await wake()).toMatchObject({ status: 500, statusMessage: "No wake on LAN MAC address defined for 'agent1'!" });
    await demo.faults.clear();
    expect((await wake()).body).toEqual({ data: 'bc:24:11:aa:00:61' });
  });

  it('boots a node that is down, by the API or by the HTTP service', async () => {
    const http = demo.config.clusters[0].wake.http.replace('{node}', 'agent1');
    for (const send of [wake, () => fetch(http, { method: 'POST' })]) {
      await demo.faults.nodeDown('agent1');
      await send();
      clock.advance(60_000);
      await ask();
      expect(demo.cluster.state.nodes.get('agent1')?.up).toBe(true);
    }
    expect(demo.wakeRequests).toEqual(['agent1']);
    expect((await fetch(demo.config.clusters[0].wake.http.replace('{node}', 'nosuch'))).status).toBe(404);
  });
});
