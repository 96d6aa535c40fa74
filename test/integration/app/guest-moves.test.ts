/** Each state that the HA manager can have of a guest, run to its end: what a call says at that end is so, on whatever node that is. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { demoTokens } from '#demo/index';
import { freezeAll, request, setNodeUp } from '#demo/pve/ha-manager';
import type { GuestState, NodeState } from '#demo/pve/state';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { call, type WireAnswer } from '../demo/api-client.ts';
import { approvedCall, guestStatus, manageGuest, startWorld, type World } from './support.ts';

let world: World;
let app: App;
beforeEach(async () => {
  world = await startWorld({ taskDurationMs: 40 });
  app = await world.open({ protected: { nodes: [], guests: [], services: [], addresses: [] } });
});
afterEach(() => world.close());

function node(name: string): NodeState {
  const found = world.demo.cluster.state.nodes.get(name);
  if (found === undefined) throw new Error(`no node ${name}`);
  return found;
}

function guest(vmid: number): GuestState {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

/** What a person does on a node with `ha-manager`. */
function ha(method: string, path: string, form?: Readonly<Record<string, string>>): Promise<WireAnswer> {
  return call(world.demo, { method, path: `/cluster/ha/${path}`, form, authorization: world.demo.authorization[demoTokens.root] });
}

/** Runs a call; `once` happens while the manager is being waited for, after its task has ended. */
function during(onApp: App, tool: string, vmid: number, once: () => void): Promise<Outcome> {
  let done = false;
  const onProgress = (message: string) => {
    if (done || !message.includes('waiting for the HA manager')) return;
    done = true;
    once();
  };
  return approvedCall(world, onApp, { tool, input: { vmid }, onProgress });
}

describe('a stop that is asked for in the middle of a move', () => {
  it.each([
    ['stop_vm', 100, 'migrate'],
    ['stop_container', 201, 'relocate'],
  ] as const)('%s %i during `%s`: it is stopped where it went', async (tool, vmid, how) => {
    const resource = manageGuest(world, vmid, { crmState: how, state: 'started' });
    const outcome = await during(app, tool, vmid, () => {
      // The move has come to its end; the stop was noted meanwhile.
      guest(vmid).node = 'Home';
      resource.crmState = 'started';
    });
    expect(outcome).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('it is stopped on Home (HA state `stopped`) now'),
      result: { node: 'Home', status: 'stopped', ha_state: 'stopped' },
    });
    expect([guest(vmid).node, guestStatus(world, vmid)]).toEqual(['Home', 'stopped']);
  });

  it.each(['migrate', 'relocate', 'freeze', 'fence', 'recovery'] as const)(
    'that never ends (`%s`) is no success, and says so',
    async (crmState) => {
      const hasty = await world.open({ limits: { callMs: 8_000 }, protected: { nodes: [], guests: [], services: [], addresses: [] } });
      manageGuest(world, 100, { crmState, state: 'started' });
      const outcome = await approvedCall(world, hasty, { tool: 'stop_vm', input: { vmid: 100 } });
      expect(outcome).toMatchObject({
        status: 'error',
        code: 'state_not_reached',
        message: expect.stringContaining(`HA state \`${crmState}\``),
        result: { status: 'running', wanted: 'stopped' },
        next: expect.stringMatching(/^(?:the HA manager|its node) .*get_vms/),
      });
      expect(guestStatus(world, 100)).toBe('running');
    },
  );
});

describe('a node that goes away in the middle', () => {
  it('for good: the guest is fenced, recovered and started elsewhere, and the answer says where', async () => {
    const resource = manageGuest(world, 105, { crmState: 'stopped', state: 'stopped' });
    guest(105).running = false;
    const { cluster, faults } = world.demo;
    // The manager gets to the request only after the node is gone.
    faults.haStalls();
    const outcome = await during(app, 'start_vm', 105, () => {
      void faults.nodeDown('agent1');
      cluster.ha.stalled = false;
      request(cluster, resource, 'started');
    });
    expect(outcome).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('it is running on Home (HA state `started`) now'),
      result: { node: 'Home', status: 'running', ha_state: 'started' },
    });
    expect([guest(105).node, guestStatus(world, 105)]).toEqual(['Home', 'running']);
  });

  it('for a reboot: the guest is frozen and started when the node is back', async () => {
    manageGuest(world, 100, { crmState: 'started', state: 'started' });
    const { cluster } = world.demo;
    const outcome = await during(app, 'stop_vm', 100, () => {
      freezeAll(cluster, node('pve'));
      setNodeUp(cluster, node('pve'), false);
      setTimeout(() => setNodeUp(cluster, node('pve'), true), 1_500);
    });
    expect(outcome).toMatchObject({ status: 'ok', result: { node: 'pve', status: 'stopped', ha_state: 'stopped' } });
    expect(guestStatus(world, 100)).toBe('stopped');
  });

  it('with no other node left, it stays in recovery, and nothing is said to have been done', async () => {
    const hasty = await world.open({ limits: { callMs: 8_000 }, protected: { nodes: [], guests: [], services: [], addresses: [] } });
    const resource = manageGuest(world, 105, { crmState: 'recovery', state: 'started' });
    guest(105).running = false;
    const outcome = await approvedCall(world, hasty, { tool: 'start_vm', input: { vmid: 105 } });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'state_not_reached',
      result: { status: 'stopped', ha_state: 'recovery' },
      next: expect.stringContaining('waits until one is back'),
    });
    expect(resource.crmState).toBe('recovery');
  });
});

it('an error is cleared by following the words: disabled, seen as disabled, started', async () => {
  const resource = manageGuest(world, 101, { crmState: 'error', state: 'started' });
  const refused = await approvedCall(world, app, { tool: 'start_vm', input: { vmid: 101 } });
  const commands = [...(refused.next ?? '').matchAll(/`ha-manager ([^`]+)`/g)].map(([, command = '']) => command);
  expect(commands).toEqual(['set vm:101 --state disabled', 'status', 'set vm:101 --state started']);
  const set = (state: string) => ha('PUT', 'resources/vm:101', { state });
  const shown = async () => JSON.stringify((await ha('GET', 'status/current')).body);
  expect((await set('started')).status).toBe(500);
  expect((await set('disabled')).status).toBe(200);
  await expect.poll(shown).toContain('vm:101 (Home, disabled)');
  expect(resource.crmState).toBe('stopped');
  expect((await set('started')).status).toBe(200);
  await expect.poll(() => guestStatus(world, 101)).toBe('running');
});
