import { describe, expect, it } from 'vitest';
import { Fault } from '#kernel/errors';
import type { ShellResult } from '#kernel/ports/shell';
import { createToolBench, target } from './support/run-tool.ts';

const shell = (changes: Partial<ShellResult>): ShellResult => ({ stdout: '', stderr: '', exitCode: 0, truncated: false, ...changes });

describe('get_cluster_status', () => {
  it('tells health, quorum and nodes', async () => {
    const { run, cluster } = createToolBench();
    expect(await run('get_cluster_status')).toMatchObject({
      ok: true,
      message: 'cluster homelab is healthy: 3 of 3 nodes online, quorate',
      result: { cluster: 'homelab', quorate: true, nodes: [{ node: 'Home', online: true, ip: '192.168.1.50' }, {}, {}] },
    });
    for (const node of cluster.nodes.slice(1, 2)) node.status = 'offline';
    expect((await run('get_cluster_status')).message).toBe('cluster homelab is degraded: 2 of 3 nodes online, quorate');
  });

  it('tells a cluster without quorum and a standalone node apart', async () => {
    const { run, cluster } = createToolBench();
    const api = cluster.access.api as { clusterStatus: unknown };
    api.clusterStatus = async () => [
      { type: 'cluster', name: 'c', quorate: false },
      { type: 'node', name: 'a', online: true },
    ];
    expect(await run('get_cluster_status')).toMatchObject({
      message: 'cluster c is without quorum: 1 of 1 nodes online, not quorate',
      result: { health: 'without quorum' },
    });
    api.clusterStatus = async () => [{ type: 'node', name: 'a', online: true }];
    expect(await run('get_cluster_status')).toMatchObject({
      message: 'cluster lab is healthy: 1 of 1 nodes online, standalone',
      result: { quorate: null },
    });
  });
});

describe('get_node_status', () => {
  it('tells CPU, memory, uptime and load as numbers', async () => {
    const { run, cluster } = createToolBench();
    cluster.nodeStatus = { cpu: 0.125, memory: { used: 2 ** 30, total: 2 ** 32 }, uptime: 5, loadavg: ['0.10', '0.20', 'x'] };
    expect(await run('get_node_status', { node: 'pve' }, [target.node('pve')])).toMatchObject({
      message: 'node pve: CPU 12.5 %, memory 25.0 % of 4.0 GiB',
      result: { node: 'pve', cpu: 0.125, uptime: 5, loadavg: [0.1, 0.2, null], rootfs: null },
    });
  });

  it('says unknown where the node says nothing', async () => {
    const { run } = createToolBench();
    expect((await run('get_node_status', { node: 'pve' }, [target.node('pve')])).message).toBe('node pve: CPU unknown, memory unknown');
  });
});

describe('the lists', () => {
  it('get_vms and get_containers keep the API’s own fields, sorted', async () => {
    const { run } = createToolBench();
    expect(await run('get_vms')).toMatchObject({
      message: '3 VMs, 3 running',
      result: { vms: [{ vmid: 100, type: 'qemu' }, { vmid: 101 }, { vmid: 103 }] },
    });
    expect(await run('get_containers', { limit: 1 })).toMatchObject({
      message: '1 of 2 containers (pass `cursor` for more), 1 running',
      result: { containers: [{ vmid: 200, node: 'Home', type: 'lxc', status: 'running' }], cursor: expect.any(String) },
    });
  });

  it('get_cluster_resources asks for what the API knows: `container` is the lxc rows of `vm`', async () => {
    const { run, cluster } = createToolBench();
    cluster.rows = [
      { type: 'qemu', vmid: 1 },
      { type: 'lxc', vmid: 2 },
    ];
    expect(await run('get_cluster_resources', { type: 'container' })).toMatchObject({ result: { resources: [{ vmid: 2 }], total: 1 } });
    await run('get_cluster_resources', { type: 'sdn' });
    await run('get_cluster_resources');
    expect(cluster.calls.filter((call) => call !== 'permissions')).toEqual(['resources vm', 'resources sdn', 'resources all']);
    await expect(run('get_cluster_resources', { type: 'pool' })).rejects.toThrow('"type"');
  });

  it('get_storage lists the pools', async () => {
    const { run, cluster } = createToolBench();
    cluster.rows = [{ storage: 'local' }];
    expect(await run('get_storage')).toMatchObject({ message: '1 storage pool', result: { storage: [{ storage: 'local' }] } });
    expect(cluster.calls).toEqual(['resources storage', 'permissions']);
  });

  it('get_recent_tasks gives twenty, the newest first', async () => {
    const { run, cluster } = createToolBench();
    cluster.rows = Array.from({ length: 30 }, (_, starttime) => ({ upid: `U${starttime}`, starttime }));
    expect(await run('get_recent_tasks')).toMatchObject({
      message: '20 of 30 tasks (pass `cursor` for more)',
      result: { tasks: expect.arrayContaining([{ upid: 'U29', starttime: 29 }]) },
    });
    expect(await run('get_recent_tasks', { limit: 1 })).toMatchObject({ result: { tasks: [{ upid: 'U29' }] } });
  });
});

describe('get_backups', () => {
  it('lists the newest first', async () => {
    const { run, cluster } = createToolBench();
    cluster.rows = [
      { volid: 'a', ctime: 1 },
      { volid: 'b', ctime: 2 },
    ];
    expect(await run('get_backups', { node: 'pve' }, [target.node('pve')])).toMatchObject({
      message: '2 backups',
      result: { node: 'pve', storage: 'local', backups: [{ volid: 'b' }, { volid: 'a' }] },
    });
    expect(cluster.calls).toEqual(['backups pve local', 'permissions']);
  });

  it('tells "none" from "not allowed to see them"', async () => {
    const { run, cluster } = createToolBench();
    expect((await run('get_backups', { node: 'pve' }, [target.node('pve')])).message).toBe('0 backups');
    cluster.permissions = { '/': { 'VM.Audit': true }, '/vms': { 'VM.Audit': true }, '/storage': { 'VM.Audit': true } };
    expect(await run('get_backups', { node: 'pve' }, [target.node('pve')])).toMatchObject({
      message: expect.stringContaining('it lacks `Datastore.AllocateSpace on /storage/local` and `VM.Backup on /vms`'),
      result: { missing_privileges: ['Datastore.AllocateSpace on /storage/local', 'VM.Backup on /vms'] },
      next: 'give Datastore.AllocateSpace on /storage/local',
    });
  });

  it.each(['../local', 'a/b', '-x', '', 'x'.repeat(101), 'local;id'])('takes no storage like %j', async (storage) => {
    await expect(createToolBench().run('get_backups', { node: 'pve', storage }, [target.node('pve')])).rejects.toThrow('"storage"');
  });
});

describe('get_node_temperature', () => {
  const zones = [
    'zone0/type:x86_pkg_temp',
    'zone0/temp:45500',
    'zone1/temp:-5000',
    'zone2/type:acpitz',
    'zone2/temp:',
    'zone3/temp:abc',
    'noise',
  ];

  it('gives every zone that has a number, in degrees', async () => {
    const { run, cluster } = createToolBench();
    cluster.shellAnswer = () => shell({ stdout: zones.map((line) => `/sys/class/thermal/thermal_${line}`).join('\n') });
    expect(await run('get_node_temperature', { node: 'pve' }, [target.node('pve')])).toMatchObject({
      ok: true,
      message: 'node pve: 2 thermal zones, hottest 45.5 °C',
      result: {
        zones: [
          { zone: 'thermal_zone0', type: 'x86_pkg_temp', celsius: 45.5 },
          { zone: 'thermal_zone1', type: null, celsius: -5 },
        ],
        sensors: [],
        hottest: 45.5,
      },
    });
  });

  it('gives hwmon sensors with chip and label, also where there is no zone', async () => {
    const { run, cluster } = createToolBench();
    const lines = [
      'hwmon0/name:coretemp',
      'hwmon0/temp1_label:Package id 0',
      'hwmon0/temp1_input:52000',
      'hwmon0/temp2_input:51500',
      'hwmon2/temp1_input:39850',
      'hwmon3/name:it87',
      'hwmon3/temp1_input:',
    ];
    cluster.shellAnswer = () => shell({ exitCode: 2, stdout: lines.map((line) => `/sys/class/hwmon/${line}`).join('\n') });
    expect(await run('get_node_temperature', { node: 'pve' }, [target.node('pve')])).toMatchObject({
      ok: true,
      message: 'node pve: 3 sensors, hottest 52 °C',
      result: {
        zones: [],
        sensors: [
          { sensor: 'hwmon0/temp1', chip: 'coretemp', label: 'Package id 0', celsius: 52 },
          { sensor: 'hwmon0/temp2', chip: 'coretemp', label: null, celsius: 51.5 },
          { sensor: 'hwmon2/temp1', chip: null, label: null, celsius: 39.9 },
        ],
      },
    });
  });

  it('says when there are none', async () => {
    const { run } = createToolBench();
    expect(await run('get_node_temperature', { node: 'pve' }, [target.node('pve')])).toMatchObject({ ok: false, code: 'no_thermal_zones' });
  });
});

describe('execute_ssh', () => {
  const both = [target.node('pve'), target.command('uptime')];

  it('runs the checked text on the resolved node', async () => {
    const { run, cluster } = createToolBench();
    const result = await run('execute_ssh', { node: 'x', command: 'rm -rf /' }, both);
    expect(cluster.effects).toEqual(['exec pve uptime']);
    expect(result).toMatchObject({
      ok: true,
      message: '`uptime` on pve ended with exit code 0',
      result: { command: 'uptime', stdout: 'ok\n', exit_code: 0 },
    });
    expect(result.result).not.toHaveProperty('truncated');
    await expect(run('execute_ssh', { node: 'x', command: 'uptime' }, [target.node('pve')])).rejects.toMatchObject({
      code: 'internal_error',
    });
  });

  it('reports how it failed', async () => {
    const { run, cluster } = createToolBench();
    cluster.shellAnswer = () => shell({ exitCode: 3, stderr: 'no', truncated: true });
    expect(await run('execute_ssh', { node: 'x', command: 'x' }, both)).toMatchObject({
      ok: false,
      code: 'command_failed',
      message: '`uptime` on pve ended with exit code 3',
      result: { exit_code: 3, stderr: 'no', truncated: true },
    });
    const { exitCode: _none, ...killed } = shell({ signal: 'KILL' });
    cluster.shellAnswer = () => killed;
    expect(await run('execute_ssh', { node: 'x', command: 'x' }, both)).toMatchObject({
      message: '`uptime` on pve ended with signal KILL',
      result: { exit_code: null },
    });
  });
});

describe('restart_service', () => {
  const nginx = [target.service('pve', 'nginx.service')];
  const start = (answers: Record<string, Partial<ShellResult>>) => {
    const bench = createToolBench();
    bench.cluster.shellAnswer = (_node, command) => shell(answers[command.split(' ')[1] ?? ''] ?? {});
    const result = bench.run('restart_service', { node: 'pve', service: 'nginx' }, nginx);
    return { ...bench, result };
  };

  it('restarts, waits three seconds, and looks whether it is active', async () => {
    const { result, clock, cluster, noted } = start({ 'is-active': { stdout: 'active\n' } });
    await clock.sleeping();
    expect(cluster.effects).toEqual(['exec pve systemctl restart -- nginx.service']);
    clock.advance(2_999);
    expect(cluster.effects).toHaveLength(1);
    clock.advance(1);
    expect(await result).toMatchObject({
      ok: true,
      message: 'nginx.service on pve was restarted and is active',
      result: { state: 'active' },
    });
    expect(cluster.effects.at(-1)).toBe('exec pve systemctl is-active -- nginx.service');
    expect(noted).toEqual([expect.objectContaining({ state: 'sent', what: expect.stringContaining('systemd carries it on') })]);
  });

  it('says when it did not stay up', async () => {
    const { result, clock } = start({ 'is-active': { stdout: 'failed\n', exitCode: 3 } });
    await clock.sleeping();
    clock.advance(3_000);
    expect(await result).toMatchObject({
      ok: false,
      code: 'service_not_active',
      message: 'nginx.service on pve was restarted (exit code 0) and is failed 3 s later',
    });
  });

  it('goes by exit codes, whatever a login shell prints first', async () => {
    const motd = 'Welcome to pve!\nfailed login attempts: 3\n';
    const up = start({ 'is-active': { stdout: `${motd}active\n` }, restart: { stdout: motd } });
    await up.clock.sleeping();
    up.clock.advance(3_000);
    expect(await up.result).toMatchObject({ ok: true, result: { state: 'active' } });
    const down = start({ 'is-active': { stdout: `active\n${motd}inactive\n`, exitCode: 3 } });
    await down.clock.sleeping();
    down.clock.advance(3_000);
    expect(await down.result).toMatchObject({ ok: false, code: 'service_not_active', result: { state: 'inactive' } });
    const odd = start({ 'is-active': { stdout: motd, exitCode: 4 } });
    await odd.clock.sleeping();
    odd.clock.advance(3_000);
    expect(await odd.result).toMatchObject({ message: expect.stringContaining('is not active 3 s later') });
  });

  it('does not call a restart failed whose state could not be asked', async () => {
    const { result, clock, cluster } = start({});
    await clock.sleeping();
    cluster.shellAnswer = () => Promise.reject(new Fault('ssh_unreachable', 'no ssh connection'));
    clock.advance(3_000);
    expect(await result).toMatchObject({
      ok: false,
      code: 'service_state_unknown',
      message: 'nginx.service on pve was restarted (exit code 0); whether it is active could not be asked: no ssh connection',
      next: expect.stringContaining('do not repeat it'),
    });
  });

  it('says why it could not be restarted', async () => {
    const { result, cluster } = start({ restart: { exitCode: 1, stderr: 'first\nJob for nginx.service failed.\n' } });
    expect(await result).toMatchObject({
      ok: false,
      code: 'service_restart_failed',
      message: 'nginx.service on pve could not be restarted (exit code 1): Job for nginx.service failed',
    });
    expect(cluster.effects).toEqual([
      'exec pve systemctl restart -- nginx.service',
      'exec pve systemctl show --property=LoadState -- nginx.service',
    ]);
  });

  it.each([
    ['not-found', 'service_not_found'],
    ['masked', 'service_masked'],
    ['bad-setting', 'service_not_loaded'],
  ])('says of a unit that systemd has %s that nothing was done, whatever a login prints first', async (state, code) => {
    const noise = 'LoadState=loaded\nWelcome\n';
    const { result } = start({ restart: { exitCode: 1 }, show: { stdout: `${noise}LoadState=${state}\n` } });
    expect(await result).toMatchObject({ ok: false, code, effect: { state: 'not_sent' } });
  });
});

describe('wake_node', () => {
  it('says what was sent, and does not claim that the node is awake', async () => {
    const { run, cluster } = createToolBench();
    expect(await run('wake_node', { node: 'pve' }, [target.node('pve', false)])).toMatchObject({
      ok: true,
      message: 'wake-on-LAN for node pve was sent (packet to aa:bb:cc:dd:ee:ff); it is not known to be awake yet',
      result: { sent: true, via: 'packet', online: false },
    });
    expect((await run('wake_node', { node: 'pve' }, [target.node('pve')])).message).toContain('says it is online already');
    expect(cluster.effects).toEqual(['wake pve', 'wake pve']);
  });
});

it('reboot_node has no code behind it', async () => {
  const { run, cluster } = createToolBench();
  await expect(run('reboot_node', { node: 'pve' }, [target.node('pve')])).rejects.toThrow(Fault);
  expect(cluster.calls).toEqual([]);
});
