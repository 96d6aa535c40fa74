/** `banksman call` of each of the 19 cluster tools against `banksman demo`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, startBench } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(async () => {
  await bench.close();
});

/** A tool's result, once the call has been checked to be ok. */
async function result(tool: string, input: unknown = {}): Promise<Record<string, unknown>> {
  const { status, outcome } = await bench.call(tool, input);
  expect(outcome, JSON.stringify(outcome)).toMatchObject({ status: 'ok', code: 'ok' });
  expect(status).toBe(0);
  return outcome.result as Record<string, unknown>;
}

describe('reads', () => {
  it('get_cluster_status: health, quorum and the three nodes', async () => {
    expect(await result('get_cluster_status')).toMatchObject({
      health: 'healthy',
      quorate: true,
      nodes: expect.arrayContaining(['Home', 'pve', 'agent1'].map((node) => expect.objectContaining({ node, online: true }))),
    });
  });

  it('get_node_status: CPU, memory, uptime and load as numbers', async () => {
    const status = await result('get_node_status', { node: 'pve' });
    expect(status).toMatchObject({
      node: 'pve',
      cpu: expect.any(Number),
      memory: { total: expect.any(Number) },
      uptime: expect.any(Number),
    });
    expect(status['loadavg']).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
  });

  it('get_vms: only virtual machines, with the API’s own field names', async () => {
    const { vms } = (await result('get_vms')) as { vms: { vmid: number; type: string; status: string; node: string }[] };
    expect(vms.every((row) => row.type === 'qemu')).toBe(true);
    expect(vms.find((row) => row.vmid === 100)).toMatchObject({ node: 'pve', status: 'running' });
    expect(vms.map((row) => row.vmid)).toContain(103);
  });

  it('get_containers: only containers', async () => {
    const { containers } = (await result('get_containers')) as { containers: { vmid: number; type: string; status: string }[] };
    expect(containers.map((row) => row.vmid)).toEqual([200, 201]);
    expect(containers.every((row) => row.type === 'lxc' && row.status === 'running')).toBe(true);
  });

  it('get_storage: a row per node and pool', async () => {
    const { storage } = (await result('get_storage')) as { storage: { storage: string }[] };
    expect(new Set(storage.map((row) => row.storage))).toContain('local');
  });

  it('get_cluster_resources: everything, or one type; `container` is answered although the API has no such type', async () => {
    const { total: all } = await result('get_cluster_resources');
    const { resources } = (await result('get_cluster_resources', { type: 'container' })) as { resources: { type: string }[] };
    expect(resources.map((row) => row.type)).toEqual(['lxc', 'lxc']);
    expect(all).toBeGreaterThan(10);
  });

  it('get_node_temperature: every thermal zone in degrees Celsius', async () => {
    const { zones, hottest } = (await result('get_node_temperature', { node: 'agent1' })) as {
      zones: { celsius: number }[];
      hottest: number;
    };
    expect(zones.length).toBeGreaterThan(0);
    expect(zones.every((zone) => zone.celsius > 0 && zone.celsius < 120)).toBe(true);
    expect(hottest).toBe(Math.max(...zones.map((zone) => zone.celsius)));
  });

  it('get_recent_tasks: newest first, no more than asked for', async () => {
    const { tasks } = (await result('get_recent_tasks', { limit: 2 })) as { tasks: { upid: string; starttime: number }[] };
    expect(tasks).toHaveLength(2);
    expect(tasks[0]?.starttime).toBeGreaterThanOrEqual(tasks[1]?.starttime ?? Number.POSITIVE_INFINITY);
    expect(tasks[0]?.upid).toMatch(/^UPID:/);
  });

  it('get_backups: on `local` by default', async () => {
    const { backups, storage } = (await result('get_backups', { node: 'pve' })) as { backups: { volid: string }[]; storage: string };
    expect(storage).toBe('local');
    expect(backups.length).toBeGreaterThan(0);
    expect(backups.every((row) => row.volid.startsWith('local:backup/'))).toBe(true);
  });
});

describe('lifecycle tools ask a person, on the command line without waiting', () => {
  it.each([
    ['start_vm', 101],
    ['stop_vm', 100],
    ['restart_vm', 100],
    ['stop_container', 200],
    ['restart_container', 201],
  ])('%s %i is pending, with a request id and exit status 3', async (tool, vmid) => {
    // A store of its own each: one agent may only have a few requests pending.
    const { status, outcome } = await bench.call(tool, { vmid }, ['--state', `${bench.state}-${tool}`]);
    expect(outcome).toMatchObject({ status: 'pending', code: 'approval_pending', request_id: expect.stringMatching(/^req-[a-f0-9]{8}$/) });
    expect(outcome.next).toContain('check_request_status');
    expect(status).toBe(3);
  });

  it('asking again for the same call gives the same request', async () => {
    const state = ['--state', `${bench.state}-again`];
    const first = await bench.call('stop_vm', { vmid: 100 }, state);
    const second = await bench.call('stop_vm', { node: 'pve', vmid: '0100' }, state);
    const third = await bench.call('stop_vm', { vmid: 100, reason: 'because' }, state);
    expect(third.outcome.request_id).toBe(first.outcome.request_id);
    // Naming the node makes it another call: other arguments.
    expect(second.outcome.request_id).not.toBe(first.outcome.request_id);
    const { outcome } = await bench.call('check_request_status', { request_id: first.outcome.request_id }, state);
    expect(outcome.result).toMatchObject({ status: 'pending', tool: 'stop_vm' });
  });
});

describe('system tools', () => {
  it('execute_ssh runs a known read-only command', async () => {
    expect(await result('execute_ssh', { node: 'pve', command: 'hostname' })).toMatchObject({ stdout: 'pve\n', exit_code: 0 });
  });

  it.each([
    'rm -rf /',
    'hostname; reboot',
    'hostname\nreboot',
    'cat /etc/shadow',
    'hostname evil',
    'journalctl --vacuum-size=1',
    'df -h $(reboot)',
  ])('execute_ssh refuses %j', async (command) => {
    const { status, outcome } = await bench.call('execute_ssh', { node: 'pve', command });
    expect(outcome).toMatchObject({ status: 'denied', code: 'COMMAND_BLOCKED' });
    expect(status).toBe(2);
  });

  it('restart_service restarts, waits and says whether it is active', async () => {
    expect(await result('restart_service', { node: 'pve', service: 'nginx' })).toMatchObject({ service: 'nginx.service', state: 'active' });
  });

  it('restart_service says so when the service does not come up', async () => {
    const { status, outcome } = await bench.call('restart_service', { node: 'pve', service: 'failing' });
    expect(outcome.status).toBe('error');
    expect(outcome.code).toMatch(/^service_/);
    expect(status).toBe(1);
  });

  it('wake_node sends a packet', async () => {
    expect(await result('wake_node', { node: 'Home' })).toMatchObject({ node: 'Home', sent: true });
  });

  it('reboot_node is refused', async () => {
    const { status, outcome } = await bench.call('reboot_node', { node: 'pve' });
    expect(outcome).toMatchObject({ status: 'denied', code: 'black_tier' });
    expect(status).toBe(2);
  });
});

describe('protected resources are refused, whatever the spelling', () => {
  it.each([
    ['stop_vm', { vmid: 103 }],
    ['stop_vm', { vmid: '103' }],
    ['stop_vm', { vmid: '0103' }],
    ['stop_vm', { vmid: 103, node: 'pve' }],
    ['stop_container', { vmid: 103 }],
    ['start_vm', { vmid: 105 }],
    ['stop_vm', { vmid: 100, node: 'agent1' }],
    ['execute_ssh', { node: 'agent1', command: 'hostname' }],
    ['execute_ssh', { node: 'AGENT1', command: 'hostname' }],
    ['execute_ssh', { node: '192.168.1.61', command: 'hostname' }],
    ['execute_ssh', { node: '::ffff:192.168.1.61', command: 'hostname' }],
    ['execute_ssh', { node: '::ffff:c0a8:013d', command: 'hostname' }],
    ['execute_ssh', { node: '3232235837', command: 'hostname' }],
    ['restart_service', { node: 'agent1', service: 'docker' }],
    ['restart_service', { node: 'agent1', service: 'docker.service' }],
    ['wake_node', { node: 'agent1' }],
    ['reboot_node', { node: 'agent1' }],
  ])('%s %j', async (tool, input) => {
    const { status, outcome } = await bench.call(tool, input);
    expect(outcome).toMatchObject({ status: 'denied', code: 'protected_resource' });
    expect(status).toBe(2);
  });

  it('reading them is allowed', async () => {
    expect(await result('get_node_status', { node: 'agent1' })).toMatchObject({ node: 'agent1' });
  });
});

describe('bad input is an error that says what to do', () => {
  it.each([
    ['stop_vm', { vmid: 100, confirmed: true }, 'invalid_input', /`confirmed`.*Only a person can confirm/],
    ['stop_vm', { vmid: 'abc' }, 'invalid_input', /vmid/],
    ['stop_vm', { vmid: 12_345 }, 'unknown_guest', /get_vms/],
    ['stop_vm', { vmid: 200 }, 'wrong_kind', /_container/],
    ['stop_vm', { vmid: 100, node: 'Home' }, 'wrong_node', /`pve`/],
    ['get_node_status', { node: 'nosuch' }, 'unknown_node', /`pve`/],
    ['get_node_status', { node: 'localhost' }, 'unknown_node', /localhost/],
    ['get_node_status', { node: 'pve/qemu/100' }, 'invalid_input', /node/],
    ['get_vms', { cluster: 'other' }, 'unknown_cluster', /demo/],
    ['nosuch_tool', {}, 'unknown_tool', /nosuch_tool/],
  ])('%s %j', async (tool, input, code, message) => {
    const { status, outcome } = await bench.call(tool, input);
    expect(outcome).toMatchObject({ status: 'error', code });
    expect(outcome.message).toMatch(message);
    expect(status).toBe(1);
  });
});
