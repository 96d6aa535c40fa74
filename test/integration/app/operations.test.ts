/** Operations on guests through an App on the emulator: what is asked, what is done, and every trap that the API has. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { agent, approvedCall, call, manageGuest, startWorld, type World } from './support.ts';

let world: World;
let app: App;
beforeEach(async () => {
  world = await startWorld();
  app = await world.open();
});
afterEach(async () => {
  await world.close();
});

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

const approved = (tool: string, input: unknown, onApp = app): Promise<Outcome> => approvedCall(world, onApp, { tool, input });

/** The question as the person reads it. */
async function cardOf(tool: string, input: unknown): Promise<{ readonly title: string; readonly risk: string; readonly impact: string }> {
  const { request_id: id = '', message } = await call(app, tool, input);
  const record = await app.approvals.get(id);
  if (record === undefined) throw new Error(`no request: ${message}`);
  return { title: record.title, risk: record.risk.join('\n'), impact: record.impact };
}

/** What somebody else does in the time that a person thinks. */
async function driftWhileAsked(tool: string, input: unknown, drift: () => void): Promise<Outcome> {
  return app.call({
    tool,
    input,
    agent,
    signal: new AbortController().signal,
    waitMs: 20_000,
    gate: {
      ask: (request) => {
        drift();
        void app.approvals.approve(request.id, world.person);
      },
    },
  });
}

/** Node `name` goes down. */
function down(name: string): Promise<void> {
  return world.demo.faults.nodeDown(name);
}

describe('snapshots', () => {
  it('are taken, named by the other tool as the way back, and deleted', async () => {
    const card = await cardOf('create_snapshot', { vmid: 100, name: 'before_update' });
    expect(card).toMatchObject({ title: 'Take snapshot before_update of VM 100 (web) on pve', impact: 'reversible' });
    expect(card.risk).toContain('can be taken back by delete_snapshot');
    expect(card.risk).toContain('its memory is not kept');
    const taken = await approved('create_snapshot', { vmid: 100, name: 'before_update', description: 'x' });
    expect(taken).toMatchObject({ status: 'ok', result: { snapshot: 'before_update', task: { exitstatus: 'OK' } } });
    expect(guest(100).snapshots.map(({ name }) => name)).toEqual(['before_update']);
    expect(await call(app, 'create_snapshot', { vmid: 100, name: 'before_update' })).toMatchObject({ code: 'snapshot_exists' });
    expect((await cardOf('delete_snapshot', { vmid: 100, name: 'before_update' })).risk).toContain('cannot be taken back');
    expect(await approved('delete_snapshot', { vmid: 100, name: 'before_update' })).toMatchObject({ status: 'ok' });
    expect(guest(100).snapshots).toEqual([]);
  });

  it.each([
    [{ vmid: 900, name: 's1' }, 'guest_is_template'],
    [{ vmid: 104, name: 's1' }, 'guest_locked'],
    [{ vmid: 101, name: 's1', memory: true }, 'guest_not_running'],
    [{ vmid: 201, name: 's1', memory: true }, 'invalid_input'],
    [{ vmid: 100, name: 'current' }, 'invalid_input'],
    [{ vmid: 100, name: '1st' }, 'invalid_input'],
  ])('create_snapshot %o: nobody is asked for what fails late (%s)', async (input, code) => {
    expect(await call(app, 'create_snapshot', input)).toMatchObject({ status: 'error', code });
  });

  it('a rollback says what it destroys: disks, sizes, tags; and that later snapshots stay', async () => {
    await approved('create_snapshot', { vmid: 101, name: 'first' });
    guest(101).config.set('cores', 8);
    guest(101).config.set('tags', 'new');
    await approved('create_snapshot', { vmid: 101, name: 'second' });
    const card = await cardOf('rollback_snapshot', { vmid: 101, name: 'first' });
    expect(card.impact).toBe('irreversible');
    expect(card.risk).toContain('everything on its disks since the snapshot');
    expect(card.risk).toContain('cores: 8 → 2');
    expect(card.risk).toContain('tags: new → not set');
    expect(card.risk).toMatch(/later snapshots stay.*second/);
    expect(card.risk).toContain('cannot be taken back: ');
    expect(await approved('rollback_snapshot', { vmid: 101, name: 'first' })).toMatchObject({ status: 'ok' });
    expect(guest(101).config.get('cores')).toBe(2);
    expect(guest(101).config.get('tags')).toBeUndefined();
    expect(guest(101).snapshots.map(({ name }) => name)).toEqual(['first', 'second']);
  });

  it('a rollback to what is not there, or of a running guest, is no surprise', async () => {
    expect(await call(app, 'rollback_snapshot', { vmid: 100, name: 'nothing' })).toMatchObject({
      status: 'error',
      code: 'unknown_snapshot',
    });
    await approved('create_snapshot', { vmid: 100, name: 'first' });
    expect((await cardOf('rollback_snapshot', { vmid: 100, name: 'first' })).risk).toContain('it is stopped, and stays stopped');
    expect(await approved('rollback_snapshot', { vmid: 100, name: 'first' })).toMatchObject({ status: 'ok' });
    expect(guest(100).running).toBe(false);
  });
});

describe('backup_guest', () => {
  it('looks that the archive is there', async () => {
    const outcome = await approved('backup_guest', { vmid: 100, storage: 'local' });
    expect(outcome).toMatchObject({ status: 'ok', result: { archive: expect.stringMatching(/^local:backup\/vzdump-qemu-100-/) } });
  });

  it('of a guest that moved meanwhile saves nothing, and is no success: the API says `OK` and begins no task', async () => {
    const { cluster } = world.demo;
    const moved = await app.call({
      tool: 'backup_guest',
      input: { vmid: 101, storage: 'local' },
      agent,
      signal: new AbortController().signal,
      waitMs: 20_000,
      gate: { ask: (request) => void app.approvals.approve(request.id, world.person) },
      onProgress: (message) => {
        // Between the last look and the request.
        if (message.includes('asking the cluster')) guest(101).node = 'pve';
      },
    });
    expect(moved).toMatchObject({ status: 'error', code: 'nothing_done', effect: { state: 'not_sent' } });
    expect(cluster.tasks.list().filter((task) => task.type === 'vzdump' && task.id === '101')).toEqual([]);
  });

  it('in mode stop says that the guest and the node’s other backups stand still', async () => {
    const { title, risk } = await cardOf('backup_guest', { vmid: 100, storage: 'local', mode: 'stop' });
    expect(title).toBe('Back up VM 100 (web) on pve to local, in mode stop');
    expect(risk).toContain(
      'it is shut down first, which may take ten minutes, and started again afterwards; until then no other backup runs on this node',
    );
  });

  it.each([
    [{ vmid: 100, storage: 'local-lvm' }, 'storage_unfit'],
    [{ vmid: 100, storage: 'nowhere' }, 'unknown_storage'],
    [{ vmid: 104, storage: 'local' }, 'guest_locked'],
  ])('%o: nobody is asked (%s)', async (input, code) => {
    expect(await call(app, 'backup_guest', input)).toMatchObject({ status: 'error', code });
  });

  it('that takes longer than a call hands back its task, and get_task follows it', async () => {
    const slow = await startWorld({ taskDurationMs: 40_000 });
    const hasty = await slow.open({ limits: { callMs: 9_000 } });
    const outcome = await approvedCall(slow, hasty, { tool: 'backup_guest', input: { vmid: 100, storage: 'local' } });
    const seen = await call(hasty, 'get_task', { upid: outcome.effect?.['upid'] });
    await slow.close();
    expect(outcome).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('still running as task UPID'),
      next: expect.stringContaining('get_task'),
      result: { task: { running: true } },
      effect: { state: 'task', last_seen: 'running' },
    });
    expect(seen).toMatchObject({ status: 'ok', result: { status: 'running' } });
  });
});

describe('restore_guest', () => {
  const archive = () => world.demo.cluster.state.volumes.find(({ volid }) => volid.includes('vzdump-qemu-100'))?.volid ?? '';

  it('makes a new guest, and nothing else', async () => {
    const input = { archive: archive(), new_vmid: 300, node: 'pve', storage: 'local-lvm' };
    const { risk } = await cardOf('restore_guest', input);
    expect(risk).toMatch(/a backup of guest 100, made 22 h ago/);
    expect(risk).toContain('can be taken back by delete_guest');
    expect(await approved('restore_guest', input)).toMatchObject({ status: 'ok', result: { vmid: 300, node: 'pve' } });
    expect(guest(300).node).toBe('pve');
  });

  it.each([
    [{ new_vmid: 101, node: 'pve' }, 'guest_exists'],
    [{ new_vmid: 103, node: 'pve' }, 'protected_resource'],
    [{ new_vmid: 300, node: 'agent1' }, 'protected_resource'],
    [{ new_vmid: 300, node: 'nowhere' }, 'unknown_node'],
    [{ new_vmid: 300, node: 'pve', force: true }, 'invalid_input'],
    [{ new_vmid: 300, node: 'pve', archive: 'local:iso/debian.iso' }, 'invalid_input'],
  ])('%o is %s', async (input, code) => {
    expect(await call(app, 'restore_guest', { archive: archive(), ...input })).toMatchObject({ code });
  });
});

describe('a new guest', () => {
  const archive = () => world.demo.cluster.state.volumes.find(({ volid }) => volid.includes('vzdump-qemu-100'))?.volid ?? '';

  it('in a pool that is not there, or from a backup that its node does not see, is nothing to ask about', async () => {
    const clone = { vmid: 101, new_vmid: 300 };
    const restore = { archive: archive(), new_vmid: 300, node: 'pve' };
    for (const [tool, input] of [
      ['clone_guest', { ...clone, pool: 'nosuch' }],
      ['restore_guest', { ...restore, pool: 'nosuch' }],
    ] as const)
      expect(await call(app, tool, input)).toMatchObject({ status: 'error', code: 'unknown_pool' });
    expect(await call(app, 'restore_guest', { ...restore, node: 'Home' })).toMatchObject({
      status: 'error',
      message: expect.stringContaining('does not exist'),
    });
    world.demo.cluster.state.pools.set('empty', { id: 'empty', comment: undefined, guests: new Set(), storages: new Set() });
    expect(await call(app, 'clone_guest', { ...clone, pool: 'empty' })).toMatchObject({
      status: 'pending',
      message: expect.stringContaining('in pool empty'),
    });
    // This token sees no pools.
    const steps = [{ tool: 'clone_guest', arguments: { ...clone, pool: 'empty' } }];
    expect((await call(app, 'propose_plan', { steps })).message).toContain('went well there');
  });
});

describe('clone_guest', () => {
  it('makes a new guest', async () => {
    const outcome = await approved('clone_guest', { vmid: 101, new_vmid: 300, name: 'copy' });
    expect(outcome).toMatchObject({ status: 'ok', result: { vmid: 300, from: 101, node: 'Home' } });
    expect(guest(300).config.get('name')).toBe('copy');
  });

  it('onto a node that is down is not asked about, though the API would say that it went well', async () => {
    await down('pve');
    expect(await call(app, 'clone_guest', { vmid: 101, new_vmid: 300, target: 'pve' })).toMatchObject({
      status: 'error',
      code: 'node_offline',
    });
  });

  it('onto a node that goes down just then is no success', async () => {
    const outcome = await app.call({
      tool: 'clone_guest',
      input: { vmid: 101, new_vmid: 300, target: 'pve' },
      agent,
      signal: new AbortController().signal,
      waitMs: 20_000,
      gate: { ask: (request) => void app.approvals.approve(request.id, world.person) },
      onProgress: (message) => {
        if (message.includes('asking the cluster')) void down('pve');
      },
    });
    expect(outcome.status, JSON.stringify(outcome)).toBe('error');
    expect(['state_not_reached', 'task_failed', 'pve_error']).toContain(outcome.code);
  });

  it.each([
    [{ vmid: 101, new_vmid: 200 }, 'guest_exists'],
    [{ vmid: 101, new_vmid: 103 }, 'protected_resource'],
    [{ vmid: 103, new_vmid: 300 }, 'protected_resource'],
    [{ vmid: 101, new_vmid: 300, full: false }, 'invalid_input'],
    [{ vmid: 201, new_vmid: 300 }, 'guest_running'],
    [{ vmid: 104, new_vmid: 300 }, 'guest_locked'],
    [{ vmid: 101, new_vmid: 300, target: 'agent1' }, 'protected_resource'],
  ])('%o is %s', async (input, code) => {
    expect(await call(app, 'clone_guest', input)).toMatchObject({ code });
  });
});

describe('migrate_guest', () => {
  it.each([
    [{ vmid: 101, target: 'Home' }, 'already_there'],
    [{ vmid: 101, target: 'agent1' }, 'protected_resource'],
    [{ vmid: 101, target: 'nowhere' }, 'unknown_node'],
    [{ vmid: 104, target: 'Home' }, 'guest_locked'],
    [{ vmid: 101, target: 'pve' }, 'local_disks'],
  ])('%o is %s', async (input, code) => {
    expect(await call(app, 'migrate_guest', input)).toMatchObject({ code });
  });

  it('to a node that is down is not asked about, though the cluster’s own check allows it', async () => {
    await down('pve');
    expect(await call(app, 'migrate_guest', { vmid: 101, target: 'pve' })).toMatchObject({ code: 'node_offline' });
  });

  it('moves a VM and says the way back', async () => {
    const input = { vmid: 101, target: 'pve', with_local_disks: true };
    expect((await cardOf('migrate_guest', input)).risk).toContain('can be taken back by migrate_guest');
    expect(await approved('migrate_guest', input)).toMatchObject({ status: 'ok', result: { node: 'pve' } });
    expect(guest(101).node).toBe('pve');
  });

  it('a running container is stopped for it, and the question says so', async () => {
    const card = await cardOf('migrate_guest', { vmid: 201, target: 'Home' });
    expect(card).toMatchObject({ impact: 'disruptive' });
    expect(card.risk).toContain('it is stopped, moved and started again');
  });

  it('under high availability is over when the guest is there, not when the manager noted it', async () => {
    manageGuest(world, 101, { crmState: 'stopped', state: 'stopped' });
    world.demo.faults.haStalls();
    const told: string[] = [];
    const onProgress = (message: string) => {
      if (!message.endsWith('it is on Home')) return;
      told.push(message);
      guest(101).node = 'pve';
    };
    const input = { vmid: 101, target: 'pve', with_local_disks: true };
    const outcome = await approvedCall(world, app, { tool: 'migrate_guest', input, onProgress });
    expect(outcome).toMatchObject({ status: 'ok', result: { node: 'pve' } });
    expect(told).toHaveLength(1);
  });
});

describe('migrate_guest of what high availability would not move, or not leave there', () => {
  const migrate = (input: object = {}, onApp = app) =>
    call(onApp, 'migrate_guest', { vmid: 101, target: 'pve', with_local_disks: true, ...input });
  const rule = (row: object) => void world.demo.cluster.ha.rules.push({ rule: 'one', resources: 'vm:101', ...row });

  it.each(['error', 'fence', 'freeze', 'migrate', 'recovery', 'relocate'] as const)(
    'in the state `%s` nobody is asked',
    async (crmState) => {
      manageGuest(world, 101, { crmState, state: 'started' });
      const outcome = await migrate();
      expect(outcome).toMatchObject({
        ...{ status: 'error', code: crmState === 'error' ? 'ha_error' : 'ha_busy', effect: { state: 'not_sent' } },
        message: expect.stringContaining(`HA state \`${crmState}\``),
      });
      expect(outcome.next).toMatch(crmState === 'error' ? /ha-manager set vm:101 --state disabled/ : /HA manager|fenced/);
      expect(await app.approvals.countPending()).toBe(0);
      expect(guest(101).node).toBe('Home');
    },
  );

  it('a strict rule of nodes forbids the others; one that is off, not strict, or another guest’s does not', async () => {
    manageGuest(world, 101, { crmState: 'stopped', state: 'stopped' });
    rule({ type: 'node-affinity', nodes: 'Home:2,agent1', strict: 1, disable: 1 });
    rule({ type: 'node-affinity', nodes: 'Home', strict: 0 });
    rule({ type: 'node-affinity', nodes: 'Home', strict: 1, resources: 'vm:1011,ct:101' });
    expect(await migrate()).toMatchObject({ status: 'pending' });
    rule({ rule: 'rack', type: 'node-affinity', nodes: 'Home:2,agent1', strict: 1, resources: 'vm:100,vm:101' });
    expect(await migrate({ with_local_disks: false })).toMatchObject({
      ...{ status: 'error', code: 'migration_refused' },
      message: expect.stringContaining('HA rule `rack` has the HA manager run it on Home, agent1 only'),
    });
    const steps = [{ tool: 'migrate_guest', arguments: { vmid: 101, target: 'pve', with_local_disks: true } }];
    expect(await call(app, 'propose_plan', { steps }, { agent })).toMatchObject({ code: 'migration_refused' });
    // Nobody manages it: no rule binds it.
    world.demo.cluster.ha.resources.clear();
    expect(await migrate()).toMatchObject({ status: 'pending' });
  });

  it('a restricted group forbids the others (before 9.0)', async () => {
    manageGuest(world, 101, { crmState: 'stopped', state: 'stopped' }).options.set('group', 'left');
    const groups = (restricted: number) => [{ group: 'left', nodes: 'Home:1', restricted }];
    const answer = (restricted: number) =>
      world.demo.faults.api({
        ...{ method: 'GET', path: '^/cluster/ha/groups', times: 1 },
        effect: { kind: 'status', status: 200, reason: 'OK', body: JSON.stringify({ data: groups(restricted) }) },
      });
    answer(0);
    expect(await migrate()).toMatchObject({ status: 'pending' });
    answer(1);
    expect(await migrate({ with_local_disks: false })).toMatchObject({ message: expect.stringContaining('HA group `left`') });
  });

  it('a guest to be apart from, or one that would be moved along, forbids it, in its own words', async () => {
    manageGuest(world, 101, { crmState: 'stopped', state: 'stopped' });
    manageGuest(world, 100, { crmState: 'started', state: 'started' });
    rule({ type: 'resource-affinity', affinity: 'negative', resources: 'vm:100,vm:101' });
    expect(await migrate()).toMatchObject({
      ...{ status: 'error', code: 'migration_refused' },
      message: expect.stringContaining('blocking ha resources vm:100 (resource-affinity)'),
    });
    world.demo.cluster.ha.rules.length = 0;
    rule({ type: 'resource-affinity', affinity: 'positive', resources: 'vm:101,vm:100' });
    expect(await migrate()).toMatchObject({
      ...{ status: 'error', code: 'migration_refused' },
      message: expect.stringContaining('the HA manager moves vm:100 along'),
    });
  });

  it('in an error comes up only while the person thinks: nothing is sent', async () => {
    const resource = manageGuest(world, 101, { crmState: 'stopped', state: 'stopped' });
    const outcome = await driftWhileAsked('migrate_guest', { vmid: 101, target: 'pve', with_local_disks: true }, () => {
      resource.crmState = 'error';
    });
    expect(outcome).toMatchObject({ status: 'error', code: 'ha_error' });
    expect(guest(101).node).toBe('Home');
  });
});

describe('under high availability', () => {
  it.each([
    ['start_vm', { vmid: 101 }],
    ['stop_vm', { vmid: 100 }],
    ['shutdown_vm', { vmid: 100 }],
    ['stop_container', { vmid: 201 }],
    ['shutdown_container', { vmid: 201 }],
  ])('%s of what is in an error asks nobody, and says the way out', async (tool, input) => {
    manageGuest(world, input.vmid, { crmState: 'error', state: 'started' });
    expect(await call(app, tool, input)).toMatchObject({
      ...{ status: 'error', code: 'ha_error', effect: { state: 'not_sent' } },
      next: expect.stringContaining('--state disabled'),
    });
    const steps = [{ tool, arguments: input }];
    expect(await call(app, 'propose_plan', { steps }, { agent })).toMatchObject({
      code: 'ha_error',
      message: expect.stringMatching(/^step 1:/),
    });
  });

  it('a rollback says that the guest comes up again by itself', async () => {
    await approved('create_snapshot', { vmid: 100, name: 'first' });
    manageGuest(world, 100, { crmState: 'started', state: 'started' });
    const { risk } = await cardOf('rollback_snapshot', { vmid: 100, name: 'first' });
    expect(risk).toContain('it is stopped, and the HA manager starts it again');
    expect(risk).not.toContain('stays stopped');
  });
});

describe('migrate_guest of a container under high availability', () => {
  it('is over when it runs again, and not while the manager has it stopped there', async () => {
    manageGuest(world, 201, { crmState: 'started', state: 'started' });
    const input = { vmid: 201, target: 'Home', with_local_disks: true };
    expect(await approved('migrate_guest', input)).toMatchObject({ status: 'ok', result: { node: 'Home' } });
    expect(guest(201)).toMatchObject({ node: 'Home', running: true });
  });

  it('is not over where it arrives and is not started again', async () => {
    manageGuest(world, 201, { crmState: 'started', state: 'started' });
    // The manager stalls in the very moment in which the guest is there, until somebody has been told.
    let node = guest(201).node;
    Object.defineProperty(guest(201), 'node', {
      get: () => node,
      set: (to: string) => {
        node = to;
        world.demo.cluster.ha.stalled = true;
      },
    });
    const told: string[] = [];
    const onProgress = (message: string) => {
      if (!message.includes('does not run again yet')) return;
      told.push(message);
      guest(201).running = true;
    };
    const outcome = await approvedCall(world, app, { tool: 'migrate_guest', input: { vmid: 201, target: 'Home' }, onProgress });
    expect(outcome).toMatchObject({ status: 'ok', message: expect.stringContaining('it is on Home') });
    expect(told).toEqual([expect.stringContaining('it is on Home, and does not run again yet')]);
  });
});

describe('resize_disk', () => {
  it('grows, once, and says that there is no way back', async () => {
    const input = { vmid: 101, disk: 'scsi0', size: '+1G' };
    const { risk } = await cardOf('resize_disk', input);
    expect(risk).toContain('32.0 GiB → 33.0 GiB');
    expect(risk).toContain('cannot be taken back: a disk does not become smaller');
    expect(await approved('resize_disk', input)).toMatchObject({ status: 'ok', result: { bytes: 33 * 2 ** 30 } });
  });

  it.each([
    [{ disk: 'scsi0', size: '1G' }, 'not_larger'],
    [{ disk: 'scsi0', size: '32G' }, 'not_larger'],
    [{ disk: 'scsi9', size: '+1G' }, 'unknown_disk'],
    [{ disk: 'scsi0', size: '-1G' }, 'invalid_input'],
    [{ disk: 'net0', size: '+1G' }, 'invalid_input'],
  ])('%o is %s, before anybody is asked', async (input, code) => {
    expect(await call(app, 'resize_disk', { vmid: 101, ...input })).toMatchObject({ status: 'error', code });
  });
});

describe('set_guest_config and set_tags', () => {
  it('change what is named, and name the old values as the way back', async () => {
    const input = { vmid: 101, cores: 4, description: 'files', tags: ['NAS', 'files'] };
    const card = await cardOf('set_guest_config', input);
    expect(card.title).toBe('Set cores, tags, description of VM 101 (nas-vm) on Home');
    expect(card.risk).toContain('cores: 2 → 4');
    expect(card.risk).toContain('can be taken back by set_guest_config');
    expect(await approved('set_guest_config', input)).toMatchObject({ status: 'ok', message: expect.stringContaining('it counts now') });
    expect(guest(101).config.get('cores')).toBe(4);
    expect(guest(101).config.get('tags')).toBe('files;nas');
    expect(await approved('set_guest_config', { vmid: 101, unset: ['tags', 'description'] })).toMatchObject({ status: 'ok' });
    expect(guest(101).config.get('tags')).toBeUndefined();
  });

  it('on a running guest say what only counts from its next start on: the API’s 200 does not', async () => {
    const outcome = await approved('set_guest_config', { vmid: 100, memory: 4096, description: 'now' });
    expect(outcome).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('memory only from its next start on (pending)'),
      result: { pending: ['memory'] },
    });
    expect(guest(100).config.get('memory')).not.toBe('4096');
  });

  it('fail when somebody changed the configuration after the last look: PVE compares the digest that was approved', async () => {
    const outcome = await app.call({
      tool: 'set_guest_config',
      input: { vmid: 101, cores: 4 },
      agent,
      signal: new AbortController().signal,
      waitMs: 20_000,
      gate: { ask: (request) => void app.approvals.approve(request.id, world.person) },
      onProgress: (message) => {
        if (message.includes('asking the cluster')) guest(101).config.set('memory', '512');
      },
    });
    expect(outcome).toMatchObject({ status: 'error', code: 'config_changed', effect: { state: 'not_sent' } });
    expect(guest(101).config.get('cores')).toBe(2);
  });

  it('are not run once the configuration is another than the one that was approved', async () => {
    const outcome = await driftWhileAsked('set_guest_config', { vmid: 101, cores: 4 }, () => guest(101).config.set('memory', '512'));
    expect(outcome).toMatchObject({ status: 'denied', code: 'target_changed', message: expect.stringContaining('its configuration') });
    expect(guest(101).config.get('cores')).toBe(2);
  });

  it.each([
    ['set_guest_config', { vmid: 101 }, 'invalid_input'],
    ['set_guest_config', { vmid: 101, cores: 2 }, 'nothing_to_change'],
    ['set_guest_config', { vmid: 101, protection: true }, 'invalid_input'],
    ['set_guest_config', { vmid: 101, cores: 0 }, 'invalid_input'],
    ['set_tags', { vmid: 101, tags: ['a b'] }, 'invalid_input'],
    ['set_tags', { vmid: 103, tags: [] }, 'protected_resource'],
  ])('%s %o is %s', async (tool, input, code) => {
    expect(await call(app, tool, input)).toMatchObject({ code });
  });
});

describe('delete_guest', () => {
  it('takes a stopped guest of which there is a backup, and says what goes', async () => {
    const card = await cardOf('delete_guest', { vmid: 101 });
    expect(card).toMatchObject({ impact: 'irreversible', title: 'Delete VM 101 (nas-vm) on Home with its disks' });
    expect(card.risk).toContain('disks: scsi0 on local-lvm, 32.0 GiB');
    expect(card.risk).toMatch(/1 backup, the newest 6 days ago/);
    expect(await approved('delete_guest', { vmid: 101 })).toMatchObject({ status: 'ok', message: expect.stringContaining('it is gone') });
    expect(world.demo.cluster.state.guests.has(101)).toBe(false);
  });

  it('takes none of which nobody can say whether there is a backup, says that, and so does a look at it', async () => {
    guest(100).running = false;
    await down('pve');
    const bare = await world.open({ protected: {} });
    expect(await call(bare, 'delete_guest', { vmid: 100 })).toMatchObject({
      ...{ status: 'denied', code: 'protected_resource' },
      message: expect.stringContaining('backups of guest 100 cannot be read while node pve or a storage does not answer'),
    });
    expect((await call(app, 'get_guest', { vmid: 100 })).result).toMatchObject({
      unreadable: { backups: expect.stringContaining('backups of guest 100 cannot be read') },
    });
  });

  it('takes none of which there is no backup, whoever asks, unless a person configured that', async () => {
    guest(105).node = 'pve';
    const denied = await call(app, 'delete_guest', { vmid: 105 });
    expect(denied).toMatchObject({
      status: 'denied',
      code: 'protected_resource',
      message: expect.stringContaining('no backup of guest 105 is seen'),
    });
    const other = await startWorld();
    const unsaved = other.demo.cluster.state.guests.get(105);
    if (unsaved !== undefined) unsaved.node = 'pve';
    const allowed = await call(await other.open({ protected: { deleteUnsaved: true } }), 'delete_guest', { vmid: 105 });
    await other.close();
    expect(allowed).toMatchObject({ status: 'pending' });
  });

  it.each([
    [100, 'guest_running'],
    [103, 'protected_resource'],
  ])('%i is %s', async (vmid, code) => {
    expect(await call(app, 'delete_guest', { vmid })).toMatchObject({ code });
  });

  it('with `protection` set or under HA is not asked about', async () => {
    guest(101).config.set('protection', 1);
    expect(await call(app, 'delete_guest', { vmid: 101 })).toMatchObject({ code: 'guest_protected' });
    guest(101).config.delete('protection');
    manageGuest(world, 101, { crmState: 'stopped', state: 'stopped' });
    expect(await call(app, 'delete_guest', { vmid: 101 })).toMatchObject({ code: 'ha_managed' });
    expect(await call(app, 'delete_guest', { vmid: 101, purge: true })).toMatchObject({ status: 'pending' });
  });
});

describe('what fails late', () => {
  it.each([
    ['create_snapshot', { vmid: 101, name: 'late' }, { type: 'qmsnapshot' }, 'snapshot feature is not available'],
    ['resize_disk', { vmid: 101, disk: 'scsi0', size: '+1G' }, { type: 'resize' }, "can't lock file - got timeout"],
    ['migrate_guest', { vmid: 101, target: 'pve', with_local_disks: true }, { type: 'qmigrate' }, 'migration aborted'],
    ['clone_guest', { vmid: 101, new_vmid: 300 }, { type: 'qmclone' }, 'clone failed: no space left'],
    ['backup_guest', { vmid: 101, storage: 'local' }, { type: 'vzdump' }, 'job errors'],
  ] as const)('%s: the task’s end counts, not the answer that began it', async (tool, input, task, why) => {
    world.demo.faults.taskFails(task, why);
    const outcome = await approved(tool, input);
    expect(outcome).toMatchObject({
      ...{ status: 'error', code: 'task_failed', message: expect.stringContaining(why) },
      effect: { state: 'task', last_seen: 'ended' },
    });
  });
});
