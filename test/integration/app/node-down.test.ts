/** What reads say of a node that is away, of its guests, and of figures that a node does not give. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '#kernel/json';
import { english } from '#kernel/text/message';
import { call, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

const never = new AbortController().signal;
const rowsOf = (result: unknown, key: string) => (result as Record<string, readonly JsonObject[]>)[key] ?? [];

describe('guests on a node that is offline', () => {
  it.each([
    ['get_vms', {}, 'vms'],
    ['get_containers', {}, 'containers'],
    ['get_cluster_resources', {}, 'resources'],
    ['get_cluster_resources', { type: 'vm' }, 'resources'],
    ['get_cluster_resources', { type: 'container' }, 'resources'],
  ])('%s %j: their state is not known', async (tool, input, key) => {
    const app = await world.open();
    const down = tool === 'get_containers' || 'type' in input ? 'pve' : 'agent1';
    await world.demo.faults.nodeDown(down);
    const { status, result } = await call(app, tool, input);
    expect(status).toBe('ok');
    const guests = rowsOf(result, key).filter((row) => row['type'] === 'qemu' || row['type'] === 'lxc');
    const there = guests.filter((row) => row['node'] === down);
    expect(there.length).toBeGreaterThan(0);
    for (const row of there) {
      expect(row).toMatchObject({ status: 'unknown, node offline', last_known_status: expect.stringMatching(/^(running|stopped)$/) });
      expect(row).not.toHaveProperty('cpu');
      expect(row).not.toHaveProperty('uptime');
    }
    for (const row of guests.filter((one) => one['node'] !== down)) expect(['running', 'stopped']).toContain(row['status']);
  });

  it('get_vms counts them apart', async () => {
    const app = await world.open();
    await world.demo.faults.nodeDown('agent1');
    expect((await call(app, 'get_vms')).message).toMatch(/^\d+ VMs, \d+ running, \d+ unknown \(node offline\)$/);
  });

  it('so do a storage’s rows there', async () => {
    const app = await world.open();
    await world.demo.faults.nodeDown('agent1');
    const { result } = await call(app, 'get_storage');
    for (const row of rowsOf(result, 'storage'))
      expect(row['status']).toBe(row['node'] === 'agent1' ? 'unknown, node offline' : 'available');
  });

  it('a person who decides is not told that nothing runs there', async () => {
    const app = await world.open();
    await world.demo.faults.nodeDown('agent1');
    const facts = await app.live.facts({ targets: [{ kind: 'node', cluster: 'demo', node: 'agent1' }] }, never);
    const told = new Map(facts.map((fact) => [english(fact.label), english(fact.value)]));
    expect(told.get('Runs there')).toMatch(/^not known: the node is offline; last seen running: .*103/);
  });
});

describe('get_node_status', () => {
  it('takes the CPU from the node list where the status has none', async () => {
    const app = await world.open();
    const whole = await call(app, 'get_node_status', { node: 'pve' });
    expect(whole.result).toMatchObject({ cpu: expect.any(Number) });
    world.demo.faults.api({
      path: '/nodes/pve/status',
      effect: {
        kind: 'status',
        status: 200,
        reason: 'OK',
        body: JSON.stringify({ data: { cpu: 0, memory: { total: 4, used: 1 }, uptime: 5 } }),
      },
    });
    const { result, message } = await call(app, 'get_node_status', { node: 'pve' });
    expect((result as { cpu: number }).cpu).toBeGreaterThan(0);
    expect(message).not.toMatch(/CPU 0\.0/);
  });

  it('says what the node list knows where the node itself does not answer', async () => {
    const app = await world.open();
    world.demo.faults.api({ path: '/nodes/pve/status', effect: { kind: 'status', status: 596, reason: 'Broken pipe' } });
    expect(await call(app, 'get_node_status', { node: 'pve' })).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(
        /^node pve: CPU [\d.]+ %, memory [\d.]+ % of [\d.]+ GiB; from the cluster’s node list only: .*could not reach/,
      ),
      result: { node: 'pve', cpu: expect.any(Number), memory: { used: expect.any(Number) }, uptime: expect.any(Number), loadavg: null },
    });
  });

  it('of a node that is offline says so', async () => {
    const app = await world.open();
    await world.demo.faults.nodeDown('agent1');
    expect(await call(app, 'get_node_status', { node: 'agent1' })).toMatchObject({
      status: 'error',
      code: 'pve_node_unreachable',
      next: expect.stringContaining('get_cluster_status'),
    });
  });
});
