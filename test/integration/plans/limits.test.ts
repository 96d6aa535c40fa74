/** What a plan must not do: each case on an App, a store and a cluster that are real. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import type { ProposedStep } from '#kernel/plans/plan';
import { call, guestStatus, type World } from '../app/support.ts';
import { approvedPlan, byAgent, ended, forEachTest, planAt, proposed, run, step } from './support.ts';

let world: World;
let app: LocalApp;
forEachTest((opened) => {
  ({ world, app } = opened);
});

const open = (changes = {}) => world.open(changes, undefined, 'test', { stays: true });
const config = (vmid: number, key: string) => world.demo.cluster.state.guests.get(vmid)?.config.get(key);
const two: readonly [ProposedStep, ProposedStep] = [
  step('set_guest_config', { vmid: 100, description: 'planned' }),
  step('shutdown_vm', { vmid: 100 }, { wait_seconds: 1 }),
];
/** As somebody who writes to the store's file would. */
function dropTriggers(file: DatabaseSync): void {
  const triggers = file.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'requests'").all();
  for (const { name } of triggers) file.exec(`DROP TRIGGER ${String(name)}`);
}

const second = { agent: { ...byAgent.agent, id: 'mcp:second' } };
const third = { agent: { ...byAgent.agent, id: 'mcp:third' } };
const propose = (steps: readonly object[], on = app) => call(on, 'propose_plan', { steps }, byAgent);

describe('a proposal', () => {
  it.each([
    ['an unknown tool', [step('format_disk', {})], 'not_plannable', /^step 1: no tool is named `format_disk`; steps are start_vm/],
    ['a tool that only looks', [step('get_vms', {})], 'not_plannable', /^step 1: `get_vms` is no step of a plan/],
    ['a plan in a plan', [two[0], step('propose_plan', { steps: [] })], 'not_plannable', /^step 2: /],
    ['the internal tool', [step('apply_plan', {})], 'not_plannable', /^step 1: /],
    [
      'arguments that its tool refuses',
      [step('start_vm', { vmid: 100, force: true })],
      'invalid_input',
      /^step 1: unknown argument `force`/,
    ],
    ['a guest that is not there', [step('start_vm', { vmid: 777 })], 'unknown_guest', /^step 1: /],
    ['a protected guest', [two[0], step('stop_vm', { vmid: 103 })], 'protected_resource', /^step 2: .*protected/],
    [
      'a step that its earlier one forbids',
      [step('shutdown_vm', { vmid: 100 }), step('stop_vm', { vmid: 100 })],
      'guest_already_stopped',
      /^step 2: /,
    ],
    ['what PVE refuses late', [step('create_snapshot', { vmid: 104, name: 'one' })], 'guest_locked', /^step 1: .*lock/],
  ] as const)('with %s is refused by the number of its step', async (_what, steps, code, message) => {
    const outcome = await propose(steps);
    expect(outcome).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(outcome.status).not.toBe('ok');
    expect(await app.approvals.countPending()).toBe(0);
  });

  it('that the policy refuses says the tier of that step, as a call of its own does', async () => {
    const alone = await call(app, 'stop_vm', { vmid: 103 }, byAgent);
    expect(alone).toMatchObject({ status: 'denied', tier: 'red' });
    expect(await propose([two[0], step('stop_vm', { vmid: 103 })])).toMatchObject({ status: 'denied', tier: alone.tier });
  });

  it('says what it will have set, the last word on each, also where a step takes it back', async () => {
    const set = (changes: object) => step('set_guest_config', { vmid: 100, ...changes });
    const ends = async (steps: readonly ProposedStep[]) => ((await propose(steps)).result as { end: readonly string[] }).end;
    expect(await ends([set({ cores: 3, memory: 4096 }), set({ cores: 4 })])).toEqual([
      'guest 100: running on pve, cores set to 4, memory set to 4096',
    ]);
    const back = [
      step('create_snapshot', { vmid: 100, name: 'was' }),
      set({ memory: 4096 }),
      step('rollback_snapshot', { vmid: 100, name: 'was' }),
    ];
    expect((await ends(back))[0]).toMatch(/^guest 100: \w+ on pve, memory set to 2048, snapshot was$/);
  });

  it('says its limit, and has one step at least', async () => {
    const many = Array.from({ length: 51 }, () => step('start_vm', { vmid: 101 }));
    expect(await propose(many)).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('50') });
    expect(await propose([])).toMatchObject({ code: 'invalid_input' });
  });

  it('does not obey a protecting tag that somebody took away', async () => {
    const tagged = await open({ protected: { tags: ['keep'] } });
    world.demo.cluster.state.guests.get(101)?.config.set('tags', 'keep');
    expect(await call(tagged, 'propose_plan', { steps: [step('start_vm', { vmid: 101 })] }, byAgent)).toMatchObject({ status: 'denied' });
    world.demo.cluster.state.guests.get(101)?.config.delete('tags');
    expect(await propose([step('start_vm', { vmid: 101 })], tagged)).toMatchObject({
      status: 'denied',
      message: expect.stringMatching(/^step 1: .*keep/),
    });
  });

  it('rehearses on what earlier steps make', async () => {
    const id = await approvedPlan(world, app, [
      step('clone_guest', { vmid: 101, new_vmid: 300, name: 'copy' }),
      step('start_vm', { vmid: 300 }),
    ]);
    await run(app, id);
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
    expect(guestStatus(world, 300)).toBe('running');
  });

  it('rehearses a restore by what is in the archive, and a paused VM as paused', async () => {
    const { result } = await call(app, 'get_backups', { node: 'pve', storage: 'local' }, byAgent);
    const archive = /local:backup[^"]*qemu-100[^"]*/.exec(JSON.stringify(result))?.[0] ?? 'none';
    const restore = [step('restore_guest', { archive, new_vmid: 300, node: 'pve', storage: 'local-lvm' }), step('start_vm', { vmid: 300 })];
    const steps = [...restore, step('suspend_vm', { vmid: 100 })];
    const id = await approvedPlan(world, app, steps);
    await run(app, id);
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
    expect(guestStatus(world, 300)).toBe('running');
    const resumed = await approvedPlan(world, app, [step('resume_vm', { vmid: 100 })]);
    await run(app, resumed);
    expect(await ended(app, resumed)).toMatchObject({ standing: 'done' });
  });

  it('may go back to a snapshot that it takes itself', async () => {
    const steps = [
      step('create_snapshot', { vmid: 101, name: 'two' }),
      ...two.slice(0, 1),
      step('rollback_snapshot', { vmid: 101, name: 'two' }),
    ];
    const id = await approvedPlan(world, app, steps);
    await run(app, id);
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
  });

  it('leaves the cluster as it is', async () => {
    const before = JSON.stringify([...(world.demo.cluster.state.guests.get(100)?.config ?? [])]);
    const tasks = world.demo.cluster.tasks.list().length;
    await proposed(app, two);
    expect(world.demo.cluster.tasks.list().length).toBe(tasks);
    expect(JSON.stringify([...(world.demo.cluster.state.guests.get(100)?.config ?? [])])).toBe(before);
  });
});

describe('an approval', () => {
  it('is shown with every step, its arguments and its way back, and is one signature over all', async () => {
    const id = await proposed(app, two);
    const card = await app.approvals.card(id);
    expect(card?.tampered).toBe(false);
    expect(card?.detail).toContain('1. Set description of VM 100 (web) on pve');
    expect(card?.detail).toContain('set_guest_config {"description":"planned","vmid":100}');
    expect(card?.detail).toContain('2. Shut down VM 100 (web) on pve, 1 s after the step before');
    expect(card?.detail).toContain('can be taken back by start_vm');
    expect(card?.detail).toContain('Afterwards: guest 100: stopped on pve');
    expect(card?.detail).toContain('Not foretold: step 2: whether the guest obeys');
    expect(card?.detail).not.toContain('NOT SHOWN');
  });

  it('says what others lose by a step, by its number, and it is part of what is signed', async () => {
    world.demo.cluster.state.guests.get(201)?.config.set('nameserver', '192.168.1.53');
    const id = await proposed(app, [step('start_vm', { vmid: 101 }), step('stop_container', { vmid: 200 })]);
    const card = await app.approvals.card(id);
    expect(card?.detail).toMatch(/To know: step 2: .*DNS.*201/);
    expect(card?.detail).not.toMatch(/To know: step 1/);
    const blast = card?.record.action.arguments['blast'];
    expect(blast).toEqual([expect.stringMatching(/^step 2: .*DNS.*201/), expect.stringMatching(/^step 2: container 200.*backup/)]);
  });

  it('is worth one run, in one process', async () => {
    const id = await approvedPlan(world, app, [step('set_guest_config', { vmid: 100, description: 'planned' })]);
    const other = await open();
    const outcomes = await Promise.all([run(app, id), run(other, id), run(app, id), run(other, id)]);
    await ended(app, id);
    const started = (await app.audit.tail(200)).filter(({ name, attributes }) => name === 'tool.started' && attributes['plan_step'] === 1);
    expect(started).toHaveLength(1);
    expect(outcomes.filter(({ code }) => code === 'ok').length).toBeGreaterThanOrEqual(1);
    expect(config(100, 'description')).toBe('planned');
  });

  it('whose row somebody puts back to approved is worth nothing, here or in a process that never saw it', async () => {
    const id = await approvedPlan(world, app, [step('set_guest_config', { vmid: 100, description: 'planned' })]);
    const file = new DatabaseSync(join(world.stateDir, 'banksman.db'));
    const row = file.prepare('SELECT * FROM requests WHERE id = ?').get(id) ?? {};
    await run(app, id);
    await ended(app, id);
    world.demo.cluster.state.guests.get(100)?.config.delete('description');
    dropTriggers(file);
    const columns = Object.keys(row).filter((name) => name !== 'seq' && name !== 'id');
    const values = columns.map((name) => row[name] ?? null);
    file.prepare(`UPDATE requests SET ${columns.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`).run(...values, id);
    file.close();
    for (const replaying of [app, await open()]) {
      expect(await replaying.approvals.get(id)).toMatchObject({ status: 'approved' });
      expect((await run(replaying, id)).status).not.toBe('ok');
    }
    expect(config(100, 'description')).toBe(undefined);
  });

  it.each([
    ['that nobody answers within the hour', false],
    ['that is not used within five minutes', true],
  ])('%s is over, and runs nothing', async (_what, isApproved) => {
    const id = isApproved ? await approvedPlan(world, app, two) : await proposed(app, two);
    const file = new DatabaseSync(join(world.stateDir, 'banksman.db'));
    dropTriggers(file);
    const later = isApproved ? 300_001 : 3_600_001;
    const sql = 'UPDATE requests SET created_at = created_at - ?, expires_at = expires_at - ?, due_at = due_at - ? WHERE id = ?';
    file.prepare(sql).run(later, later, later, id);
    file.close();
    expect(await planAt(app, id)).toMatchObject({ standing: 'over', message: expect.stringMatching(/expired|not used in time/) });
    expect(await run(app, id)).toMatchObject({ status: 'error', code: 'plan_over' });
    expect(await app.approvals.approve(id, world.person)).toMatchObject({ ok: false });
    expect(config(100, 'description')).toBe(undefined);
  });

  it('of one who is not trusted any more begins nothing', async () => {
    const id = await approvedPlan(world, app, two);
    const without = await open({ approvers: [{ name: 'user:bob', key: generateApproverKey().publicKey }] });
    expect(await run(without, id)).toMatchObject({ status: 'denied' });
    expect(config(100, 'description')).toBe(undefined);
    expect(await planAt(app, id)).toMatchObject({ standing: 'approved' });
  });

  it('of another agent is nobody’s', async () => {
    const id = await approvedPlan(world, app, two);
    const outcome = await call(app, 'run_plan', { plan_id: id }, { agent: { id: 'mcp:other', host: 'mcp', modelTier: 'advanced' } });
    expect(outcome).toMatchObject({ status: 'denied', code: 'not_yours' });
    expect(config(100, 'description')).toBe(undefined);
  });

  it('under another policy runs nothing', async () => {
    const id = await approvedPlan(world, app, two);
    const stricter = await open({ protected: { guests: [101] } });
    expect(await run(stricter, id)).toMatchObject({ status: 'denied', code: 'policy_changed' });
    expect(await run(await open({ protected: { guests: [100] } }), id)).toMatchObject({ status: 'denied' });
    expect(config(100, 'description')).toBe(undefined);
  });

  it('that was denied, or never given, runs nothing', async () => {
    const id = await proposed(app, two);
    expect(await run(app, id)).toMatchObject({ status: 'pending' });
    await app.approvals.deny(id, 'user:alice');
    expect(await run(app, id)).toMatchObject({ status: 'error', code: 'plan_over' });
    expect(await planAt(app, id)).toMatchObject({ standing: 'over' });
    expect(await call(app, 'run_plan', { plan_id: 'req-00000000' }, byAgent)).toMatchObject({ code: 'no_such_plan' });
    expect(await call(app, 'run_plan', { plan_id: 'nonsense' }, byAgent)).toMatchObject({ code: 'invalid_plan_id' });
  });
});

describe('a plan that somebody changes in the store', () => {
  type Steps = { input: Record<string, unknown> }[];
  const changes: Readonly<Record<string, (steps: Steps) => Steps>> = {
    'another argument': ([one, ...rest]) => [{ ...one, input: { ...one?.input, description: 'forged' } }, ...rest],
    'another guest': ([one, ...rest]) => [{ ...one, input: { ...one?.input, vmid: 101 } }, ...rest],
    'another order': (steps) => steps.toReversed(),
    'a step less': ([, ...rest]) => rest,
    'a step more': (steps) => [...steps, ...steps.slice(0, 1)],
  };
  const steps = [
    step('set_guest_config', { vmid: 100, description: 'one' }),
    step('set_guest_config', { vmid: 100, description: 'two' }, { wait_seconds: 600 }),
  ];

  function forge(id: string, change: (steps: Steps) => Steps): void {
    const file = new DatabaseSync(join(world.stateDir, 'banksman.db'));
    dropTriggers(file);
    const draft = JSON.parse(String(file.prepare('SELECT draft FROM requests WHERE id = ?').get(id)?.['draft']));
    draft.action.arguments.steps = change(draft.action.arguments.steps);
    file.prepare('UPDATE requests SET draft = ? WHERE id = ?').run(JSON.stringify(draft), id);
    file.close();
  }

  it.each(Object.entries(changes))('is neither approved, nor run, nor gone on with: %s', async (_what, change) => {
    const [asked, given, running] = [
      await proposed(app, steps),
      await approvedPlan(world, app, steps, second),
      await approvedPlan(world, app, steps, third),
    ];
    forge(asked, change);
    expect((await app.approvals.card(asked))?.tampered).toBe(true);
    expect(await app.approvals.approve(asked, world.person)).toMatchObject({ ok: false });
    forge(given, change);
    for (const on of [app, await open()]) expect((await run(on, given, second)).status).not.toBe('ok');
    expect(config(100, 'description')).toBe(undefined);
    await run(app, running, third);
    while (config(100, 'description') !== 'one') await new Promise((resolve) => setImmediate(resolve));
    forge(running, change);
    while ((await app.plans.underWay()).length > 0) await call(app, 'check_plan', { plan_id: running, wait_seconds: 1 }, third);
    const ends = (await app.audit.tail(100)).filter(({ name }) => name === 'plan.ended');
    expect(ends.map(({ attributes }) => [attributes['state'], attributes['code']])).toEqual([['stopped', 'plan_gone']]);
    expect(config(100, 'description')).toBe('one');
  });
});

describe('two people who answer at once', () => {
  it('give one answer between them, and it runs once or not at all', async () => {
    const pair = generateApproverKey();
    const bob = signerFrom(pair.privateKey, 'user:bob');
    const approvers = [...(world.config as { approvers: readonly object[] }).approvers, { name: 'user:bob', key: pair.publicKey }];
    const [here, there] = [await open({ approvers }), await open({ approvers })];
    for (let round = 0; round < 4; round += 1) {
      const before = config(100, 'description');
      const id = await proposed(here, [step('set_guest_config', { vmid: 100, description: `round ${round}` })]);
      const answers = await Promise.all([
        here.approvals.approve(id, world.person),
        round % 2 === 0 ? there.approvals.deny(id, 'user:bob') : there.approvals.approve(id, bob),
      ]);
      expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
      const isApproved = (await here.approvals.get(id))?.status === 'approved';
      const outcomes = await Promise.all([run(here, id), run(there, id)]);
      expect(outcomes.some(({ status }) => status === 'ok')).toBe(isApproved);
      await ended(here, id);
      expect(config(100, 'description')).toBe(isApproved ? `round ${round}` : before);
      const started = (await here.audit.tail(500)).filter(
        ({ name, attributes }) => name === 'tool.started' && attributes['plan_step'] === 1 && attributes['request_id'] === id,
      );
      expect(started).toHaveLength(isApproved ? 1 : 0);
    }
  });
});
