/** A plan in people's hands: struck, paused, stopped, revoked; and in the hands of a service. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import { createHandOver } from '#app/plans/hand-over';
import type { PlanHandOver } from '#app/plans/plans';
import { signPayload } from '#approval/signed';
import type { JsonObject } from '#kernel/json';
import { call, type World } from '../app/support.ts';
import { approvedPlan, byAgent, ended, forEachTest, planAt, proposed, run, states, step } from './support.ts';

let world: World;
let app: LocalApp;
forEachTest((opened) => {
  ({ world, app } = opened);
});

const config = (vmid: number, key: string) => world.demo.cluster.state.guests.get(vmid)?.config.get(key);
const describeIt = (text: string, more = {}) => step('set_guest_config', { vmid: 100, description: text }, more);
const three = [describeIt('one'), describeIt('two', { wait_seconds: 20 }), describeIt('three')];
const by = 'user:alice';

async function firstDone(id: string): Promise<void> {
  while (states(await planAt(app, id))[0] !== 'done') await call(app, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
}

describe('a person', () => {
  it('pauses a plan from another process, looks, and lets it go on', async () => {
    const id = await approvedPlan(world, app, three);
    const other = await world.open({}, undefined, 'test', { stays: true });
    expect(await other.plans.control(id, 'pause', by)).toMatchObject({ ok: false });
    await run(app, id);
    await firstDone(id);
    expect(await other.plans.control(id, 'pause', by)).toMatchObject({ ok: true });
    expect(await other.plans.control(id, 'pause', by)).toMatchObject({ ok: false });
    while ((await planAt(app, id)).standing !== 'paused') await call(app, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
    await call(app, 'check_plan', { plan_id: id, wait_seconds: 22 }, byAgent);
    expect(states(await planAt(app, id))).toEqual(['done', 'not_done', 'not_done']);
    expect(await other.plans.get(id)).toMatchObject({ standing: 'paused' });
    expect(await other.plans.resume(id, world.person)).toMatchObject({ ok: true });
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
    expect(config(100, 'description')).toBe('three');
  });

  it('alone lifts a pause: no other key, no word in the trail, and nothing that was signed before does', async () => {
    const id = await approvedPlan(world, app, [describeIt('one'), describeIt('two', { wait_seconds: 600 })]);
    await run(app, id);
    await firstDone(id);
    await app.plans.control(id, 'pause', by);
    expect(await app.plans.underWay()).toMatchObject([{ id, standing: 'paused' }]);
    const stranger = generateApproverKey();
    const mallory = signerFrom(stranger.privateKey, 'user:alice');
    expect(await app.plans.resume(id, mallory)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    const payload = {
      version: 1,
      setting: 'plan_resumed',
      plan: id,
      pauses: 9,
      approver: 'user:alice',
      issuedAt: Date.now(),
      nonce: 'x',
    } as const;
    const forged = [{}, { signed: 'yes' }, { signed: { ...(await signPayload(payload, mallory)) } }];
    await app.records.append(
      forged.map((more) => ({ name: 'plan.control', attributes: { request_id: id, control: 'resume', by, ...more } as JsonObject })),
    );
    expect(await app.plans.get(id)).toMatchObject({ standing: 'paused' });
    expect(await app.plans.resume(id, world.person)).toMatchObject({ ok: true });
    expect(await app.plans.get(id)).toMatchObject({ standing: 'running' });
    await app.plans.control(id, 'pause', by);
    const again = (await app.audit.tail(100)).findLast(({ attributes }) => attributes['control'] === 'resume');
    await app.records.append([{ name: 'plan.control', attributes: again?.attributes ?? {} }]);
    expect(await app.plans.get(id)).toMatchObject({ standing: 'paused' });
  });

  it('stops it: no further step begins, and what is done is said', async () => {
    // Not when the ten minutes are over.
    const id = await approvedPlan(world, app, [describeIt('one'), describeIt('two', { wait_seconds: 600 }), describeIt('three')]);
    await run(app, id);
    await firstDone(id);
    expect(await app.plans.control(id, 'stop', by)).toMatchObject({ ok: true });
    const plan = await ended(app, id);
    expect(plan).toMatchObject({ standing: 'stopped', message: expect.stringContaining('a person stopped it') });
    expect(states(plan)).toEqual(['done', 'not_done', 'not_done']);
    expect(config(100, 'description')).toBe('one');
    expect(await app.plans.resume(id, world.person)).toMatchObject({ ok: false, code: 'not_found' });
    expect(await app.plans.underWay()).toEqual([]);
    expect(await app.plans.list()).toMatchObject([{ id, standing: 'stopped' }]);
  });

  it('revokes the approver’s key: the plan stops before its next step', async () => {
    const { approvers, ...rest } = world.config as { approvers: unknown };
    const file = join(dirname(world.stateDir), 'config.json');
    writeFileSync(file, JSON.stringify({ approvers }), { mode: 0o600 });
    const pinned = await world.open({ ...rest, approvers: [] }, undefined, 'test', { stays: true });
    const id = await approvedPlan(world, pinned, three);
    await run(pinned, id);
    await firstDone(id);
    expect(readFileSync(file, 'utf8')).toContain('alice');
    writeFileSync(file, JSON.stringify({ approvers: [] }), { mode: 0o600 });
    const plan = await ended(pinned, id);
    expect(plan).toMatchObject({ standing: 'stopped', message: expect.stringContaining('the approval does not count any more') });
    expect(states(plan)).toEqual(['done', 'not_done', 'not_done']);
  });

  it('strikes steps before approving: what is left is rehearsed anew and is a question of its own', async () => {
    const id = await proposed(app, [describeIt('one'), step('start_vm', { vmid: 101 }), step('set_tags', { vmid: 101, tags: ['b'] })]);
    const outcome = await app.plans.without(id, [2], by);
    expect(outcome).toMatchObject({ status: 'pending' });
    const left = outcome.request_id ?? '';
    expect(left).not.toBe(id);
    expect(await app.approvals.approve(id, world.person)).toMatchObject({ ok: false });
    expect(await planAt(app, id)).toMatchObject({ standing: 'over', replaced_by: left });
    expect(await run(app, id)).toMatchObject({ code: 'plan_over' });
    await app.approvals.approve(left, world.person);
    await run(app, left);
    expect(await ended(app, left)).toMatchObject({ standing: 'done', steps: [{ state: 'done' }, { state: 'done' }] });
    expect(config(101, 'tags')).toBe('b');
    expect(world.demo.cluster.state.guests.get(101)?.running).toBe(false);
    expect(await app.plans.without(left, [1], by)).toMatchObject({ status: 'error', code: 'not_pending' });
  });

  it('cannot strike what a later step builds on, all of it, or what is not there', async () => {
    const id = await proposed(app, [step('clone_guest', { vmid: 101, new_vmid: 300 }), step('start_vm', { vmid: 300 })]);
    expect(await app.plans.without(id, [1], by)).toMatchObject({
      status: 'error',
      message: expect.stringMatching(/^step 1: no guest 300/),
    });
    expect(await app.plans.without(id, [1, 2], by)).toMatchObject({ code: 'bad_steps' });
    expect(await app.plans.without(id, [3], by)).toMatchObject({ code: 'bad_steps' });
    expect(await app.plans.without('req-00000000', [1], by)).toMatchObject({ code: 'no_such_plan' });
    expect(await planAt(app, id)).toMatchObject({ standing: 'waiting' });
  });

  it('runs an approved plan by hand, in its agent’s place', async () => {
    const id = await approvedPlan(world, app, [describeIt('by hand')]);
    expect(await app.runApproved(id, { by, signal: new AbortController().signal })).toMatchObject({ status: 'ok' });
    expect(await ended(app, id)).toMatchObject({ standing: 'done' });
    expect(config(100, 'description')).toBe('by hand');
  });

  it('who pauses all agents stops a plan before its next step', async () => {
    const id = await approvedPlan(world, app, three);
    await run(app, id);
    await firstDone(id);
    await app.security.pause(by, 'enough');
    const plan = await ended(app, id);
    expect(plan).toMatchObject({ standing: 'stopped' });
    expect(states(plan)).toEqual(['done', 'refused', 'not_done']);
  });
});

it('a process that is closed leaves its plan stopped, and says so', async () => {
  const id = await approvedPlan(world, app, [describeIt('one'), describeIt('two', { wait_seconds: 600 })]);
  const other = await world.open({}, undefined, 'test', { stays: true });
  await run(other, id);
  await firstDone(id);
  await other.close();
  expect(await planAt(app, id)).toMatchObject({ standing: 'stopped', message: 'the process that ran it was closed' });
});

describe('a window whose settings change', () => {
  const twoSteps = [describeIt('one'), describeIt('two', { wait_seconds: 15 })];
  const opened = async (handOver: PlanHandOver, changes = {}) => world.open(changes, undefined, 'test', { stays: true, handOver });

  it('goes on with its plan on the next App, and loses none that is in the middle of a step', async () => {
    const handOver: PlanHandOver = createHandOver();
    const first = await opened(handOver);
    const id = await approvedPlan(world, first, [describeIt('one'), step('start_vm', { vmid: 101 }), ...twoSteps.slice(1)]);
    await run(first, id);
    handOver.retire();
    const [next] = await Promise.all([opened(handOver, { approvalWait: { editor: 60 } }), first.close()]);
    const plan = await ended(next, id);
    expect([plan.standing, ...states(plan)], plan.message).toEqual(['done', 'done', 'done', 'done']);
    expect(config(100, 'description')).toBe('two');
    await handOver.end(new Error('over'));
  });

  it('stops it where the policy is not the one that it was approved under', async () => {
    const handOver: PlanHandOver = createHandOver();
    const first = await opened(handOver);
    const id = await approvedPlan(world, first, twoSteps);
    await run(first, id);
    await firstDone(id);
    handOver.retire();
    await first.close();
    const next = await opened(handOver, { protected: { guests: [{ vmid: 100, reason: 'mine' }] } });
    const plan = await ended(next, id);
    expect([plan.standing, ...states(plan)], plan.message).toEqual(['stopped', 'done', 'refused']);
    expect(config(100, 'description')).toBe('one');
  });

  it('says that it ended where the window closes', async () => {
    const handOver: PlanHandOver = createHandOver();
    const only = await opened(handOver);
    const id = await approvedPlan(world, only, [describeIt('one'), describeIt('two', { wait_seconds: 600 })]);
    await run(only, id);
    await firstDone(id);
    await handOver.end(new Error('the window is closing'));
    await only.close();
    expect(await planAt(app, id)).toMatchObject({ standing: 'stopped', message: 'the process that ran it was closed' });
  });
});

it('a command that ends by itself stays until its plan has ended', async () => {
  const short = await world.open();
  const id = await approvedPlan(world, short, [describeIt('one'), describeIt('two', { wait_seconds: 1 })]);
  await run(short, id);
  await short.close();
  expect(await planAt(app, id)).toMatchObject({ standing: 'done' });
});
