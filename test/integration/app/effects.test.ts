/** What a call that changes something says of its effect when things break in the middle: never more and never less than is known. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { agent, call, guestStatus, startWorld, type World } from './support.ts';

let world: World;
let app: App;
beforeEach(async () => {
  world = await startWorld();
  app = await world.open();
});
afterEach(async () => {
  await world.close();
});

/** A red call that a person approves at once. */
function approved(
  onApp: App,
  tool: string,
  input: unknown,
  more: { signal?: AbortSignal; onProgress?: (message: string) => void } = {},
): Promise<Outcome> {
  return onApp.call({
    tool,
    input,
    agent,
    signal: new AbortController().signal,
    waitMs: 60_000,
    gate: { ask: (request) => void onApp.approvals.approve(request.id, world.person) },
    ...more,
  });
}

const upidPattern = /UPID:[A-Za-z0-9]+:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}:[a-z]+:\d+:[^:\s]+:/;

/** Every record of the trail with that name. */
async function records(onApp: App, name: string) {
  return (await onApp.audit.tail(100)).filter((record) => record.name === name);
}

/** The advice, taken literally: the tool and the argument that stand in it. */
async function followLiterally(onApp: App, next: string | undefined): Promise<Outcome> {
  const filter = /get_recent_tasks and `filter` `([^`]+)`/.exec(next ?? '')?.[1];
  expect(filter, next).toBeDefined();
  return call(onApp, 'get_recent_tasks', { filter });
}

describe('a task that was started', () => {
  it('is named when its node answers no more, and followed over the cluster’s own list', async () => {
    const down = { kind: 'status', status: 595, reason: 'Connection refused' } as const;
    Object.assign(world.demo.cluster, { taskDurationMs: 1_000 });
    const onProgress = (message: string) => {
      if (message.includes('waiting for the task')) world.demo.faults.api({ path: '^/nodes/pve/', effect: down });
    };
    const outcome = await approved(app, 'stop_vm', { vmid: 100 }, { onProgress });
    // The list of the cluster still tells how it ended; the guest itself cannot be looked at.
    expect(outcome).toMatchObject({ status: 'ok', result: { task: { exitstatus: 'OK' } } });
    expect(outcome.message).toContain('its state could not be read');
    expect(guestStatus(world, 100)).toBe('stopped');
  });

  it('is named when nobody can say how it ended', async () => {
    world.demo.faults.taskNeverEnds({ type: 'qmstop' });
    const { tokenId } = world.demo.config.clusters[0];
    const onProgress = (message: string) => {
      if (message.includes('waiting for the task')) world.demo.faults.revokeToken(tokenId);
    };
    const outcome = await approved(app, 'stop_vm', { vmid: 100 }, { onProgress });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'task_end_unknown',
      message: expect.stringMatching(upidPattern),
      effect: { state: 'task', upid: expect.stringMatching(upidPattern), last_seen: 'running' },
    });
    expect(outcome.message).not.toMatch(/nothing was/);
    expect(outcome.next).toContain(tokenId);
    const [finished] = (await records(app, 'tool.finished')).slice(-1);
    expect(finished?.attributes).toMatchObject({ code: 'task_end_unknown', effect: outcome.effect ?? {} });
  });

  it('is not said to have ended by a cluster that its dead node cannot tell', async () => {
    Object.assign(world.demo.cluster, { taskDurationMs: 1_000 });
    const hasty = await world.open({ limits: { callMs: 12_000 } });
    let isDown = false;
    const onProgress = (message: string) => {
      if (isDown || !message.includes('waiting for the task')) return;
      isDown = true;
      void world.demo.faults.nodeDown('pve');
    };
    const outcome = await approved(hasty, 'restart_vm', { vmid: 100 }, { onProgress });
    expect(outcome).toMatchObject({ status: 'error', code: 'task_end_unknown', effect: { state: 'task', last_seen: 'running' } });
    expect(outcome.message).toMatch(upidPattern);
    expect(outcome.message).not.toContain('exit status OK');
  });

  it('can be followed by what `next` says while its node is away, and when the list has it no more', async () => {
    const hasty = await world.open({ limits: { callMs: 12_000 } });
    const { tasks } = world.demo.cluster;
    Object.assign(world.demo.cluster, { taskDurationMs: 1_000 });
    let isDown = false;
    const onProgress = (message: string) => {
      if (isDown || !message.includes('waiting for the task')) return;
      isDown = true;
      void world.demo.faults.nodeDown('pve');
    };
    const outcome = await approved(hasty, 'stop_vm', { vmid: 100 }, { onProgress });
    expect(outcome).toMatchObject({ code: 'task_end_unknown', effect: { last_seen: 'running' } });
    // The list has it as it was last heard of: running.
    expect(await followLiterally(hasty, outcome.next)).toMatchObject({ result: { tasks: [{ status: 'unknown, node offline' }] } });
    await world.demo.faults.nodeUp('pve');
    for (let more = 0; more < 30; more += 1) tasks.start({ node: 'pve', type: 'vncproxy', id: '100', user: 'root@pam' }, function* () {});
    const upid = outcome.effect?.['upid'];
    // Not "0 tasks", which reads as if there were none.
    expect(JSON.stringify((await call(hasty, 'get_recent_tasks', { limit: 500 })).result)).not.toContain(upid);
    expect(await followLiterally(hasty, outcome.next)).toMatchObject({
      status: 'ok',
      result: { total: 1, tasks: [{ upid, type: 'qmstop', id: '100', status: tasks.find(String(upid))?.exitstatus }] },
    });
    const gone = String(upid).replace(':qmstop:', ':qmstart:');
    expect(await call(hasty, 'get_recent_tasks', { filter: gone })).toMatchObject({ status: 'error', code: 'pve_not_found' });
    await world.demo.faults.nodeDown('pve');
    expect(await followLiterally(hasty, outcome.next)).toMatchObject({
      status: 'error',
      code: 'pve_node_unreachable',
      message: expect.stringMatching(/^how the task stands is not known: it is not in the cluster's list, and .*could not reach the node/),
    });
  });

  it('and was killed is not said to have failed: the guest’s state is said', async () => {
    const status = 'unexpected status';
    world.demo.faults.taskFails({ type: 'qmstop' }, status);
    const outcome = await approved(app, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'error', code: 'task_failed', effect: { last_seen: 'ended', exit_status: status } });
    expect(outcome.message).toMatch(/its task ended without a word on how it went \(unexpected status\); it is running[.]/);
  });

  it.each([
    [500, 'got no worker'],
    [401, 'Authentication failed!'],
    [596, 'Connection timed out'],
  ])('is followed on after a blip (%i)', async (status, reason) => {
    const effect = { kind: 'status', status, reason } as const;
    Object.assign(world.demo.cluster, { taskDurationMs: 1_000 });
    let struck: ReturnType<typeof world.demo.faults.api> | undefined;
    const onProgress = (message: string) => {
      if (message.includes('waiting for the task'))
        struck ??= world.demo.faults.api({ path: '/tasks/.*/status$|^/cluster/tasks$', effect, times: 2 });
    };
    const outcome = await approved(app, 'stop_vm', { vmid: 100 }, { onProgress });
    expect(struck?.hits()).toBe(2);
    expect(outcome).toMatchObject({ status: 'ok', message: expect.stringContaining('it is stopped now') });
  });

  it('that lasts longer than the call comes back with its id and a way to follow it; the trail gets its end', async () => {
    const hasty = await world.open({ limits: { callMs: 6_000 } });
    Object.assign(world.demo.cluster, { taskDurationMs: 16_000 });
    const outcome = await approved(hasty, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'task_still_running',
      message: expect.stringMatching(upidPattern),
      effect: { state: 'task', last_seen: 'running' },
    });
    const seen = await followLiterally(hasty, outcome.next);
    expect(seen).toMatchObject({ status: 'ok', result: { total: 1, tasks: [{ upid: outcome.effect?.['upid'] }] } });
    expect(await records(hasty, 'task.ended')).toEqual([]);
    const ended = await vi.waitFor(
      async () => {
        const [record] = await records(hasty, 'task.ended');
        if (record === undefined) throw new Error('not yet');
        return record;
      },
      { interval: 200 },
    );
    const [finished] = (await records(hasty, 'tool.finished')).filter((record) => record.attributes['code'] === 'task_still_running');
    expect(ended.attributes).toMatchObject({
      upid: outcome.effect?.['upid'],
      exit_status: 'OK',
      'gen_ai.tool.name': 'stop_vm',
      'gen_ai.tool.call.id': finished?.attributes['gen_ai.tool.call.id'],
    });
    const after = await followLiterally(hasty, outcome.next);
    expect(after).toMatchObject({ result: { tasks: [{ status: 'OK' }] } });
  });

  it('and outlives the process: that no record tells its end is said, until one that stays has seen it', async () => {
    const hasty = await world.open({ limits: { callMs: 6_000 } });
    Object.assign(world.demo.cluster, { taskDurationMs: 16_000 });
    const outcome = await approved(hasty, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ code: 'task_still_running' });
    await hasty.close();
    expect(await records(app, 'task.ended')).toEqual([]);

    const check = (onApp: App) => call(onApp, 'check_request_status', { request_id: outcome.request_id }, { agent });
    const unknown = await check(app);
    expect(unknown).toMatchObject({
      message: expect.stringMatching(/\(task_still_running\).*; no record says how its task ended$/),
      result: { outcome: { task: { upid: outcome.effect?.['upid'], exit_status: null } } },
    });
    expect(await followLiterally(app, unknown.next)).toMatchObject({ status: 'ok', result: { total: 1 } });

    // Two that stay; one record is enough.
    const windows = [await world.open({}, undefined, 'test', { stays: true }), await world.open({}, undefined, 'test', { stays: true })];
    await vi.waitFor(async () => expect(await records(app, 'task.ended')).toHaveLength(1), { interval: 200 });
    expect(await check(app)).toMatchObject({
      message: expect.stringMatching(/its task was seen to have ended at .* \(OK\)$/),
      next: expect.not.stringContaining('get_recent_tasks'),
      result: { outcome: { task: { exit_status: 'OK' } } },
    });
    await windows[0]?.close();
    await world.open({}, undefined, 'test', { stays: true });
    expect(await records(app, 'task.ended')).toHaveLength(1);
  });
});

describe('nothing was done', () => {
  const nothing = { state: 'not_sent' };

  it('when the API refused at once', async () => {
    // The quorum is lost after the last look at it.
    const refuse = { kind: 'status', status: 500, reason: 'cluster not ready - no quorum?' } as const;
    world.demo.faults.api({ method: 'POST', path: '/status/start$', effect: refuse });
    const outcome = await approved(app, 'start_vm', { vmid: 101 });
    expect(outcome).toMatchObject({ code: 'pve_no_quorum', effect: nothing });
    expect(outcome.message).not.toMatch(/may (?:still|have)/);
    expect(outcome.next).not.toMatch(/was not stopped/);
    const [finished] = (await records(app, 'tool.finished')).slice(-1);
    expect(finished?.attributes).toMatchObject({ effect: nothing });
  });

  it('when the node could not be reached (595)', async () => {
    world.demo.faults.api({ method: 'POST', path: '/status/stop$', effect: { kind: 'status', status: 595, reason: 'Connection refused' } });
    const outcome = await approved(app, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ code: 'pve_node_unreachable', effect: nothing });
    expect(outcome.message).not.toMatch(/may (?:still|have)/);
  });

  it('when the cluster cannot be asked what the target is', async () => {
    world.demo.faults.api({ effect: { kind: 'status', status: 500, reason: 'something broke' } });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({
      status: 'error',
      effect: nothing,
      message: expect.stringContaining('nothing was done'),
    });
  });

  it('when a person is still asked, or refuses', async () => {
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending', effect: nothing });
    expect(await call(app, 'stop_vm', { vmid: 103 })).toMatchObject({ status: 'denied', effect: nothing });
  });

  it.each(['restart_service', 'execute_ssh'])('when %s gets no connection', async (tool) => {
    await world.demo.faults.ssh.refuseConnections('pve');
    const input = tool === 'execute_ssh' ? { node: 'pve', command: 'uptime' } : { node: 'pve', service: 'nginx' };
    const outcome = await approved(app, tool, input);
    expect(outcome).toMatchObject({ code: 'ssh_unreachable', effect: nothing });
    expect(`${outcome.message} ${outcome.next}`).not.toMatch(/may (?:still|have)|get_recent_tasks/);
  });

  it('reads speak of no effect', async () => {
    world.demo.faults.api({ effect: { kind: 'status', status: 500, reason: 'something broke' } });
    expect(await call(app, 'get_vms')).not.toHaveProperty('effect');
  });
});

describe('what was sent and not answered', () => {
  it.each([204, 408, 524])('is unknown where what answers is not the API (status %i)', async (status) => {
    // The action is done, or not: who stands in between does not know.
    world.demo.faults.api({ method: 'POST', path: '/status/stop$', effect: { kind: 'status', status, reason: 'between' } });
    const outcome = await approved(app, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ code: 'outcome_unknown', effect: { state: 'sent' } });
    expect(outcome.message).not.toContain('nothing was');
  });

  it('is said of a restart that was answered, and not well', async () => {
    expect(await call(app, 'restart_service', { node: 'pve', service: 'failing' })).toMatchObject({
      code: 'service_restart_failed',
      effect: { state: 'sent' },
    });
  });

  it('is unknown where no task of it shows', async () => {
    const hasty = await world.open({ limits: { apiMs: 6_000 } });
    world.demo.faults.api({ method: 'POST', path: '/status/stop$', effect: { kind: 'hang' } });
    const outcome = await approved(hasty, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({
      code: 'outcome_unknown',
      effect: { state: 'sent' },
      message: expect.stringContaining('the stop of VM 100 (web) on pve may have been started'),
      next: expect.stringContaining('do not repeat it blindly'),
    });
  });

  it('is unknown where the caller gives up in the middle', async () => {
    world.demo.faults.api({ method: 'POST', path: '/status/stop$', effect: { kind: 'hang' } });
    const caller = new AbortController();
    const onProgress = (message: string) => {
      if (message.includes('asking the cluster')) setTimeout(() => caller.abort(), 300);
    };
    const outcome = await approved(app, 'stop_vm', { vmid: 100 }, { signal: caller.signal, onProgress });
    expect(outcome).toMatchObject({ code: 'cancelled', effect: { state: 'sent' } });
  });

  it('is nothing where the caller gives up before it is sent', async () => {
    world.demo.faults.api({ method: 'GET', path: '^/cluster/tasks$', effect: { kind: 'hang' } });
    const caller = new AbortController();
    const onProgress = (message: string) => {
      if (message.includes('asking the cluster')) setTimeout(() => caller.abort(), 300);
    };
    const outcome = await approved(app, 'stop_vm', { vmid: 100 }, { signal: caller.signal, onProgress });
    expect(outcome).toMatchObject({ code: 'cancelled', effect: { state: 'not_sent' } });
    expect(outcome.message).not.toMatch(/may (?:still|have)/);
    expect(guestStatus(world, 100)).toBe('running');
  });
});
