/** What a model does with a plan that is not what the plan is for: refused, with the reason that is so, and nothing runs. */
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { Agent } from '#kernel/agent';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { call, type World } from '../app/support.ts';
import { approvedPlan, byAgent, ended, forEachTest, planAt, proposed, run, states, step } from './support.ts';

let world: World;
let app: LocalApp;
forEachTest((opened) => {
  ({ world, app } = opened);
});

const described = (description: string) => step('set_guest_config', { vmid: 100, description });
const descriptionOf = () => world.demo.cluster.state.guests.get(100)?.config.get('description');
const mallory: { readonly agent: Agent } = { agent: { id: 'mcp:mallory', host: 'mcp', modelTier: 'advanced' } };

/** Each by an agent of its own: who errs often is trusted with less. */
let count = 0;
function propose(steps: unknown, more: JsonObject = {}): Promise<Outcome> {
  count += 1;
  const agent: Agent = { id: `mcp:attacker-${count}`, host: 'mcp', modelTier: 'advanced' };
  return call(app, 'propose_plan', { steps, ...more }, { agent });
}
const nothingAsked = async () => expect(await app.approvals.countPending()).toBe(0);

describe('an approved plan', () => {
  it('of another agent is said to be that, is not run, and is good for its own agent afterwards', async () => {
    const id = await approvedPlan(world, app, [described('mine')]);
    const outcome = await run(app, id, mallory);
    expect(outcome).toMatchObject({ status: 'denied', code: 'not_yours', message: expect.stringContaining('asked by another agent') });
    expect(descriptionOf()).toBeUndefined();
    expect(await run(app, id)).toMatchObject({ status: 'ok' });
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
  });

  it('is begun by one of twenty who come at once, in two processes; the others are told how it stands', async () => {
    const other = await world.open({}, undefined, 'test', { stays: true });
    const id = await approvedPlan(world, app, [described('once')]);
    // As who is told that the cluster could not be read just now is told to.
    const begin = async (at: LocalApp): Promise<Outcome> => {
      const outcome = await run(at, id);
      return outcome.code === 'target_unread' ? begin(at) : outcome;
    };
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => begin(index % 2 === 0 ? app : other)));
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
    const begun = outcomes.filter(({ status, message }) => status === 'ok' && message.includes('has begun'));
    expect(begun).toHaveLength(1);
    for (const { status, code, message } of outcomes.filter((outcome) => !begun.includes(outcome))) {
      expect(['ok', 'denied', 'error'], message).toContain(status);
      expect(`${code} ${message}`, message).toMatch(/used already|consumed|is running|is done|has been used|ran/);
    }
    const started = (await app.audit.tail(300)).filter(({ name, attributes }) => name === 'tool.started' && attributes['plan_step'] === 1);
    expect(started).toHaveLength(1);
  });

  it('is good for a second try where its guests could not be read at the first', async () => {
    const id = await approvedPlan(world, app, [described('read again')]);
    const fault = world.demo.faults.api({
      method: 'GET',
      path: '^/nodes/[^/]+/qemu/100/snapshot$',
      effect: { kind: 'status', status: 500, reason: 'busy' },
    });
    const unread = await run(app, id);
    expect(unread).toMatchObject({ status: 'error', code: 'target_unread', next: expect.stringContaining('again in a few seconds') });
    expect(unread.message).toContain('guest 100: its snapshots');
    fault.remove();
    expect(await run(app, id)).toMatchObject({ status: 'ok' });
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
  });

  it('gives no right to its steps one by one: the same call asks a person anew', async () => {
    const id = await approvedPlan(world, app, [described('first'), step('set_tags', { vmid: 100, tags: ['second'] })]);
    const second = await call(app, 'set_tags', { vmid: 100, tags: ['second'] }, byAgent);
    expect(second).toMatchObject({ status: 'pending' });
    expect(second.request_id).not.toBe(id);
    expect(await call(app, 'apply_plan', (await app.approvals.get(id))?.action.arguments, byAgent)).toMatchObject({ code: 'unknown_tool' });
    expect(descriptionOf()).toBeUndefined();
  });

  it('is not begun again while it is paused, nor once it was stopped or is done', async () => {
    const id = await approvedPlan(world, app, [described('one'), step('set_tags', { vmid: 100, tags: ['late'] }, { wait_seconds: 600 })]);
    await run(app, id);
    while (states(await planAt(app, id))[0] !== 'done') await call(app, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
    await app.plans.control(id, 'pause', 'user:alice');
    expect(await run(app, id)).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('is paused'),
      result: { standing: 'paused' },
    });
    await app.plans.control(id, 'stop', 'user:alice');
    expect(await ended(app, id)).toMatchObject({ standing: 'stopped' });
    expect(await run(app, id)).toMatchObject({ message: expect.stringContaining('is stopped'), result: { standing: 'stopped' } });
    expect(states(await planAt(app, id))).toEqual(['done', 'not_done']);
  });

  it('is not the one that steps were struck from: that one is over, and names the other', async () => {
    const id = await proposed(app, [described('one'), step('set_tags', { vmid: 101, tags: ['two'] })]);
    const struck = await app.plans.without(id, [2], 'user:alice');
    expect(struck).toMatchObject({ status: 'pending' });
    await app.approvals.approve(struck.request_id ?? '', world.person);
    const old = await run(app, id);
    expect(old).toMatchObject({ status: 'error', code: 'plan_over', next: expect.stringContaining(struck.request_id ?? '?') });
    expect(await app.approvals.approve(id, world.person)).toMatchObject({ ok: false });
    await run(app, struck.request_id ?? '');
    await ended(app, struck.request_id ?? '');
    expect(world.demo.cluster.state.guests.get(101)?.config.get('tags')).toBeUndefined();
  });

  it.each([
    ['steps of its own', { steps: [described('edited')] }, 'invalid_input'],
    ['an approver', { approved_by: 'user:alice' }, 'invalid_input'],
    ['a step', { step: { plan: 'x', number: 1 } }, 'invalid_input'],
    ['a grant', { onGrantOf: 'req-00000000' }, 'invalid_input'],
  ])('takes no %s with run_plan', async (_what, more, code) => {
    const id = await approvedPlan(world, app, [described('read')]);
    expect(await call(app, 'run_plan', { plan_id: id, ...more }, byAgent)).toMatchObject({ status: 'error', code });
    expect(descriptionOf()).toBeUndefined();
  });

  it.each([
    ['guessed', 'req-1a2b3c4d', 'no_such_plan'],
    ['of Cyrillic letters', 'r\u0435q-1a2b3c4d', 'invalid_plan_id'],
    ['of full-width digits', 'req-\uff11a2b3c4d', 'invalid_plan_id'],
    ['with an unseen character', 'req-1a2b3c4d\u200b', 'invalid_plan_id'],
    ['that is a path', '../../requests', 'invalid_plan_id'],
    ['that is a query', "req-1' OR '1'='1", 'invalid_plan_id'],
  ])('is not found by an id that is %s', async (_what, id, code) => {
    await approvedPlan(world, app, [described('read')]);
    for (const tool of ['run_plan', 'check_plan', 'undo_plan']) {
      const outcome = await call(app, tool, { plan_id: id }, mallory);
      expect(outcome.status, tool).not.toBe('ok');
      expect([code, 'no_such_plan', 'invalid_input'], `${tool}: ${outcome.message}`).toContain(outcome.code);
    }
    expect(descriptionOf()).toBeUndefined();
  });
});

describe('a proposal', () => {
  it.each([
    'propose_plan',
    'run_plan',
    'undo_plan',
    'check_plan',
    'apply_plan',
    'execute_ssh',
    'restart_service',
    'get_vms',
    'run_command',
  ])('has no step that is %s', async (tool) => {
    const outcome = await propose([described('x'), step(tool, { plan_id: 'req-1a2b3c4d' })]);
    expect(outcome).toMatchObject({ status: 'error', code: 'not_plannable', message: expect.stringMatching(/^step 2: /) });
    await nothingAsked();
  });

  it.each<[string, unknown, string]>([
    ['a key beside a step', [{ ...described('x'), approved: true }], 'invalid_input'],
    ['a forecast', [{ ...described('x'), before: [], after: [] }], 'invalid_input'],
    [
      'an option of the API that no tool has',
      [step('set_guest_config', { vmid: 100, description: 'x', args: '-device x' })],
      'invalid_input',
    ],
    ['`skiplock`', [step('stop_vm', { vmid: 100, skiplock: true })], 'invalid_input'],
    ['another cluster', [step('set_guest_config', { vmid: 100, description: 'x', cluster: 'other' })], 'invalid_input'],
    ['a digest', [step('set_guest_config', { vmid: 100, description: 'x', digest: 'a'.repeat(40) })], 'invalid_input'],
    ['a number of Arabic digits', [step('set_guest_config', { vmid: '\u0661\u0660\u0660', description: 'x' })], 'invalid_input'],
    ['a number with a part', [step('set_guest_config', { vmid: 100.5, description: 'x' })], 'invalid_input'],
    ['two guests', [step('set_guest_config', { vmid: [100, 101], description: 'x' })], 'invalid_input'],
    ['a tool with an unseen character', [step('start_vm\u200b', { vmid: 101 })], 'not_plannable'],
    ['a tool of Cyrillic letters', [step('st\u0430rt_vm', { vmid: 101 })], 'not_plannable'],
    ['a tag of Cyrillic letters', [step('set_tags', { vmid: 101, tags: ['pr\u043ed'] })], 'invalid_input'],
    ['a snapshot of Cyrillic letters', [step('create_snapshot', { vmid: 100, name: 'b\u0435fore' })], 'invalid_input'],
    ['a name that is another one', [step('clone_guest', { vmid: 101, new_vmid: 300, name: 'w\u0435b' })], 'invalid_input'],
    ['a description that is too long', [described('x'.repeat(8_193))], 'invalid_input'],
    ['no step', [], 'invalid_input'],
    ['51 steps', Array.from({ length: 51 }, (_, index) => described(`${index}`)), 'invalid_input'],
    [
      '51 steps with its snapshots',
      Array.from({ length: 26 }, (_, index) => ({ ...described(`${index}`), snapshot_first: true })),
      'invalid_input',
    ],
    ['a wait of a day', [{ ...described('x'), wait_seconds: 86_400 }], 'invalid_input'],
    ['steps that are an object', { 0: described('x'), length: 1 }, 'invalid_input'],
    [
      'a guest that it names twice as new',
      [step('clone_guest', { vmid: 101, new_vmid: 300 }), step('clone_guest', { vmid: 101, new_vmid: 300 })],
      'guest_exists',
    ],
  ])('is refused with %s', async (_what, steps, code) => {
    expect(await propose(steps)).toMatchObject({ status: 'error', code });
    await nothingAsked();
  });

  it('takes nothing by a prototype: what is inherited is no argument', async () => {
    const steps = JSON.parse(
      '[{"tool":"set_guest_config","arguments":{"vmid":100,"description":"x","__proto__":{"cores":64}}}]',
    ) as unknown;
    const outcome = await propose(steps);
    expect(outcome).toMatchObject({ status: 'pending' });
    expect(JSON.stringify((await app.approvals.get(outcome.request_id ?? ''))?.action.arguments)).not.toContain('cores');
  });

  it('of a megabyte is refused or asked in bounds, and the App goes on', async () => {
    const huge = await propose([step('set_guest_config', { vmid: 100, description: 'x', extra: 'y'.repeat(1_000_000) })]);
    expect(huge).toMatchObject({ status: 'error', code: 'invalid_input' });
    expect(huge.message.length).toBeLessThan(5_000);
    let deep: unknown = 1;
    for (let level = 0; level < 5_000; level += 1) deep = { deep };
    expect((await propose([step('set_guest_config', { vmid: 100, deep: deep as JsonObject })])).status).toBe('error');
    expect(await propose([described('x')], { reason: 'r'.repeat(100_000) })).toMatchObject({ status: 'error', code: 'invalid_input' });
    expect(await propose([described('fine')])).toMatchObject({ status: 'pending' });
  });

  it('hides nothing on the card by turning text around or by what is not seen', async () => {
    const outcome = await propose([described('safe\u202egnihton\u200b\u2066')]);
    const card = await app.approvals.card(outcome.request_id ?? '');
    expect(card?.detail).toMatch(/safe/);
    expect(`${card?.detail}${card?.record.title}`).not.toMatch(/[\u200b\u202e\u2066]/u);
  });
});
