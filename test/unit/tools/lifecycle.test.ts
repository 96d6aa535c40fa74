import { describe, expect, it } from 'vitest';
import { Fault } from '#kernel/errors';
import type { GuestAction } from '#kernel/ports/cluster';
import { english } from '#kernel/text/message';
import { guestRisk } from '#tools/support/guest-facts';
import { createToolBench, target } from './support/run-tool.ts';

const signal = new AbortController().signal;

describe('the six lifecycle tools', () => {
  it.each([
    ['start_vm', 100, 'pve', 'qemu', 'start', 'running', 'VM 100 (web) on pve started'],
    ['stop_vm', 100, 'pve', 'qemu', 'stop', 'stopped', 'VM 100 (web) on pve stopped'],
    ['restart_vm', 100, 'pve', 'qemu', 'reboot', 'running', 'VM 100 (web) on pve restarted'],
    ['start_container', 200, 'Home', 'lxc', 'start', 'running', 'container 200 (web) on Home started'],
    ['stop_container', 200, 'Home', 'lxc', 'stop', 'stopped', 'container 200 (web) on Home stopped'],
    ['restart_container', 200, 'Home', 'lxc', 'reboot', 'running', 'container 200 (web) on Home restarted'],
  ] as const)('%s does one thing to the resolved guest, and says how it ended', async (...row) => {
    const [name, vmid, node, type, action, status, message] = row;
    const { run, cluster, noted } = createToolBench();
    const result = await run(name, { vmid }, [target.guest(vmid, node, type)]);
    expect(cluster.effects).toEqual([`changeGuest ${action} ${vmid} on ${node}`]);
    expect(result).toMatchObject({
      ok: true,
      message: `${message} (task exit status OK); it is ${status} now`,
      result: { vmid, node, type, status, task: { exitstatus: 'OK', log: ['TASK OK'] } },
    });
    const { upid } = cluster.task;
    expect(noted).toEqual([
      { state: 'sent', what: expect.stringContaining('may have been started') },
      { state: 'task', upid, lastSeen: 'accepted' },
      { state: 'task', upid, lastSeen: 'ended', exitStatus: 'OK' },
    ]);
  });

  it('a reboot whose task ends while the guest is down is reported once it is up again', async () => {
    const { run, cluster, clock } = createToolBench();
    const now = { status: 'stopped' };
    Object.assign(cluster.access.api, { guestStatus: async () => now });
    const reboot = run('restart_vm', { vmid: 100 }, [target.guest(100, 'pve')]);
    await clock.sleeping();
    now.status = 'running';
    clock.advance(500);
    expect(await reboot).toMatchObject({ ok: true, message: expect.stringContaining('it is running now') });
  });

  it('a reboot after which the guest stays down says so', async () => {
    const { run, cluster, clock } = createToolBench();
    Object.assign(cluster.access.api, { guestStatus: async () => ({ status: 'stopped' }) });
    const reboot = run('restart_vm', { vmid: 100 }, [target.guest(100, 'pve')]);
    for (let looks = 0; looks < 20; looks += 1) {
      await clock.sleeping();
      clock.advance(500);
    }
    expect(await reboot).toMatchObject({
      ok: false,
      code: 'state_not_reached',
      message: expect.stringContaining('but it is not seen running: it is stopped'),
      result: { requested: 'reboot', wanted: 'running', status: 'stopped' },
    });
  });

  it('use what was resolved, never the raw arguments', async () => {
    const { run, cluster } = createToolBench();
    await run('stop_vm', { vmid: 103, node: 'agent1' }, [target.guest(100, 'pve')]);
    expect(cluster.effects).toEqual(['changeGuest stop 100 on pve']);
    await expect(run('stop_vm', { vmid: 103 }, [])).rejects.toMatchObject({ code: 'internal_error' });
  });

  it('report a task that failed as a failure, with its log', async () => {
    const { run, cluster } = createToolBench();
    cluster.task = { ...cluster.task, exitStatus: 'VM is locked (backup)' };
    expect(await run('stop_vm', { vmid: 100 }, [target.guest(100, 'pve')])).toMatchObject({
      ok: false,
      code: 'task_failed',
      message: expect.stringMatching(/^Stop VM 100 \(web\) on pve failed: VM is locked \(backup\); it is /),
      result: { task: { exitstatus: 'VM is locked (backup)', log: ['TASK OK'] } },
    });
  });

  it.each([
    ['WARNINGS: 2', true, 'with WARNINGS: 2'],
    ['WARNINGS', false, 'failed: WARNINGS'],
    ['ok', false, 'failed: ok'],
    [undefined, false, 'ended without a word on how it went (no exit status)'],
  ])('take exit status `%s` for success: %s', async (exitStatus, ok, words) => {
    const { run, cluster } = createToolBench();
    const { exitStatus: _old, ...task } = cluster.task;
    cluster.task = exitStatus === undefined ? task : { ...task, exitStatus };
    const result = await run('stop_vm', { vmid: 100 }, [target.guest(100, 'pve')]);
    expect(result.ok).toBe(ok);
    expect(result.message).toContain(words);
  });

  it('follow the task to its end, ever more slowly, and say that it goes on', async () => {
    const { run, cluster, clock, progress } = createToolBench();
    cluster.task = { ...cluster.task, running: true };
    const result = run('stop_vm', { vmid: 100 }, [target.guest(100, 'pve')]);
    for (const wait of [250, 500, 1_000, 2_000, 2_000]) {
      await clock.sleeping();
      const before = cluster.calls.filter((call) => call.startsWith('taskStatus')).length;
      clock.advance(wait - 1);
      expect(cluster.calls.filter((call) => call.startsWith('taskStatus'))).toHaveLength(before);
      if (before === 5) cluster.task = { ...cluster.task, running: false };
      clock.advance(1);
    }
    expect(await result).toMatchObject({ ok: true });
    expect(progress).toContain(`waiting for the task to end (asked once), ${cluster.task.upid}`);
    expect(progress).toContain(`waiting for the task to end (asked 5 times), ${cluster.task.upid}`);
  });

  it('are not undone by a log or a state that cannot be read afterwards', async () => {
    const { run, cluster } = createToolBench();
    cluster.beforeChange = () => undefined;
    const api = cluster.access.api as { taskLog: unknown; guestStatus: unknown };
    api.taskLog = () => Promise.reject(new Fault('x', 'y'));
    api.guestStatus = () => Promise.reject(new Fault('x', 'y'));
    const result = await run('stop_vm', { vmid: 100 }, [target.guest(100, 'pve')]);
    expect(result).toMatchObject({
      ok: true,
      message: 'VM 100 (web) on pve stopped (task exit status OK); its state could not be read: y',
      result: { task: { log: [] } },
    });
    expect(result.result).not.toHaveProperty('status');
  });
});

describe('the blast radius', () => {
  const guest = { kind: 'guest', access: 'operate', cluster: 'lab', vmid: 100, node: 'pve', guestType: 'qemu', addresses: [] } as const;
  const risk = async (answers: { config?: object; status?: object; snapshots?: object[] }, action: GuestAction = 'stop') => {
    const { cluster } = createToolBench();
    const failing = () => Promise.reject(new Fault('pve_403', 'no'));
    const api = {
      ...cluster.access.api,
      guestConfig: answers.config === undefined ? failing : async () => answers.config as never,
      guestStatus: answers.status === undefined ? failing : async () => answers.status as never,
      snapshots: answers.snapshots === undefined ? failing : async () => answers.snapshots as never,
    };
    return (await guestRisk(api, { ...guest, status: 'running' }, action, signal)).map(english);
  };

  it('names what will be lost and who expects the guest to run', async () => {
    const facts = await risk({
      config: { onboot: 1, lock: 'backup', tags: 'prod;web' },
      status: { status: 'running', uptime: 7_200, ha: { managed: 1 } },
      snapshots: [{ name: 'current' }, { name: 'before' }],
    });
    expect(facts).toEqual([
      'now: running, up for 2 h',
      'a hard stop, like pulling the plug: unsaved work inside the guest is lost',
      'managed by HA: the HA manager may undo this',
      'starts on boot: somebody expects it to run',
      'locked by `backup`: the task will probably fail',
      '1 snapshot',
      'tags: prod;web',
    ]);
  });

  it('says what could not be read, and guesses nothing', async () => {
    expect(await risk({})).toEqual(['now: running', expect.stringContaining('a hard stop'), 'snapshots: not readable with this token']);
    expect(await risk({ config: {}, status: {}, snapshots: [{ name: 'current' }] }, 'reboot')).toEqual([
      'now: unknown',
      'a reboot: what runs inside is interrupted',
      'no snapshot to go back to',
    ]);
  });

  it.each([
    [119, '119 s'],
    [120, '2 min'],
    [7_199, '120 min'],
    [7_200, '2 h'],
    [172_799, '48 h'],
    [172_800, '2 days'],
  ])('an uptime of %d s is about %s', async (uptime, text) => {
    expect((await risk({ status: { status: 'running', uptime } }, 'start'))[0]).toBe(`now: running, up for ${text}`);
  });
});
