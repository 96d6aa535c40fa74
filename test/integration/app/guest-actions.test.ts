/** Actions on guests that do not do what was asked: the answer says what is seen, and nobody is asked for what cannot work. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HaResource } from '#demo/pve/high-availability';
import type { ServiceState } from '#demo/pve/state';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { agent, approvedCall, call, guestStatus, manageGuest, startWorld, type World } from './support.ts';

let world: World;
let app: App;
beforeEach(async () => {
  world = await startWorld();
  app = await world.open();
});
afterEach(async () => {
  await world.close();
});

function approved(onApp: App, tool: string, input: unknown, onProgress?: (message: string) => void): Promise<Outcome> {
  return approvedCall(world, onApp, { tool, input, ...(onProgress === undefined ? {} : { onProgress }) });
}

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

function manage(vmid: number, crmState: HaResource['crmState'], state: HaResource['state'] = 'started'): HaResource {
  return manageGuest(world, vmid, { crmState, state });
}

/** Guest 100 or 101 among them: the filter also keeps a row that has the number in a figure. */
const found = { vms: expect.arrayContaining([expect.objectContaining({ vmid: expect.toBeOneOf([100, 101]) })]) };

/** The list that the advice names, with the filter that it names. */
function lookLiterally(next: string | undefined): Promise<Outcome> {
  const [, tool, filter] = /(get_vms|get_containers|get_recent_tasks) and `filter` `([^`]+)`/.exec(next ?? '') ?? [];
  expect(filter, next).toBeDefined();
  return call(app, tool ?? '', { filter });
}

describe('a guest under high availability', () => {
  it('is followed until it is what was asked for', async () => {
    Object.assign(world.demo.cluster, { taskDurationMs: 800 });
    manage(100, 'started');
    const said: string[] = [];
    const stopped = await approved(app, 'stop_vm', { vmid: 100 }, (message) => void said.push(message));
    expect(said).toContainEqual(expect.stringContaining('waiting for the HA manager to stop it: it is running'));
    expect(stopped).toMatchObject({ status: 'ok', result: { status: 'stopped', task: { upid: expect.stringContaining(':hastop:') } } });
    expect(guestStatus(world, 100)).toBe('stopped');
    const started = await approved(app, 'start_vm', { vmid: 100 });
    expect(started).toMatchObject({ status: 'ok', message: expect.stringContaining('it is running (HA state `started`) now') });
    expect(guestStatus(world, 100)).toBe('running');
  });

  it.each([
    ['stop_vm', 100, 'running', 'stopped'],
    ['start_vm', 101, 'stopped', 'running'],
  ])('%s: a request that the manager only noted is no success', async (tool, vmid, status, wanted) => {
    const hasty = await world.open({ limits: { callMs: 8_000 } });
    manage(vmid, vmid === 100 ? 'started' : 'stopped');
    world.demo.faults.haStalls();
    const outcome = await approved(hasty, tool, { vmid });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'state_not_reached',
      message: expect.stringMatching(/^the HA manager was asked to .*exit status OK\), but it is not seen /),
      result: { requested: tool.split('_')[0], wanted, status, ha_state: expect.any(String) },
      effect: { state: 'task', last_seen: 'ended', exit_status: 'OK' },
    });
    expect(outcome.message).not.toMatch(/stopped now|started \(|is running now/);
    expect(await lookLiterally(outcome.next)).toMatchObject({ status: 'ok', result: found });
  });

  it.each([
    ['stop_vm', 101, 'stopped', 'fence'],
    ['stop_vm', 101, 'stopped', 'started'],
    ['start_vm', 100, 'running', 'recovery'],
  ] as const)('%s %i: what was %s before is no proof while the manager’s state is %s', async (tool, vmid, status, haState) => {
    const hasty = await world.open({ limits: { callMs: 8_000 } });
    manage(vmid, haState);
    world.demo.faults.haStalls();
    expect(await approved(hasty, tool, { vmid })).toMatchObject({
      code: 'state_not_reached',
      message: expect.stringMatching(new RegExp(`but the manager has not carried that out: it is ${status} \\(HA state .${haState}.\\)`)),
    });
  });

  it('that was down already is waited for until the manager agrees', async () => {
    manage(101, 'started');
    expect(await approved(app, 'stop_vm', { vmid: 101 })).toMatchObject({
      status: 'ok',
      result: { status: 'stopped', ha_state: 'stopped' },
    });
  });

  it.each([
    ['start_vm', 100, 'guest_already_running'],
    ['stop_vm', 101, 'guest_already_stopped'],
  ])('%s %i: one that the manager ignores is like any other', async (tool, vmid, code) => {
    manage(vmid, undefined, 'ignored');
    expect(await call(app, tool, { vmid })).toMatchObject({ status: 'error', code, effect: { state: 'not_sent' } });
  });

  it('that falls into an error is not waited for', async () => {
    manage(100, 'started');
    world.demo.faults.haStalls();
    const fail = (message: string) => {
      if (message.includes('waiting for the HA manager')) manage(100, 'error');
    };
    const outcome = await approved(app, 'stop_vm', { vmid: 100 }, fail);
    expect(outcome).toMatchObject({
      code: 'state_not_reached',
      message: expect.stringContaining('HA state `error`'),
      next: expect.stringContaining('`ha-manager set vm:100 --state disabled`'),
    });
  });

  it('whose node dies meanwhile is said to be fenced, as far as the cluster knows', async () => {
    const hasty = await world.open({ limits: { callMs: 10_000 } });
    manage(100, 'started');
    world.demo.faults.haStalls();
    const die = (message: string) => {
      if (!message.includes('waiting for the HA manager')) return;
      manage(100, 'fence', 'stopped');
      void world.demo.faults.nodeDown('pve');
    };
    const outcome = await approved(hasty, 'stop_vm', { vmid: 100 }, die);
    expect(outcome).toMatchObject({
      code: 'state_not_reached',
      message: expect.stringMatching(/but it is not seen stopped: its state could not be read \(HA state `fence`\): .*could not reach/),
      result: { ha_state: 'fence' },
      next: expect.stringContaining('its node is being fenced'),
    });
  });

  it('that is in an error already is not asked about', async () => {
    manage(100, 'error');
    const outcome = await call(app, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'error', code: 'ha_error', effect: { state: 'not_sent' } });
    expect(outcome.next).toContain('`ha-manager set vm:100 --state disabled`');
  });

  it('that runs although the manager wants it stopped can be asked for', async () => {
    manage(100, 'request_stop', 'stopped');
    expect(await call(app, 'start_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });
});

describe('a guest that does not answer', () => {
  it('is given a time below our own, and PVE’s verdict comes', async () => {
    const hasty = await world.open({ limits: { callMs: 10_000 } });
    world.demo.faults.guestIgnoresShutdown(100);
    const outcome = await approved(hasty, 'restart_vm', { vmid: 100 });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'guest_ignored_shutdown',
      message: expect.stringMatching(
        /VM quit\/powerdown failed - got timeout; the guest did not shut down within \d+ s and was not forced; it is running/,
      ),
      effect: { state: 'task', last_seen: 'ended' },
      next: expect.stringMatching(/^it may still go down, and then stays down.*stop_vm and then start_vm/),
    });
    expect(await lookLiterally(outcome.next)).toMatchObject({ status: 'ok', result: found });
    expect(guestStatus(world, 100)).toBe('running');
  });

  it('and answers later is restarted', async () => {
    expect(await approved(app, 'restart_vm', { vmid: 100 })).toMatchObject({ status: 'ok', result: { status: 'running' } });
  });
});

it('a task whose word is OK and whose guest is not in that state is no success', async () => {
  const hasty = await world.open({ limits: { callMs: 8_000 } });
  const restart = (message: string) => {
    // Somebody starts it again at once.
    if (message.includes('waiting for the task')) Object.defineProperty(guest(100), 'running', { get: () => true, set() {} });
  };
  const outcome = await approved(hasty, 'stop_vm', { vmid: 100 }, restart);
  expect(outcome).toMatchObject({ status: 'error', code: 'state_not_reached', result: { wanted: 'stopped', status: 'running' } });
  expect(await lookLiterally(outcome.next)).toMatchObject({ result: found });
});

describe('nobody is asked for what cannot work', () => {
  const refusals: readonly (readonly [what: string, tool: string, vmid: number, code: string, make: () => unknown])[] = [
    ['a template', 'start_vm', 900, 'guest_is_template', () => undefined],
    ['a template', 'stop_vm', 900, 'guest_is_template', () => undefined],
    ['a locked guest', 'start_vm', 104, 'guest_locked', () => undefined],
    ['a locked guest', 'stop_vm', 100, 'guest_locked', () => guest(100).config.set('lock', 'backup')],
    ['a locked guest', 'restart_container', 201, 'guest_locked', () => guest(201).config.set('lock', 'snapshot')],
    ['one that runs already', 'start_vm', 100, 'guest_already_running', () => undefined],
    ['one that runs already', 'start_container', 201, 'guest_already_running', () => undefined],
    ['one that is stopped already', 'stop_vm', 101, 'guest_already_stopped', () => undefined],
    ['one that is stopped', 'restart_vm', 101, 'guest_not_running', () => undefined],
    ['no quorum', 'start_vm', 101, 'pve_no_quorum', () => world.demo.faults.loseQuorum()],
    ['no quorum', 'restart_vm', 100, 'pve_no_quorum', () => world.demo.faults.loseQuorum()],
  ];

  it.each(refusals)('%s: %s %i is %s', async (...row) => {
    const [, tool, vmid, code, make] = row;
    await make();
    const outcome = await call(app, tool, { vmid });
    expect(outcome).toMatchObject({
      status: 'error',
      code,
      effect: { state: 'not_sent' },
      message: expect.stringMatching(/; nothing was done$/),
    });
    expect(outcome.next?.length).toBeGreaterThan(10);
    expect(await app.approvals.countPending()).toBe(0);
    expect(await app.explain({ tool, input: { vmid }, agent })).toMatchObject({ status: 'error', decision: { code } });
  });

  it('no right to operate this guest: with the command that gives it', async () => {
    const [{ tokenId }] = world.demo.config.clusters;
    const { access } = world.demo.cluster;
    const holds = access.privileges.bind(access);
    access.privileges = (user, path) => {
      const privileges = new Map(holds(user, path));
      privileges.delete('VM.PowerMgmt');
      return privileges;
    };
    const outcome = await call(app, 'stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'pve_forbidden',
      message: expect.stringContaining('`VM.PowerMgmt` on `/vms/100`'),
    });
    expect(outcome.next).toContain('pveum acl modify /vms/100');
    expect(outcome.next).toContain(tokenId);
    expect(await app.approvals.countPending()).toBe(0);
  });

  it('a node that is off: as far as nothing is protected by an address, which would be refused for that', async () => {
    const open = await world.open({ protected: { nodes: [], guests: [], services: [], addresses: [] } });
    await world.demo.faults.nodeDown('pve');
    const outcome = await call(open, 'restart_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ status: 'error', code: 'node_offline', next: expect.stringContaining('wake_node') });
    expect(await call(app, 'restart_vm', { vmid: 100 })).toMatchObject({ status: 'error', code: 'pve_node_unreachable' });
  });

  it.each(['stop_vm', 'restart_vm'])('a node whose API is gone while it is online itself: %s', async (tool) => {
    const open = await world.open({ protected: { nodes: [], guests: [], services: [], addresses: [] } });
    await world.demo.faults.proxyDown('pve');
    expect(await call(open, tool, { vmid: 100 })).toMatchObject({
      status: 'error',
      code: 'pve_node_unreachable',
      message: expect.stringContaining('the API of node pve does not answer, so VM 100 (web) on pve cannot be reached'),
      effect: { state: 'not_sent' },
    });
    expect(await open.approvals.countPending()).toBe(0);
    await world.demo.faults.proxyUp('pve');
    expect(await call(open, tool, { vmid: 100 })).toMatchObject({ status: 'pending' });
  });

  it('the advice for a locked guest works literally', async () => {
    const outcome = await call(app, 'start_vm', { vmid: 104 });
    expect(await lookLiterally(outcome.next)).toMatchObject({ status: 'ok', result: { tasks: [{ id: '104' }] } });
    expect(outcome.next).toContain('`qm unlock 104` on pve');
  });

  it('where the look itself fails, the person is asked as ever', async () => {
    world.demo.faults.api({
      method: 'GET',
      path: '/status/current$|^/access/permissions',
      effect: { kind: 'status', status: 500, reason: 'no' },
    });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });

  it('a stop needs no quorum', async () => {
    world.demo.faults.loseQuorum();
    expect(await call(app, 'stop_container', { vmid: 200 })).toMatchObject({ status: 'pending' });
  });

  it('one that was suspended to disk can be started: that wakes it', async () => {
    guest(101).config.set('lock', 'suspended');
    expect(await call(app, 'start_vm', { vmid: 101 })).toMatchObject({ status: 'pending' });
  });
});

describe('units on which more hangs', () => {
  it.each(['corosync', 'networking', 'ssh', 'zfs-zed'])(
    '%s asks a person at any level, and says why',
    async (service) => {
      const relaxed = await world.open({ securityLevel: 'relaxed' });
      const asked = await call(relaxed, 'restart_service', { node: 'pve', service });
      expect(asked).toMatchObject({ status: 'pending' });
      const request = await relaxed.approvals.get(asked.request_id ?? '');
      expect(request).toMatchObject({ code: 'risky_unit', reason: expect.stringMatching(/may |is gone/) });
      expect(await call(relaxed, 'restart_service', { node: 'pve', service: 'nginx' })).toMatchObject({ status: 'ok' });
    },
    15_000,
  );

  it('the advice after a failed restart works literally', async () => {
    const outcome = await call(app, 'restart_service', { node: 'pve', service: 'failing' });
    expect(outcome).toMatchObject({ code: 'service_restart_failed', result: { exit_code: 1 } });
    const [, node, command] = /execute_ssh with `node` `([^`]+)` and `command` `([^`]+)`/.exec(outcome.next ?? '') ?? [];
    expect(await call(app, 'execute_ssh', { node, command })).toMatchObject({ status: 'ok' });
  });

  const service = (name: string): ServiceState => {
    const state = world.demo.cluster.state.nodes.get('pve')?.services.get(name);
    if (state === undefined) throw new Error(`no service ${name}`);
    return state;
  };

  it.each([
    ['that is not there', 'nosuch', 'service_not_found', /^there is no unit nosuch\.service on pve/, (): void => undefined],
    [
      'that is masked',
      'corosync',
      'service_masked',
      /^corosync\.service on pve is masked/,
      (): unknown => Object.assign(service('corosync'), { unitState: 'masked' }),
    ],
    [
      'on a node that ssh does not reach',
      'corosync',
      'ssh_unreachable',
      /^no ssh connection to node `pve`/,
      (): Promise<void> => world.demo.faults.ssh.refuseConnections('pve'),
    ],
    [
      'on a node that takes no key',
      'corosync',
      'ssh_auth_failed',
      /did not accept any key/,
      (): void => world.demo.faults.ssh.refuseAuth('pve'),
    ],
  ] as const)('nobody is asked for a unit %s', async (...row) => {
    const [, name, code, message, make] = row;
    await make();
    const careful = await world.open({ tiers: { restart_service: 'red' } });
    const outcome = await call(careful, 'restart_service', { node: 'pve', service: name });
    expect(outcome).toMatchObject({ status: 'error', code, message: expect.stringMatching(message), effect: { state: 'not_sent' } });
    expect(outcome.next?.length).toBeGreaterThan(10);
    expect(await careful.approvals.countPending()).toBe(0);
  });

  it('nor for a command on a node that ssh does not reach', async () => {
    const strict = await world.open({ securityLevel: 'strict' });
    const ping = (count: number) => call(strict, 'execute_ssh', { node: 'pve', command: `ping -c ${count} 192.0.2.1` });
    expect(await ping(1)).toMatchObject({ status: 'pending' });
    await world.demo.faults.ssh.refuseConnections('pve');
    expect(await ping(2)).toMatchObject({ status: 'error', code: 'ssh_unreachable', effect: { state: 'not_sent' } });
    expect(await strict.approvals.countPending()).toBe(1);
  });

  it('a masked unit is restarted once a person has done what the words say', async () => {
    const cron = service('cron');
    cron.unitState = 'masked';
    const outcome = await call(app, 'restart_service', { node: 'pve', service: 'cron' });
    expect(outcome.next).toContain('`systemctl unmask cron.service` on pve');
    cron.unitState = 'enabled';
    expect(await call(app, 'restart_service', { node: 'pve', service: 'cron' })).toMatchObject({ status: 'ok' });
  });

  it('a unit that is not there has no journal: the advice is a list, and it works literally', async () => {
    const outcome = await call(app, 'restart_service', { node: 'pve', service: 'nosuch' });
    expect(outcome).toMatchObject({
      code: 'service_not_found',
      effect: { state: 'not_sent' },
      message: expect.stringMatching(/^there is no unit nosuch\.service on pve/),
    });
    const [, command] = /`command` `([^`]+)`/.exec(outcome.next ?? '') ?? [];
    expect(await app.explain({ tool: 'execute_ssh', input: { node: 'pve', command }, agent })).toMatchObject({
      decision: { effect: 'allow' },
    });
  });
});
