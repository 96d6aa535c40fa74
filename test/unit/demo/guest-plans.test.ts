/** What workers do to guests, beyond what the recordings show: locks, forced ends, overruled tasks, containers that resist. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Cluster, createCluster } from '#demo/pve/cluster';
import { rebootPlan, resetPlan, shutdownPlan, startPlan, stopPlan } from '#demo/pve/guest-plans';
import { snapshotPlan } from '#demo/pve/operations/snapshots';
import type { ClusterSeed, GuestSeed } from '#demo/pve/state';
import { createManualClock, type ManualClock, type TaskPlan } from '#demo/pve/task-engine';
import { createRandom } from '#demo/random';

const node = { nodeid: 1, ip: '10.0.0.1', cpus: 2, memoryBytes: 1e9, diskBytes: 1e9, diskUsedBytes: 1e8, uptimeSeconds: 100 };
const guests: readonly GuestSeed[] = [
  { vmid: 100, kind: 'qemu', node: 'pve', running: true, config: { name: 'obeys' } },
  { vmid: 101, kind: 'qemu', node: 'pve', running: true, obeysShutdown: false, config: { name: 'resists', agent: 'enabled=1,type=isa' } },
  { vmid: 102, kind: 'qemu', node: 'pve', running: true, config: { name: 'locked', lock: 'snapshot' } },
  { vmid: 200, kind: 'lxc', node: 'pve', running: true, config: { hostname: 'obeys' } },
  { vmid: 201, kind: 'lxc', node: 'pve', running: true, obeysShutdown: false, config: { hostname: 'resists' } },
  { vmid: 202, kind: 'lxc', node: 'pve', config: { hostname: 'template', template: 1 } },
];
const seed: ClusterSeed = {
  name: 'one',
  version: 1,
  nodes: [{ name: 'pve', ...node }],
  guests,
  storages: [],
  volumes: [],
  tasks: [],
  access: { users: {}, tokens: [], roles: {}, entries: [] },
};

let clock: ManualClock;
let cluster: Cluster;

beforeEach(() => {
  clock = createManualClock(Date.UTC(2026, 10, 21));
  cluster = createCluster({ seed, clock, random: createRandom(1), taskDurationMs: 1000 });
});

function target(vmid: number) {
  return { cluster, kind: vmid < 200 ? ('qemu' as const) : ('lxc' as const), node: 'pve', vmid };
}

function run(vmid: number, type: string, plan: TaskPlan): string {
  return cluster.tasks.start({ node: 'pve', type, id: String(vmid), user: 'root@pam' }, plan);
}

function pass(ms: number): void {
  clock.advance(ms);
  cluster.tasks.advance();
}

function end(upid: string) {
  const task = cluster.tasks.find(upid);
  return { exit: task?.exitstatus, log: task?.log };
}

function running(vmid: number): boolean | undefined {
  return cluster.state.guests.get(vmid)?.running;
}

describe('shutting down', () => {
  it('waits for the guest, kills it only when forced', () => {
    const patient = run(101, 'qmshutdown', shutdownPlan(target(101), { timeoutSeconds: 30, force: false }));
    pass(33_000);
    expect(end(patient)).toEqual({
      exit: 'VM quit/powerdown failed - got timeout',
      log: [
        "QEMU Guest Agent is not running - VM 101 qga command 'guest-ping' failed - got timeout",
        'TASK ERROR: VM quit/powerdown failed - got timeout',
      ],
    });
    expect(running(101)).toBe(true);
    const forced = run(101, 'qmshutdown', shutdownPlan(target(101), { timeoutSeconds: 1, force: true }));
    pass(4000);
    expect(end(forced)).toMatchObject({
      exit: 'OK',
      log: [expect.stringContaining('guest-ping'), 'VM quit/powerdown failed - terminating now with SIGTERM', 'TASK OK'],
    });
    expect(running(101)).toBe(false);
  });

  it('of a container that resists says what failed', () => {
    const upid = run(201, 'vzshutdown', shutdownPlan(target(201), { timeoutSeconds: 20, force: false }));
    pass(20_000);
    expect(end(upid)).toEqual({
      exit: 'container did not stop',
      log: ["command 'lxc-stop -n 201 --nokill --timeout 20' failed: exit code 1", 'TASK ERROR: container did not stop'],
    });
    const forced = run(201, 'vzshutdown', shutdownPlan(target(201), { timeoutSeconds: 1, force: true }));
    pass(1000);
    expect([end(forced).exit, running(201)]).toEqual(['OK', false]);
  });

  it('minds the lock, also when stopping', () => {
    expect(end(run(102, 'qmshutdown', shutdownPlan(target(102), { timeoutSeconds: 1, force: false }))).exit).toBe(
      'VM is locked (snapshot)',
    );
    expect(end(run(102, 'qmstop', stopPlan(target(102), { overrule: false }))).exit).toBe('VM is locked (snapshot)');
    expect(end(run(102, 'qmreset', resetPlan(target(102)))).exit).toBe('VM is locked (snapshot)');
  });
});

describe('the configuration lock', () => {
  it('is waited for, ten seconds', () => {
    run(101, 'qmshutdown', shutdownPlan(target(101), { timeoutSeconds: 60, force: false }));
    const blocked = run(101, 'qmstop', stopPlan(target(101), { overrule: false }));
    pass(9000);
    expect(end(blocked)).toEqual({ exit: undefined, log: ['trying to acquire lock...'] });
    pass(2000);
    expect(end(blocked).exit).toBe("can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout");
  });

  it('is another for each guest', () => {
    run(101, 'qmshutdown', shutdownPlan(target(101), { timeoutSeconds: 60, force: false }));
    const other = run(100, 'qmstop', stopPlan(target(100), { overrule: false }));
    pass(1000);
    expect(end(other)).toEqual({ exit: 'OK', log: ['TASK OK'] });
  });

  it('is freed by a task that is stopped or fails', () => {
    const shutdown = run(101, 'qmshutdown', shutdownPlan(target(101), { timeoutSeconds: 60, force: false }));
    pass(4000);
    cluster.tasks.interrupt(shutdown);
    expect(end(shutdown).exit).toBe('received interrupt');
    const stop = run(101, 'qmstop', stopPlan(target(101), { overrule: false }));
    pass(1000);
    expect([end(stop).exit, running(101)]).toEqual(['OK', false]);
  });
});

it('a stop overrules shutdowns that wait, when asked to', () => {
  const shutdown = run(201, 'vzshutdown', shutdownPlan(target(201), { timeoutSeconds: 60, force: false }));
  const stop = run(201, 'vzstop', stopPlan(target(201), { overrule: true }));
  pass(1000);
  expect(end(shutdown).exit).toBe('received interrupt');
  pass(1000);
  // The container's own `lxc-stop` holds the lock a little longer than the worker lives.
  expect(end(stop)).toEqual({
    exit: 'OK',
    log: [`overruled vzshutdown tasks: ${shutdown}`, 'trying to acquire lock...', ' OK', 'TASK OK'],
  });
  expect(running(201)).toBe(false);
});

describe('rebooting', () => {
  it('kills a container that resists and starts it in the same task', () => {
    const before = cluster.state.guests.get(201)?.startedAt ?? 0;
    const upid = run(201, 'vzreboot', rebootPlan(target(201), 5));
    pass(5000);
    expect([end(upid).exit, running(201)]).toEqual([undefined, false]);
    pass(1000);
    expect([end(upid).exit, running(201)]).toEqual(['OK', true]);
    expect(cluster.state.guests.get(201)?.startedAt).toBeGreaterThan(before);
  });

  it('leaves a VM that resists alone', () => {
    const upid = run(101, 'qmreboot', rebootPlan(target(101), 2));
    pass(6000);
    expect([end(upid).exit, running(101)]).toEqual(['VM quit/powerdown failed - got timeout', true]);
  });

  it('of a VM ends before it is up again', () => {
    const upid = run(100, 'qmreboot', rebootPlan(target(100), 60));
    pass(1000);
    expect([end(upid).exit, running(100)]).toEqual(['OK', false]);
    pass(5000);
    expect(running(100)).toBe(true);
    expect(cluster.tasks.list()[0]).toMatchObject({ type: 'qmstart', user: 'root@pam', exitstatus: 'OK' });
  });
});

describe('starting and snapshots', () => {
  it('are refused to templates, in words of the kind', () => {
    expect(end(run(202, 'vzstart', startPlan(target(202)))).exit).toBe("you can't start a CT if it's a template");
    expect(end(run(202, 'vzsnapshot', snapshotPlan(target(202), { name: 'a', description: '', vmstate: false }))).exit).toBe(
      "you can't take a snapshot if it's a template",
    );
  });

  it('take a name once, each with the one before as its parent', () => {
    const snapshot = (name: string) => {
      const upid = run(100, 'qmsnapshot', snapshotPlan(target(100), { name, description: 'd', vmstate: true }));
      pass(1000);
      return end(upid).exit;
    };
    expect([snapshot('one'), snapshot('two'), snapshot('one')]).toEqual(['OK', 'OK', "snapshot name 'one' already used"]);
    const taken = cluster.state.guests.get(100)?.snapshots ?? [];
    expect(taken.map(({ name, parent, config }) => [name, parent, config.has('vmstate')])).toEqual([
      ['one', undefined, true],
      ['two', 'one', true],
    ]);
  });
});
