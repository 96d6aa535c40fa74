/** The tools that look closer at a cluster, on the emulator. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalog } from '#app/catalog';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { approvedCall, call, manageGuest, startWorld, type World } from './support.ts';

let world: World;
let app: App;
beforeAll(async () => {
  world = await startWorld();
  app = await world.open();
});
afterAll(async () => {
  await world.close();
});

const read = (tool: string, input: object = {}): Promise<Outcome> => call(app, tool, input);

describe('get_guest', () => {
  it('has what is known of a VM, each part by itself', async () => {
    const outcome = await read('get_guest', { vmid: 100 });
    expect(outcome).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/^VM 100 \(web\) on pve is running, 0 snapshots, 2 backups/),
      result: {
        vmid: 100,
        node: 'pve',
        type: 'qemu',
        status: 'running',
        config: { cores: 2, digest: expect.stringMatching(/^[0-9a-f]{40}$/) },
        snapshots: [],
        addresses: [{ name: expect.any(String), addresses: expect.arrayContaining([expect.stringMatching(/^\d+\./)]) }],
        backups: [{ volid: expect.stringContaining('vzdump-qemu-100') }, {}],
      },
    });
  });

  it('says what could not be read, and why, in the place of nothing', async () => {
    const outcome = await read('get_guest', { vmid: 101 });
    expect(outcome).toMatchObject({ status: 'ok', result: { unreadable: { addresses: expect.stringMatching(/agent|not running/) } } });
    expect(outcome.message).toContain('not readable: ');
  });

  it('has a container’s own addresses, and no loopback', async () => {
    const { result } = await read('get_guest', { vmid: 201 });
    expect(result).toMatchObject({ type: 'lxc', status: 'running' });
    expect(JSON.stringify(result)).not.toContain('"127.0.0.1');
  });

  it('names a guest that is not there', async () => {
    expect(await read('get_guest', { vmid: 999 })).toMatchObject({ status: 'error', code: 'unknown_guest' });
  });
});

describe('get_task', () => {
  it('reads one by the UPID that another tool gave, with its log', async () => {
    const stopped = await approvedCall(world, app, { tool: 'stop_vm', input: { vmid: 100 } });
    const { upid } = stopped.effect ?? {};
    expect(await read('get_task', { upid })).toMatchObject({
      status: 'ok',
      message: `task ${String(upid)} has ended with exit status OK`,
      result: { upid, node: 'pve', status: 'stopped', exitstatus: 'OK', log: expect.any(Array) },
    });
  });

  it('lists those of one guest, and those that failed', async () => {
    const ofGuest = await read('get_task', { vmid: 100 });
    expect(new Set((ofGuest.result as { tasks: { id: string }[] }).tasks.map((task) => task.id))).toEqual(new Set(['100']));
    const failed = await read('get_task', { errors: true });
    const { tasks } = failed.result as { tasks: { status: string }[] };
    // What ended with warnings is among them, as the API has it.
    expect(tasks.map((task) => task.status)).toEqual(expect.arrayContaining(['VM is locked (backup)']));
    expect(tasks.filter((task) => task.status === 'OK')).toEqual([]);
  });

  it.each([
    ['30m', 1],
    ['2026-11-01T00:00:00Z', 7],
  ])('takes `since` %s', async (since, most) => {
    const { result } = await read('get_task', { since });
    const { tasks } = result as { tasks: { starttime: number }[] };
    expect(tasks.length).toBeLessThanOrEqual(most);
  });

  it.each([
    [{ upid: 'UPID:pve:nothing' }, '`upid`'],
    [{ upid: 'UPID:pve:00000001:00000001:00000001:qmstart:100/../101:root@pam:' }, '`upid`'],
    [{ upid: 'UPID:pve:00000001:00000001:00000001:qmstart:100:root@pam:' }, 'no such task'],
    [{ since: 'yesterday-ish' }, '`since`'],
    [{ node: '192.168.1.60' }, 'looks like node `pve`'],
  ])('refuses %o', async (input, word) => {
    const outcome = await read('get_task', input);
    expect(outcome.status).toBe('error');
    expect(outcome.message).toContain(word);
  });
});

describe('the others', () => {
  it('get_node_services: by name, with the state of each', async () => {
    expect(await read('get_node_services', { node: 'pve', filter: 'pveproxy' })).toMatchObject({
      status: 'ok',
      result: { total: 1, services: [{ service: 'pveproxy', state: 'running' }] },
    });
  });

  it('get_metrics: a course in one line for a person, figures for a program', async () => {
    for (const input of [{ vmid: 201, timeframe: 'hour' }, { node: 'pve' }]) {
      const outcome = await read('get_metrics', input);
      expect(outcome).toMatchObject({ status: 'ok', result: { metrics: { cpu: { min: expect.any(Number), max: expect.any(Number) } } } });
      expect(outcome.message).toMatch(/cpu [▁▂▃▄▅▆▇█ ]+ \d+ % on average/);
    }
    expect(await read('get_metrics')).toMatchObject({ code: 'invalid_input' });
  });

  it('get_ha_status: what is managed, and what is in trouble', async () => {
    manageGuest(world, 101, { crmState: 'error', state: 'started' });
    const outcome = await read('get_ha_status');
    world.demo.cluster.ha.resources.clear();
    expect(outcome).toMatchObject({ status: 'ok', message: expect.stringContaining('vm:101 is in `error`') });
    expect(outcome.result).toMatchObject({ quorate: true, services: [{ sid: 'vm:101', state: 'error' }] });
  });

  it('get_replication, get_ceph_status: none is an answer', async () => {
    expect(await read('get_replication')).toMatchObject({ status: 'ok', message: '0 replication jobs, 0 failing', result: { jobs: [] } });
    expect(await read('get_ceph_status')).toMatchObject({ status: 'ok', result: { installed: false } });
  });

  it('get_updates: a right that looking does not give', async () => {
    expect(await read('get_updates', { node: 'pve' })).toMatchObject({
      status: 'error',
      code: 'pve_forbidden',
      message: expect.stringContaining('Sys.Modify'),
    });
  });

  it('get_permissions: which tools this token may not use, and why', async () => {
    const { result } = await read('get_permissions');
    const { groups } = result as { groups: { group: string; allowed: boolean; missing: string[]; tools: string[] }[] };
    const of = (name: string) => groups.find((group) => group.group === name);
    expect(of('power')).toMatchObject({ allowed: true, missing: [] });
    expect(of('updates')).toMatchObject({ allowed: false, missing: ['Sys.Modify on /nodes'] });
    const known = new Set(catalog.map((tool) => tool.name));
    const named = groups.flatMap((group) => group.tools).filter((name) => !name.includes(' '));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it('none of them touches anything', () => {
    const names = [
      'get_guest',
      'get_task',
      'get_node_services',
      'get_metrics',
      'get_ha_status',
      'get_replication',
      'get_ceph_status',
      'get_updates',
      'get_permissions',
    ];
    for (const name of names)
      expect(catalog.find((tool) => tool.name === name)).toMatchObject({ tier: 'green', impact: 'none', permission: 'data:read' });
  });
});
