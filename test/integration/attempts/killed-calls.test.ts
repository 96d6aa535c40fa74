/** The process of a call is killed: what came of it is found out, or is said to be unknown. */
import { userInfo } from 'node:os';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { cliAgent } from '#app/for-hosts';
import { startWorld, type World } from '../app/support.ts';
import { bundleVersion, type Caller, createCaller, killedCall, toldOf, untilTold } from './support.ts';

const caller = cliAgent(userInfo().username, 'advanced');

let world: World;
let app: LocalApp;
let program: Caller;
beforeEach(async () => {
  world = await startWorld({ taskDurationMs: 4_000 });
  program = createCaller(world, { limits: { callMs: 20_000 } });
  app = await world.open({ limits: { callMs: 20_000 } }, undefined, bundleVersion, { stays: true });
});
afterEach(async () => {
  await world.close();
});

const stops = () => world.demo.cluster.tasks.list().filter(({ type, id }) => type === 'qmstop' && id === '100');
const named = async (name: string) => (await app.audit.tail(500)).filter((record) => record.name === name);

describe('a killed call', { timeout: 120_000 }, () => {
  it('whose task goes on is done, with the end of its task, and once', async () => {
    const id = await killedCall({ world, app, caller: program }, ['stop_vm', { vmid: 100 }], () => stops().length > 0);
    const told = await untilTold(app, id, (outcome) => typeof outcome === 'object', caller);
    expect(told.result.outcome).toMatchObject({ status: 'ok', code: 'ok' });
    expect(told.message).toMatch(/ended with ok: .*its task has ended: OK/);
    expect(stops()).toHaveLength(1);
    const [resolved, ...more] = await named('attempt.resolved');
    expect(more).toEqual([]);
    expect(resolved?.attributes).toMatchObject({ end: 'done', request_id: id, effect: { upid: stops()[0]?.upid, exit_status: 'OK' } });
    expect(await app.attempts.list()).toEqual([]);
  });

  it('of which several processes ask has one end', async () => {
    const others = await Promise.all(
      [1, 2, 3].map(() => world.open({ limits: { callMs: 20_000 } }, undefined, bundleVersion, { stays: true })),
    );
    const id = await killedCall({ world, app, caller: program }, ['stop_vm', { vmid: 100 }], () => stops().length > 0);
    await Promise.all([app, ...others].map((one) => untilTold(one, id, (outcome) => typeof outcome === 'object', caller)));
    expect(await named('attempt.resolved')).toHaveLength(1);
  });

  it('is running as long as its process lives, and its approval is never said to have run', async () => {
    const { request_id: id = '' } = await program.run('stop_vm', { vmid: 100 });
    await app.approvals.approve(id, world.person);
    world.demo.faults.taskNeverEnds({ type: 'qmstop' });
    const child = program.start('stop_vm', { vmid: 100 });
    try {
      const told = await untilTold(app, id, (outcome) => outcome === 'running', caller);
      expect(told).toMatchObject({
        result: { status: 'consumed', outcome: 'running' },
        message: expect.stringContaining('the call is running'),
      });
      expect(await app.attempts.list()).toEqual([expect.objectContaining({ standing: 'running', tool: 'stop_vm', requestId: id })]);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('that cannot be looked up is unknown: said to the agent, by doctor and first, until a person has seen it', async () => {
    const fault = world.demo.faults.api({ method: 'PUT', path: '/config$', effect: { kind: 'silence' } });
    const input = { vmid: 100, description: 'changed' };
    const id = await killedCall({ world, app, caller: program }, ['set_guest_config', input], () => fault.hits() > 0);
    const told = await untilTold(app, id, (outcome) => outcome === 'unknown' || typeof outcome === 'object', caller);
    expect(told.message).toMatch(/the outcome is unknown: its process ended before it could say/);
    expect(told.next).toMatch(/^do not repeat the call: .*look at the target/);
    const [attempt] = await app.attempts.list();
    expect(attempt).toMatchObject({ standing: 'unknown', tool: 'set_guest_config', requestId: id });
    const finding = { topic: 'outcome unknown', state: 'warning', message: expect.stringContaining('set_guest_config') };
    const [first] = await app.doctor(AbortSignal.timeout(30_000));
    expect([first, (await app.alarms())[0]]).toEqual([expect.objectContaining(finding), expect.objectContaining(finding)]);
    const listed = await program.command('attempts', 'list');
    expect(JSON.parse(listed.stdout)).toEqual([expect.objectContaining({ call: attempt?.call, standing: 'unknown', request_id: id })]);
    // No program without a terminal hides it.
    expect((await program.command('attempts', 'seen', attempt?.call ?? '')).status).not.toBe(0);
    expect(await app.attempts.list()).toHaveLength(1);
    expect(await app.attempts.seen(attempt?.call ?? '', 'user:alice')).toMatchObject({ ok: true });
    expect(await app.attempts.seen(attempt?.call ?? '', 'user:alice')).toMatchObject({ ok: false });
    expect(await app.attempts.list()).toEqual([]);
    expect((await app.alarms()).filter(({ topic }) => topic === finding.topic)).toEqual([]);
    expect((await toldOf(app, id, caller)).result.outcome).toBe('unknown');
    expect((await named('attempt.seen'))[0]?.attributes).toMatchObject({ by: 'user:alice', request_id: id });
    expect(await app.audit.verify()).toMatchObject({ ok: true });
  });

  it('while the cluster cannot be asked is asked about again, and found done', async () => {
    const id = await killedCall({ world, app, caller: program }, ['stop_vm', { vmid: 100 }], () => stops().length > 0);
    const fault = world.demo.faults.api({ effect: { kind: 'status', status: 500, reason: 'not now' } });
    const told = await toldOf(app, id, caller);
    expect(told).toMatchObject({ result: { outcome: 'unknown' }, message: expect.stringContaining('is being looked up') });
    fault.remove();
    expect((await untilTold(app, id, (outcome) => typeof outcome === 'object', caller)).result.outcome).toMatchObject({ status: 'ok' });
  });

  it('whose request never reached the cluster was not done, also where the clock jumped ahead meanwhile and came back', async () => {
    const fault = world.demo.faults.api({ method: 'POST', path: 'status/stop$', effect: { kind: 'hang' } });
    const id = await killedCall({ world, app, caller: program }, ['stop_vm', { vmid: 100 }], () => fault.hits() > 0);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 18 * 86_400_000 });
    try {
      expect((await toldOf(app, id, caller)).result.outcome).toBe('unknown');
    } finally {
      vi.useRealTimers();
    }
    const findings = await app.doctor(AbortSignal.timeout(30_000));
    expect(findings[0]).toMatchObject({
      topic: 'outcome unknown',
      message: expect.stringContaining('not known yet, what came of stop_vm'),
    });
    const told = await untilTold(app, id, (outcome) => outcome !== 'unknown', caller);
    expect(told).toMatchObject({ result: { outcome: 'not_done' }, message: expect.stringContaining('the call was not done') });
    expect(stops()).toEqual([]);
  });
});
