/** Scopes, windows and budgets on the demo cluster: by what it says of its guests, for every process on the store. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterSeed } from '#demo/index';
import { demoSeed, demoTokens, operatorPrivileges } from '#demo/initial-state';
import { chatAgent, mcpAgent } from '#identity/agents';
import type { App } from '#kernel/app';
import { agent, approvedCall, call, guestStatus, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ state: seedWith('Pool.Audit', 'SDN.Use') });
});
afterEach(async () => {
  await world.close();
});

const scope = (more: object) => ({ scopes: [{ name: 'tests', agents: ['cli:tester', 'mcp:tester'], reason: 'it only tests', ...more }] });
/** The demo's cluster, with one more privilege of its operators. */
function seedWith(...more: readonly string[]): ClusterSeed {
  const seed = demoSeed(Date.now(), { [demoTokens.ops]: '5b0f4f0e-74d8-4f0e-9f0a-1c3a3f1d7a11' });
  const roles = { ...seed.access.roles, BanksmanOperator: [...operatorPrivileges, ...more] };
  return { ...seed, access: { ...seed.access, roles } };
}

const hour = 3_600_000;
/** Local times of UTC around now: a window that began an hour ago. */
const around = (durationHours: number, more: object = {}) => ({
  ...{ name: 'release', kind: 'freeze', reason: 'the release is out tonight', zone: 'UTC' },
  times: [{ start: new Date(Date.now() - hour).toISOString().slice(0, 16), duration: `PT${durationHours}H` }],
  ...more,
});

describe('an agent with a scope', () => {
  it('changes only what is in the pool, by live data, and is told whose reason it is', async () => {
    const app = await world.open(scope({ only: { pools: ['prod'] } }));
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
    const refused = await call(app, 'start_vm', { vmid: 101 });
    expect(refused).toMatchObject({ status: 'denied', code: 'out_of_scope' });
    expect(refused.message).toMatch(
      /^guest 101 \(.*\) is in no pool, and scope `tests` is for pool `prod`; the reason given: it only tests$/,
    );
    expect(await call(app, 'restart_service', { node: 'pve', service: 'nginx' })).toMatchObject({ code: 'out_of_scope' });
    expect(await call(app, 'clone_guest', { vmid: 100, new_vmid: 300 })).toMatchObject({
      code: 'out_of_scope',
      message: expect.stringContaining('the new guest 300 is in no pool'),
    });
    // It looks wherever it may look.
    expect(await call(app, 'get_guest', { vmid: 101 })).toMatchObject({ status: 'ok' });
    const other = mcpAgent('other', 'advanced');
    expect(await call(app, 'start_vm', { vmid: 101 }, { agent: other })).toMatchObject({ status: 'pending' });
  });

  it('makes guests in its pool, of what is in it, and none outside', async () => {
    const app = await world.open(scope({ only: { pools: ['prod'] } }));
    const made = { vmid: 100, new_vmid: 300, pool: 'prod' };
    const explained = await app.explain({ tool: 'clone_guest', input: made, agent });
    expect(explained.stages.find(({ stage }) => stage === 'scope')?.decision).toMatchObject({ effect: 'allow', code: 'in_scope' });
    expect(await approvedCall(world, app, { tool: 'clone_guest', input: made })).toMatchObject({ status: 'ok' });
    expect([...(world.demo.cluster.state.pools.get('prod')?.guests ?? [])]).toContain(300);
    expect(await call(app, 'start_vm', { vmid: 300 })).toMatchObject({ status: 'pending' });
    // Another pool, one that only begins like it, none; and what is not in the pool itself.
    for (const [input, why] of [
      [{ ...made, new_vmid: 301, pool: 'production' }, /the new guest 301 is in pool `production`/],
      [{ vmid: 100, new_vmid: 301 }, /the new guest 301 is in no pool/],
      [{ ...made, vmid: 101, new_vmid: 301 }, /guest 101 .*is in no pool/],
    ] as const)
      expect(await call(app, 'clone_guest', input)).toMatchObject({ code: 'out_of_scope', message: expect.stringMatching(why) });
    expect(await call(app, 'clone_guest', { ...made, new_vmid: 301, pool: '../prod' })).toMatchObject({ status: 'denied' });
  });

  it('restores no backup of a guest outside it into its pool', async () => {
    world.demo.cluster.state.pools.set('staging', { id: 'staging', comment: undefined, guests: new Set([101]), storages: new Set() });
    const app = await world.open(scope({ only: { pools: ['staging'] } }));
    const { result } = await call(app, 'get_backups', { node: 'pve', storage: 'local' });
    const archive = /local:backup[^"]*qemu-100[^"]*/.exec(JSON.stringify(result))?.[0] ?? 'none';
    const restore = { archive, new_vmid: 300, node: 'pve', storage: 'local-lvm', pool: 'staging' };
    const refused = await call(app, 'restore_guest', restore);
    expect(refused).toMatchObject({ code: 'out_of_scope', message: expect.stringContaining('the backed up guest 100 is in pool `prod`') });
    // Gone, or its number another guest's: who makes one with it in the scope cannot read what the old one held.
    const { guests, pools } = world.demo.cluster.state;
    pools.set('prod', { ...(pools.get('staging') ?? { comment: undefined, storages: new Set() }), id: 'prod', guests: new Set() });
    pools.set('staging', { id: 'staging', comment: undefined, guests: new Set([100, 101]), storages: new Set() });
    guests.get(100)?.config.set('net0', 'virtio=BC:24:11:00:99:99,bridge=vmbr0');
    expect(await call(app, 'restore_guest', restore)).toMatchObject({
      code: 'out_of_scope',
      message: expect.stringContaining('the backed up guest 100'),
    });
    guests.delete(100);
    expect(await call(app, 'restore_guest', restore)).toMatchObject({ code: 'out_of_scope' });
    const own = await world.open(scope({ only: { pools: ['prod'] } }));
    expect(await call(own, 'restore_guest', { ...restore, pool: 'prod' })).toMatchObject({ code: 'out_of_scope' });
  });

  it('restores a backup of its own guest into its pool', async () => {
    const app = await world.open(scope({ only: { pools: ['prod'] } }));
    const { result } = await call(app, 'get_backups', { node: 'pve', storage: 'local' });
    const archive = /local:backup[^"]*qemu-100[^"]*/.exec(JSON.stringify(result))?.[0] ?? 'none';
    const input = { archive, new_vmid: 300, node: 'pve', storage: 'local-lvm', pool: 'prod' };
    expect(await call(app, 'propose_plan', { steps: [{ tool: 'restore_guest', arguments: input }] }, { agent })).toMatchObject({
      status: 'pending',
    });
    expect(await approvedCall(world, app, { tool: 'restore_guest', input })).toMatchObject({ status: 'ok' });
    expect([...(world.demo.cluster.state.pools.get('prod')?.guests ?? [])]).toContain(300);
  });

  it('by names makes guests with a name that fits', async () => {
    const app = await world.open(scope({ only: { names: ['web*'] } }));
    expect(await call(app, 'clone_guest', { vmid: 100, new_vmid: 300, name: 'web-2' })).toMatchObject({ status: 'pending' });
    expect(await call(app, 'clone_guest', { vmid: 100, new_vmid: 301, name: 'db' })).toMatchObject({ code: 'out_of_scope' });
    expect(await call(app, 'clone_guest', { vmid: 100, new_vmid: 301 })).toMatchObject({
      message: expect.stringContaining('its name is not known'),
    });
  });

  it('is explained as it is refused', async () => {
    const app = await world.open(scope({ only: { names: ['web*'] }, impact: 'reversible' }));
    const stages = async (tool: string, input: unknown) =>
      (await app.explain({ tool, input, agent })).stages.filter(({ decision }) => decision.effect === 'deny');
    expect(await stages('stop_vm', { vmid: 100 })).toMatchObject([
      { stage: 'scope', decision: { code: 'out_of_scope', rules: ['scopes.tests'] } },
    ]);
    expect(await stages('start_vm', { vmid: 101 })).toMatchObject([
      { stage: 'scope', decision: { reason: expect.stringContaining('it only tests') } },
    ]);
    expect(await stages('suspend_vm', { vmid: 100 })).toEqual([]);
  });

  it('with a token that cannot see pools changes nothing, and nothing is protected less', async () => {
    await world.close();
    world = await startWorld({ state: seedWith() });
    const app = await world.open(scope({ only: { pools: ['prod'] } }));
    expect(await call(app, 'start_vm', { vmid: 100 })).toMatchObject({
      code: 'out_of_scope',
      message: expect.stringContaining('the token cannot see which pool it is in (`Pool.Audit` on /pool)'),
    });
    const guarded = await world.open({ protected: { pools: [{ pool: 'prod', reason: 'customers' }] } });
    expect(await call(guarded, 'start_vm', { vmid: 101 })).toMatchObject({
      code: 'protected_resource',
      message: expect.stringMatching(/guest 101 may be in the protected pool `prod`: .*the reason given: customers/),
    });
  });

  it('cannot move guests into it, or out of a freeze, by tags', async () => {
    const config = {
      windows: [around(1, { name: 'tagged', only: { tags: ['web'] }, times: [{ start: '2020-01-01T00:00', duration: 'PT1H' }] })],
    };
    world.demo.cluster.state.guests.get(101)?.config.set('tags', 'staging');
    const app = await world.open({ ...config, ...scope({ only: { tags: ['staging'] } }) });
    const other = { agent: mcpAgent('other', 'advanced') };
    expect(await call(app, 'set_tags', { vmid: 100, tags: ['staging'] }, other)).toMatchObject({ status: 'denied', code: 'tag_decides' });
    expect(await call(app, 'set_tags', { vmid: 101, tags: [] })).toMatchObject({ code: 'tag_decides' });
    expect(await call(app, 'set_guest_config', { vmid: 101, unset: ['tags'] })).toMatchObject({ code: 'tag_decides' });
    expect(await call(app, 'set_tags', { vmid: 101, tags: ['staging', 'more'] })).toMatchObject({ status: 'pending' });
  });
});

describe('protected by pool and name', () => {
  it('guests are refused whatever number they have, and so is their node', async () => {
    const app = await world.open({ protected: { pools: [{ pool: 'prod', reason: 'customers' }], names: ['*dns*'] } });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({
      code: 'protected_resource',
      message: expect.stringMatching(/guest 100 is in pool `prod`, which is protected.*the reason given: customers/),
    });
    const { demo } = world;
    const node = demo.cluster.state.guests.get(100)?.node ?? '';
    expect(await call(app, 'restart_service', { node, service: 'nginx' })).toMatchObject({ code: 'protected_resource' });
    demo.cluster.state.guests.get(101)?.config.set('name', 'Home-DNS-1');
    expect(await call(app, 'stop_vm', { vmid: 101 })).toMatchObject({ message: expect.stringContaining('which `*dns*` protects') });
    const { guests } = await app.live.protectedNames('demo', new AbortController().signal);
    expect([...guests.keys()].toSorted((a, b) => a - b)).toEqual([100, 101, 200, 201]);
  });
});

describe('a freeze', () => {
  it('refuses every change, names the window, and looks are free', async () => {
    const app = await world.open({ windows: [around(2)] });
    const refused = await call(app, 'start_vm', { vmid: 101 });
    expect(refused).toMatchObject({ status: 'denied', code: 'frozen', next: expect.stringContaining('wait until the window is over') });
    expect(refused.message).toMatch(/freeze window `release`; the reason given: the release is out tonight$/);
    expect(await call(app, 'get_vms')).toMatchObject({ status: 'ok' });
    expect(await call(app, 'execute_ssh', { node: 'pve', command: 'uptime' })).toMatchObject({ status: 'ok' });
    expect((await app.explain({ tool: 'start_vm', input: { vmid: 101 }, agent })).decision.rules).toEqual(['windows.release']);
    const findings = await app.doctor(new AbortController().signal);
    expect(findings.find(({ topic }) => topic === 'windows')?.message).toMatch(/release.*open until/);
  });

  it('that begins after an approval holds the call, and the approval is not used', async () => {
    const app = await world.open();
    const input = { vmid: 101 };
    const asked = await call(app, 'start_vm', input, { agent });
    expect(asked).toMatchObject({ status: 'pending' });
    await app.approvals.approve(asked.request_id ?? '', world.person);
    const frozen = await world.open({ windows: [around(2)] });
    expect(await call(frozen, 'start_vm', input, { agent })).toMatchObject({ status: 'denied', code: 'frozen' });
    expect(await app.approvals.get(asked.request_id ?? '')).toMatchObject({ status: 'approved' });
    expect(guestStatus(world, 101)).toBe('stopped');
    expect(await call(app, 'start_vm', input, { agent })).toMatchObject({ status: 'ok' });
  });
});

describe('a budget', () => {
  it('is shared by all agents of the scope and all processes, and survives a restart', async () => {
    const limited = { scopes: [{ name: 'chats', agents: ['host:chat'], reason: 'few changes a day', changesPerDay: 2 }] };
    const [first, second] = [await world.open(limited), await world.open(limited)];
    const start = (app: App, vmid: number, session: string) =>
      app.call({
        ...{
          tool: 'start_vm',
          input: { vmid },
          agent: chatAgent(session, 'advanced'),
          waitMs: 60_000,
          signal: new AbortController().signal,
        },
        gate: { ask: (request) => void app.approvals.approve(request.id, world.person) },
      });
    expect(await start(first, 101, 'a')).toMatchObject({ status: 'ok' });
    // Others, and looks, count for nothing here.
    expect(await approvedCall(world, first, { tool: 'stop_vm', input: { vmid: 101 } })).toMatchObject({ status: 'ok' });
    expect(await start(second, 101, 'b')).toMatchObject({ status: 'ok' });
    const refused = await start(first, 101, 'c');
    expect(refused).toMatchObject({ status: 'denied', code: 'over_budget' });
    expect(refused.message).toMatch(
      /^2 of 2 changes in 24 hours are made, and scope `chats` allows no more; the reason given: few changes a day/,
    );
    await first.close();
    const third = await world.open(limited);
    expect(await start(third, 101, 'd')).toMatchObject({ code: 'over_budget' });
    expect(await call(third, 'get_vms', {}, { agent: chatAgent('a', 'advanced') })).toMatchObject({ status: 'ok' });
    const findings = await third.doctor(new AbortController().signal);
    expect(findings.find(({ topic }) => topic === 'scopes')).toMatchObject({
      state: 'warning',
      message: expect.stringContaining('2 of 2 changes'),
    });
  });

  it('is never exceeded by calls that come at once', async () => {
    const limited = scope({ changesPerDay: 3 });
    const apps = [await world.open(limited), await world.open(limited)];
    const wake = (index: number) => call(apps[index % 2] as App, 'wake_node', { node: 'Home' });
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => wake(index)));
    const ran = outcomes.filter(({ code }) => code !== 'over_budget').length;
    expect(ran).toBe(3);
    expect(outcomes.filter(({ code }) => code === 'over_budget')).toHaveLength(10 - ran);
  });
});
