/** What goes wrong in a cluster reaches the model as a result it can act on. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
function approved(onApp: App, tool: string, input: unknown): Promise<Outcome> {
  return onApp.call({
    tool,
    input,
    agent,
    signal: new AbortController().signal,
    waitMs: 60_000,
    gate: { ask: (request) => void onApp.approvals.approve(request.id, world.person) },
  });
}

function expectClean(outcome: Outcome): void {
  expect(outcome.status).toBe('error');
  expect(JSON.stringify(outcome)).not.toMatch(/\n\s+at |node_modules|PVEAPIToken/);
  expect(outcome.message.length).toBeGreaterThan(20);
}

describe('the API', () => {
  it.each([
    [500, 'something broke', 'pve_error'],
    [401, 'Authentication failed!', 'pve_unauthorized'],
    [403, 'Permission check failed (/nodes/pve, Sys.Audit)', 'pve_forbidden'],
  ])('status %i', async (status, reason, code) => {
    world.demo.faults.api({ path: '^/nodes/pve/status$', effect: { kind: 'status', status, reason } });
    const outcome = await call(app, 'get_node_status', { node: 'pve' });
    expect(outcome).toMatchObject({ status: 'error', code });
    expectClean(outcome);
  });

  it('an expired token', async () => {
    world.demo.faults.expireToken(world.demo.config.clusters[0].tokenId);
    const outcome = await call(app, 'get_vms');
    expect(outcome).toMatchObject({ code: 'pve_unauthorized' });
    expectClean(outcome);
  });

  it('malformed JSON', async () => {
    world.demo.faults.api({ effect: { kind: 'malformed' } });
    const outcome = await call(app, 'get_vms');
    expect(outcome).toMatchObject({ code: 'pve_bad_answer' });
    expectClean(outcome);
  });

  it('a wrong fingerprint: nothing is sent, both fingerprints are named', async () => {
    world.demo.faults.swapCertificate();
    const outcome = await call(app, 'get_vms');
    expect(outcome).toMatchObject({ code: 'pve_tls_fingerprint' });
    expectClean(outcome);
  });

  it('too slow: the API limit ends it', async () => {
    const hasty = await world.open({ limits: { apiMs: 300 } });
    world.demo.faults.api({ effect: { kind: 'hang' } });
    const outcome = await call(hasty, 'get_vms');
    expect(outcome).toMatchObject({ code: 'pve_timeout' });
    expectClean(outcome);
  });

  it('one endpoint down: the next one answers', async () => {
    // The configuration pins Home's certificate: an earlier process has learned those of the others while it was up.
    const earlier = await world.open();
    await call(earlier, 'get_vms');
    await earlier.close();
    await world.demo.faults.nodeDown('Home');
    expect(await call(app, 'get_cluster_status')).toMatchObject({ status: 'ok', result: { health: 'degraded' } });
  });

  it('a node behind the API is down (595)', async () => {
    await world.demo.faults.nodeDown('pve');
    const outcome = await call(app, 'get_node_status', { node: 'pve' });
    expect(outcome).toMatchObject({ code: 'pve_node_unreachable' });
    expectClean(outcome);
  });

  it('all of it down: reads say so, a protected guest is refused all the same, black is black', async () => {
    for (const node of ['Home', 'pve', 'agent1']) await world.demo.faults.nodeDown(node);
    const outcome = await call(app, 'get_vms');
    expect(outcome).toMatchObject({ code: 'pve_unreachable' });
    expectClean(outcome);
    expect(await call(app, 'stop_vm', { vmid: 103 })).toMatchObject({ status: 'denied', code: 'protected_resource' });
    expect(await call(app, 'reboot_node', { node: 'pve' })).toMatchObject({ status: 'denied', code: 'black_tier' });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'error', code: 'pve_unreachable' });
    expect(await app.approvals.countPending()).toBe(0);
  });

  it('no quorum is said', async () => {
    world.demo.faults.loseQuorum();
    expect(await call(app, 'get_cluster_status')).toMatchObject({ status: 'ok', result: { health: 'without quorum', quorate: false } });
  });
});

describe('tasks', () => {
  it('a POST that answers 200 and fails in its task is a failure with the task’s own words', async () => {
    world.demo.faults.taskFails({ type: 'qmstop' }, "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout");
    const outcome = await approved(app, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'error', code: 'task_failed' });
    expect(outcome.message).toContain("can't lock file");
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('warnings are a success, said', async () => {
    world.demo.faults.taskWarns({ type: 'qmstop' }, 'something odd');
    const outcome = await approved(app, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'ok' });
    expect(outcome.message).toMatch(/WARNINGS: 1/);
  });

  it('a task that never ends: the call ends within its limit and says what still runs', async () => {
    const hasty = await world.open({ limits: { callMs: 5_000 } });
    world.demo.faults.taskNeverEnds({ type: 'qmstop' });
    const outcome = await approved(hasty, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'error', code: 'task_still_running' });
    expect(outcome.message).toMatch(/took longer than 5\.0s; its task was running when it was last seen: UPID:pve:/);
    expect(JSON.stringify(outcome)).not.toMatch(/was cancelled/);
  });

  it('a lost answer to a POST is looked up, not sent again', async () => {
    const fault = world.demo.faults.api({ method: 'POST', path: 'status/stop$', times: 1, effect: { kind: 'reset' } });
    expect(await approved(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'ok', result: { status: 'stopped' } });
    expect(fault.hits()).toBe(1);
    const stops = world.demo.cluster.tasks.list().filter((task) => task.type === 'qmstop' && task.id === '100');
    expect(stops).toHaveLength(1);
  });

  it('a container that is running already answers at once, as an error with PVE’s words', async () => {
    // The look before cannot tell.
    world.demo.faults.api({ method: 'GET', path: '/status/current$', effect: { kind: 'status', status: 500, reason: 'no' } });
    const outcome = await approved(app, 'start_container', { vmid: 201 });
    expect(outcome).toMatchObject({ status: 'error', code: 'pve_error', effect: { state: 'not_sent' } });
    expect(outcome.message).toContain('already running');
  });
});

describe('ssh', () => {
  const command = { node: 'pve', command: 'uptime' };

  it('host key changed: refused, nothing offers to go on', async () => {
    world.demo.faults.ssh.changeHostKey('pve');
    const outcome = await call(app, 'execute_ssh', command);
    expect(outcome).toMatchObject({ code: 'ssh_host_changed' });
    expectClean(outcome);
  });

  it('key refused', async () => {
    world.demo.faults.ssh.refuseAuth('pve');
    expect(await call(app, 'execute_ssh', command)).toMatchObject({ status: 'error', code: 'ssh_auth_failed' });
  });

  it('connection refused', async () => {
    await world.demo.faults.ssh.refuseConnections('pve');
    expect(await call(app, 'execute_ssh', command)).toMatchObject({ status: 'error', code: 'ssh_unreachable' });
  });

  it('hangs: the ssh limit ends it', async () => {
    const hasty = await world.open({ limits: { sshMs: 400 } });
    world.demo.faults.ssh.hang('pve');
    expect(await call(hasty, 'execute_ssh', command)).toMatchObject({ status: 'error', code: 'ssh_timeout' });
  });

  it('unknown host: the fingerprint and the command that adds it', async () => {
    const [cluster] = world.demo.config.clusters;
    const unknown = await world.open({ clusters: [{ ...cluster, ssh: { ...cluster.ssh, knownHosts: `${world.stateDir}/none` } }] });
    const outcome = await call(unknown, 'execute_ssh', command);
    expect(outcome).toMatchObject({ code: 'ssh_host_unknown' });
    expect(`${outcome.message} ${outcome.next}`).toMatch(/SHA256:[A-Za-z0-9+/]{43}[\s\S]*ssh-keyscan/);
  });
});

describe('secrets', () => {
  it('the API token never leaves, whatever the cluster says', async () => {
    const secret = world.demo.authorization[world.demo.config.clusters[0].tokenId]?.split('=').at(-1) ?? 'missing';
    await call(app, 'get_vms');
    world.demo.faults.api({ path: '^/nodes/pve/status$', effect: { kind: 'status', status: 500, reason: `echo ${secret}` } });
    const outcome = await call(app, 'get_node_status', { node: 'pve' });
    expect(outcome.status).toBe('error');
    expect(JSON.stringify([outcome, await app.audit.tail(100), world.lines])).not.toContain(secret);
  });
});
