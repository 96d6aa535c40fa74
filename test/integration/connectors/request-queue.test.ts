/** How many requests one process has under way at one cluster, counted where they arrive. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { queueLimits } from '#connectors/proxmox/request-queue';
import { agent, approvedCall, call, startWorld } from '../app/support.ts';
import { useCleanup } from './cleanup.ts';
import { clientOf, data, type Handler, never, startPve } from './pve-server.ts';

const start = useCleanup();

/** Watches every HTTP server of this process, the emulator's nodes among them. */
function countRequests() {
  const paths: string[] = [];
  let under = 0;
  let most = 0;
  const note = (message: unknown) => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse };
    paths.push(`${request.method} ${request.url?.replace('/api2/json', '')}`);
    under += 1;
    most = Math.max(most, under);
    response.once('close', () => {
      under -= 1;
    });
  };
  subscribe('http.server.request.start', note);
  return { paths, most: () => most, now: () => under, close: () => unsubscribe('http.server.request.start', note) };
}

/** As long as it takes: the machine may be busy. */
const waiting = { timeout: 60_000, interval: 20 };

async function world() {
  const opened = start(await startWorld());
  const app = await opened.open();
  await call(app, 'get_vms');
  return { opened, app };
}

describe('reads of many agents at once', () => {
  it('are never more under way than a cluster is asked at once, and are all answered', async () => {
    const { opened, app } = await world();
    opened.demo.faults.api({ effect: { kind: 'latency', ms: 10 } });
    const counted = start(countRequests());
    const reads = (count: number, tool: string, input: object) =>
      Array.from({ length: count }, (_, index) => call(app, tool, input, { agent: { ...agent, id: `mcp:agent-${index % 20}` } }));
    const outcomes = await Promise.all([...reads(80, 'get_vms', {}), ...reads(10, 'get_guest', { vmid: 100 })]);
    expect(outcomes.filter(({ status }) => status !== 'ok')).toEqual([]);
    // Nothing was left out for want of a turn.
    expect(outcomes.filter(({ message }) => message.includes('does not keep up'))).toEqual([]);
    expect(counted.most()).toBeLessThanOrEqual(queueLimits.others);
  });

  it('do not hold up what a person approved, nor what a person looks at', async () => {
    const { opened, app } = await world();
    const hung = opened.demo.faults.api({ path: '^/nodes/[^/]+/status$', effect: { kind: 'hang' } });
    const caller = new AbortController();
    const flood = Array.from({ length: 20 }, () => call(app, 'get_node_status', { node: 'pve' }, { signal: caller.signal }));
    await vi.waitFor(() => expect(hung.hits()).toBeGreaterThanOrEqual(queueLimits.others), waiting);
    expect(await approvedCall(opened, app, { tool: 'stop_vm', input: { vmid: 100 } })).toMatchObject({ status: 'ok' });
    const [cluster = ''] = app.live.clusters;
    await expect(app.live.guests(cluster, never)).resolves.not.toEqual([]);
    caller.abort();
    expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set(['error']));
  });
});

describe('get_guest', () => {
  it('reads the resources of the cluster once', async () => {
    const { app } = await world();
    const counted = start(countRequests());
    const outcome = await call(app, 'get_guest', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'ok', result: { backups: [expect.anything(), expect.anything()] } });
    expect(counted.paths.filter((path) => path.startsWith('GET /cluster/resources'))).toHaveLength(1);
  });

  it('reads them anew with the next call', async () => {
    const { app } = await world();
    const counted = start(countRequests());
    await call(app, 'get_guest', { vmid: 100 });
    await call(app, 'get_guest', { vmid: 100 });
    expect(counted.paths.filter((path) => path.startsWith('GET /cluster/resources'))).toHaveLength(2);
  });
});

describe('places', () => {
  it('are free again after requests that failed over to another endpoint, timed out or were given up', async () => {
    const hangs: Handler = (request, response) => {
      if (request.url?.endsWith('/nodes') !== true) data(response, { version: '9.1.5', release: '9.1' });
    };
    const broken = start(await startPve((request) => request.socket.destroy()));
    const server = start(await startPve(hangs));
    const client = start(clientOf([broken, server], { timeoutMs: 6_000 }));
    const caller = new AbortController();
    const failing = [
      ...Array.from({ length: 20 }, () => client.nodes(never)),
      ...Array.from({ length: 20 }, () => client.nodes(caller.signal)),
    ];
    const ends = Promise.allSettled(failing);
    caller.abort();
    expect((await ends).map(({ status }) => status)).toEqual(failing.map(() => 'rejected'));
    await expect(client.version(never)).resolves.toMatchObject({ release: '9.1' });
    const counted = start(countRequests());
    const last = new AbortController();
    const filling = Promise.allSettled(Array.from({ length: 20 }, () => client.nodes(last.signal)));
    await vi.waitFor(() => expect(counted.now()).toBe(queueLimits.others), waiting);
    last.abort();
    await filling;
    expect(counted.most()).toBe(queueLimits.others);
  });
});
