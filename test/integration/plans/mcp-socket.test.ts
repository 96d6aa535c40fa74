/**
 * Two agents at one `banksman serve`, each with a token of its own and a scope of its own: what one tries with the other's plans, guests, tags, grants
 * and budget, over Streamable HTTP.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { demoSeed, demoTokens, operatorPrivileges } from '#demo/initial-state';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import { startWorld, type World } from '../app/support.ts';
import { callTool, newOverHttp, oldOverHttp, type TestClient } from '../mcp/clients.ts';
import { type HttpProgram, type Machine, startMachine } from '../mcp/support.ts';
import { states } from './support.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let person: LocalApp;
let machine: Machine;
let server: HttpProgram;
/** `web` is red's, `staging` is blue's; green counts its changes, and free has no scope at all. */
const names = ['red', 'blue', 'green', 'free'] as const;
type Name = (typeof names)[number];
const tokens = new Map<string, string>();
const clients = new Map<string, TestClient>();

const seed = demoSeed(Date.now(), { [demoTokens.ops]: '5b0f4f0e-74d8-4f0e-9f0a-1c3a3f1d7a11' });
const settings = {
  protected: { guests: [103] },
  scopes: [
    { name: 'shop', agents: ['mcp:red'], reason: 'red looks after the shop', only: { tags: ['web'] } },
    { name: 'tests', agents: ['mcp:blue'], reason: 'blue only tests', only: { tags: ['staging'] }, impact: 'disruptive' },
    { name: 'few', agents: ['mcp:green'], reason: 'few changes', changesPerDay: 2 },
    { name: 'production', agents: ['mcp:nobody'], reason: 'by pool', only: { pools: ['prod'] } },
  ],
};
const guest = (vmid: number) => {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
};

beforeAll(async () => {
  const roles = { ...seed.access.roles, BanksmanOperator: [...operatorPrivileges, 'Pool.Audit', 'SDN.Use'] };
  world = await startWorld({ state: { ...seed, access: { ...seed.access, roles } } });
  // Before it was in anybody's scope, and before it was tagged.
  guest(101).snapshots.push({ name: 'before_tags', parent: undefined, snaptime: 1, description: '', config: new Map(guest(101).config) });
  guest(101).config.set('tags', 'staging');
  person = await world.open(settings);
  const approvers = [{ name: world.person.approver, key: world.person.publicKey }];
  machine = startMachine({
    settings: { ...world.demo.config, ...settings, approvers, approvalWait: { mcp: 0 } },
    stateDir: world.stateDir,
  });
  server = await machine.serve();
  for (const name of names) tokens.set(name, await machine.createToken(name, 'advanced'));
  for (const name of names) clients.set(name, await connect(name));
});
afterAll(async () => {
  await Promise.all([...clients.values()].map((client) => client.close()));
  await machine.close();
  await world.close();
});

/** A session of its own. */
function connect(name: Name, open: (url: string, token: string) => Promise<TestClient> = oldOverHttp): Promise<TestClient> {
  return open(server.url, tokens.get(name) ?? '');
}

async function callAs(name: Name | TestClient, tool: string, input: JsonObject = {}): Promise<Outcome> {
  const client = typeof name === 'string' ? clients.get(name) : name;
  if (client === undefined) throw new Error(`${String(name)} is not connected`);
  return (await callTool(client, tool, input)).outcome;
}

async function planOf(name: Name, steps: readonly JsonObject[]): Promise<string> {
  const outcome = await callAs(name, 'propose_plan', { steps: [...steps] });
  if (outcome.status !== 'pending') throw new Error(JSON.stringify(outcome));
  const id = outcome.request_id ?? '';
  const answer = await person.approvals.approve(id, world.person);
  if (!answer.ok) throw new Error(answer.message);
  return id;
}

async function planAt(name: Name, id: string, wait = 0): Promise<PlanProgress> {
  const { result, message } = await callAs(name, 'check_plan', { plan_id: id, ...(wait === 0 ? {} : { wait_seconds: wait }) });
  if (result === undefined) throw new Error(message);
  return result as unknown as PlanProgress;
}

async function until(name: Name, id: string, is: (plan: PlanProgress) => boolean): Promise<PlanProgress> {
  let plan = await planAt(name, id);
  while (!is(plan)) plan = await planAt(name, id, 1);
  return plan;
}
const ended = ({ standing }: PlanProgress) => standing !== 'running' && standing !== 'paused';

/** What a change of any kind would show in. */
function stateNow(): string {
  const { guests, pools } = world.demo.cluster.state;
  const rows = [...guests.values()].map(({ vmid, node, running, config, snapshots }) => [
    vmid,
    node,
    running,
    [...config],
    snapshots.length,
  ]);
  return JSON.stringify([rows, [...pools.values()].map(({ id, guests: members }) => [id, [...members]])]);
}

const step = (tool: string, input: JsonObject, more: JsonObject = {}): JsonObject => ({ tool, arguments: input, ...more });
const described = (text: string, more: JsonObject = {}) => step('set_guest_config', { vmid: 100, description: text }, more);
const startedSteps = async (id: string) =>
  (await person.audit.tail(500)).filter(
    ({ name, attributes }) => name === 'tool.started' && attributes['plan_step'] !== undefined && attributes['request_id'] === id,
  );

describe('another agent’s plan', () => {
  it('is neither run nor taken back by a token that it is not of, and is good for its own', async () => {
    const id = await planOf('red', [described('red’s')]);
    const before = stateNow();
    expect(await callAs('free', 'run_plan', { plan_id: id })).toMatchObject({ status: 'denied', code: 'not_yours' });
    expect(await callAs('blue', 'run_plan', { plan_id: id })).toMatchObject({ status: 'denied', code: 'out_of_scope' });
    expect((await callAs('blue', 'undo_plan', { plan_id: id })).status).toBe('error');
    // Looking is free, as at the cluster itself.
    expect(await callAs('blue', 'check_plan', { plan_id: id })).toMatchObject({ status: 'ok', result: { standing: 'approved' } });
    expect(stateNow()).toBe(before);
    expect(await callAs('red', 'run_plan', { plan_id: id })).toMatchObject({ status: 'ok' });
    expect(await until('red', id, ended)).toMatchObject({ standing: 'done' });
    // What is done of it is changed back by nobody whose scope its guests are not in.
    const undone = await callAs('blue', 'undo_plan', { plan_id: id });
    expect(['denied', 'error'], JSON.stringify(undone)).toContain(undone.status);
    expect(await person.approvals.countPending()).toBe(0);
    expect(guest(100).config.get('description')).toBe('red’s');
  });

  it('gives nothing to a call of the same thing by another, nor to its own agent once it was used', async () => {
    const id = await planOf('red', [described('once')]);
    for (const name of ['free', 'red'] as const) {
      const asked = await callAs(name, 'set_guest_config', { vmid: 100, description: 'once' });
      expect(asked, name).toMatchObject({ status: 'pending' });
      expect(asked.request_id).not.toBe(id);
      await person.approvals.deny(asked.request_id ?? '', world.person.approver);
    }
    await callAs('red', 'run_plan', { plan_id: id });
    await until('red', id, ended);
    guest(100).config.set('description', 'somebody’s');
    for (const name of ['red', 'free'] as const) {
      const again = await callAs(name, 'run_plan', { plan_id: id });
      expect(again.message, name).not.toContain('has begun');
    }
    for (const more of [{ request_id: id }, { grant: id }, { onGrantOf: id }, { step: { plan: id, number: 1 } }])
      expect(await callAs('red', 'set_guest_config', { vmid: 100, description: 'once', ...more })).toMatchObject({ code: 'invalid_input' });
    expect(guest(100).config.get('description')).toBe('somebody’s');
    expect(await startedSteps(id)).toHaveLength(1);
    expect(await person.approvals.countPending()).toBe(0);
  });

  it('is begun once by eight calls at once, through two sessions of its token in both eras', async () => {
    const id = await planOf('red', [described('at once')]);
    const sessions = [await connect('red'), await connect('red', newOverHttp)] as const;
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, index) => callAs(sessions[index % 2 === 0 ? 0 : 1], 'run_plan', { plan_id: id })),
    );
    expect(await until('red', id, ended)).toMatchObject({ standing: 'done' });
    expect(outcomes.filter(({ status, message }) => status === 'ok' && message.includes('has begun'))).toHaveLength(1);
    expect(await startedSteps(id)).toHaveLength(1);
    await Promise.all(sessions.map((session) => session.close()));
  });
});

describe('a guest that is not in the scope', () => {
  const inside = step('set_guest_config', { vmid: 101, description: 'blue’s' });
  const archive = seed.volumes.find(({ vmid }) => vmid === 100)?.volid ?? '';
  const calls: readonly (readonly [tool: string, input: JsonObject, codes: readonly string[]])[] = [
    ['start_vm', { vmid: 105 }, ['out_of_scope']],
    ['stop_vm', { vmid: 100 }, ['out_of_scope']],
    ['stop_vm', { vmid: 103 }, ['protected_resource']],
    ['shutdown_vm', { vmid: 100 }, ['out_of_scope']],
    ['restart_vm', { vmid: 100 }, ['out_of_scope']],
    ['reset_vm', { vmid: 100 }, ['out_of_scope']],
    ['suspend_vm', { vmid: 100 }, ['out_of_scope']],
    ['stop_container', { vmid: 201 }, ['out_of_scope']],
    ['create_snapshot', { vmid: 100, name: 'mine' }, ['out_of_scope']],
    ['rollback_snapshot', { vmid: 101, name: 'before_tags' }, ['out_of_scope', 'tag_decides']],
    ['backup_guest', { vmid: 100, storage: 'nas' }, ['out_of_scope']],
    ['resize_disk', { vmid: 100, disk: 'scsi0', size: '+1G' }, ['out_of_scope']],
    ['set_guest_config', { vmid: 100, description: 'blue’s' }, ['out_of_scope']],
    ['set_tags', { vmid: 100, tags: ['prod', 'web', 'more'] }, ['out_of_scope']],
    ['set_tags', { vmid: 105, tags: ['ci', 'staging'] }, ['tag_decides', 'out_of_scope']],
    ['clone_guest', { vmid: 100, new_vmid: 300 }, ['out_of_scope']],
    ['clone_guest', { vmid: 900, new_vmid: 300, name: 'nas-vm' }, ['out_of_scope']],
    ['restore_guest', { archive, new_vmid: 300, node: 'pve', storage: 'local-lvm' }, ['out_of_scope']],
    ['delete_guest', { vmid: 101 }, ['out_of_scope']],
    ['execute_ssh', { node: 'pve', command: 'uptime' }, ['out_of_scope']],
    ['restart_service', { node: 'pve', service: 'nginx' }, ['out_of_scope']],
    ['wake_node', { node: 'Home' }, ['out_of_scope']],
    // Names are no numbers, and a scope is widened by no argument.
    ['start_vm', { vmid: 'nas-vm' }, ['invalid_input']],
    ['start_vm', { vmid: '1e2' }, ['invalid_input', 'out_of_scope']],
    ['start_vm', { vmid: '0105' }, ['invalid_input', 'out_of_scope']],
    ['start_vm', { vmid: [101, 105] }, ['invalid_input']],
    ['start_vm', { vmid: 105, pool: 'staging' }, ['invalid_input']],
    ['start_vm', { vmid: 105, tags: ['staging'] }, ['invalid_input']],
    ['start_vm', { vmid: 105, node: 'Home' }, ['out_of_scope', 'wrong_node']],
    ['propose_plan', { steps: [inside, step('start_vm', { vmid: 105 })] }, ['out_of_scope']],
    ['propose_plan', { steps: [step('clone_guest', { vmid: 100, new_vmid: 300 }), inside] }, ['out_of_scope']],
    [
      'propose_plan',
      { steps: [inside, step('set_tags', { vmid: 105, tags: ['ci', 'staging'] }), step('start_vm', { vmid: 105 })] },
      ['tag_decides', 'out_of_scope'],
    ],
    ['propose_plan', { steps: [inside, step('delete_guest', { vmid: 101 })] }, ['out_of_scope']],
  ];

  it.each(calls)('%s %j is refused, nothing is asked, and nothing changes', async (tool, input, codes) => {
    const before = stateNow();
    const outcome = await callAs('blue', tool, input);
    expect(['denied', 'error'], outcome.message).toContain(outcome.status);
    expect(codes, outcome.message).toContain(outcome.code);
    const isReasoned = outcome.code !== 'out_of_scope' || outcome.message.includes('the reason given: blue only tests');
    expect(isReasoned, outcome.message).toBe(true);
    expect(await person.approvals.countPending()).toBe(0);
    expect(stateNow()).toBe(before);
  });
});

describe('a tag by which a scope goes', () => {
  const calls: readonly (readonly [tool: string, input: JsonObject])[] = [
    ['set_tags', { vmid: 105, tags: ['ci', 'staging'] }],
    ['set_tags', { vmid: 105, tags: ['ci', 'WEB'] }],
    ['set_tags', { vmid: 101, tags: [] }],
    ['set_tags', { vmid: 100, tags: ['prod'] }],
    ['set_guest_config', { vmid: 101, unset: ['tags'] }],
    ['set_guest_config', { vmid: 105, tags: ['staging'] }],
    ['rollback_snapshot', { vmid: 101, name: 'before_tags' }],
    ['propose_plan', { steps: [step('set_tags', { vmid: 101, tags: ['other'] })] }],
    ['propose_plan', { steps: [step('rollback_snapshot', { vmid: 101, name: 'before_tags' })] }],
  ];

  it.each(calls)('is touched by nobody, with no scope of its own neither: %s %j', async (tool, input) => {
    const before = stateNow();
    expect(await callAs('free', tool, input)).toMatchObject({ status: 'denied', code: 'tag_decides' });
    expect(await person.approvals.countPending()).toBe(0);
    expect(stateNow()).toBe(before);
  });
});

describe('a budget', () => {
  it('is spent once by two sessions of a token at the same time', async () => {
    const sessions = [await connect('green'), await connect('green', newOverHttp)] as const;
    const wakes = await Promise.all(
      Array.from({ length: 8 }, (_, index) => callAs(sessions[index % 2 === 0 ? 0 : 1], 'wake_node', { node: 'Home' })),
    );
    expect(wakes.filter(({ code }) => code === 'over_budget')).toHaveLength(6);
    const plan = await callAs('green', 'propose_plan', { steps: [described('green’s')] });
    expect(plan).toMatchObject({
      status: 'denied',
      code: 'over_budget',
      message: expect.stringContaining('the reason given: few changes'),
    });
    await Promise.all(sessions.map((session) => session.close()));
  });
});

describe('a person at another door', () => {
  it('stops a plan while it waits: it asks nobody anything, and the same token cannot begin it again', async () => {
    const id = await planOf('red', [described('first'), described('second', { wait_seconds: 600 })]);
    await callAs('red', 'run_plan', { plan_id: id });
    await until('red', id, (plan) => states(plan)[0] === 'done');
    const stopped = await machine.run(['plans', 'stop', id, ...machine.config]);
    expect(stopped, stopped.stderr).toMatchObject({ status: 0 });
    expect(await until('red', id, ended)).toMatchObject({ standing: 'stopped' });
    const shown = await machine.run(['plans', 'show', id, ...machine.config]);
    expect(shown.stdout).toMatch(/1\. done .*\n.*2\. not_done .*\nto take back what is done: banksman call undo_plan --input .*req-/);
    expect((await callAs('red', 'run_plan', { plan_id: id })).message).not.toContain('has begun');
    expect(await person.approvals.countPending()).toBe(0);
    expect(guest(100).config.get('description')).toBe('first');
  });

  it('pauses all agents while a plan runs: no later step begins, and every token’s changes are refused', async () => {
    const id = await planOf('red', [described('third'), described('fourth', { wait_seconds: 600 })]);
    const waiting = await planOf('blue', [step('set_guest_config', { vmid: 101, description: 'waits' })]);
    await callAs('red', 'run_plan', { plan_id: id });
    await until('red', id, (plan) => states(plan)[0] === 'done');
    expect(await machine.run(['pause', '--reason', 'enough', ...machine.config])).toMatchObject({ status: 0 });
    for (const [name, tool, input] of [
      ['red', 'set_guest_config', { vmid: 100, description: 'fifth' }],
      ['blue', 'run_plan', { plan_id: waiting }],
      ['free', 'start_vm', { vmid: 101 }],
    ] as const)
      expect(await callAs(name, tool, input), name).toMatchObject({ status: 'denied', code: 'agents_paused' });
    expect(await machine.run(['plans', 'stop', id, ...machine.config])).toMatchObject({ status: 0 });
    expect(await until('red', id, ended)).toMatchObject({ standing: 'stopped' });
    expect(guest(100).config.get('description')).toBe('third');
    expect(await person.security.resume(world.person)).toMatchObject({ ok: true });
    // Not used by the attempt while everything was paused.
    expect(await callAs('blue', 'run_plan', { plan_id: waiting })).toMatchObject({ status: 'ok' });
    expect(await until('blue', waiting, ended)).toMatchObject({ standing: 'done' });
  });
});
