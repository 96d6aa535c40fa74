/** Steps that take longer than a call may: they are followed to their end; and what somebody else does meanwhile ends the plan. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { call, startWorld, type World } from '../app/support.ts';
import { approvedPlan, byAgent, ended, run, states, step } from './support.ts';

let world: World;
let app: LocalApp;
beforeEach(async () => {
  world = await startWorld({ taskDurationMs: 14_000 });
  app = await world.open({ limits: { callMs: 8_000 } }, undefined, 'test', { stays: true });
});
afterEach(async () => {
  await world.close();
});

const guest = (vmid: number) => world.demo.cluster.state.guests.get(vmid);
const plan = [step('backup_guest', { vmid: 101, storage: 'nas' }), step('set_tags', { vmid: 101, tags: ['saved'] })];

it('the next step begins when the task of the one before has ended, not when its call has', { timeout: 120_000 }, async () => {
  const id = await approvedPlan(world, app, plan);
  await run(app, id);
  expect(await ended(app, id)).toMatchObject({ standing: 'done' });
  const backups = world.demo.cluster.tasks.list().filter(({ type, id: of }) => type === 'vzdump' && of === '101');
  expect(backups.map(({ exitstatus }) => exitstatus)).toEqual(['OK']);
  expect(guest(101)?.config.get('tags')).toBe('saved');
});

it('what somebody else changes while a step runs, and a person who stops it then, end a plan after that step', {
  timeout: 120_000,
}, async () => {
  const by = { agent: { ...byAgent.agent, id: 'mcp:stopped' } };
  const inTwo = [step('backup_guest', { vmid: 100, storage: 'nas' }), step('set_tags', { vmid: 100, tags: ['saved'] })];
  const [id, other] = [await approvedPlan(world, app, plan), await approvedPlan(world, app, inTwo, by)];
  await Promise.all([run(app, id), run(app, other, by)]);
  const savingOf = (vmid: string) => world.demo.cluster.tasks.list().filter(({ type, id: of }) => type === 'vzdump' && of === vmid);
  const isSaving = (vmid: string) => savingOf(vmid).some(({ exitstatus }) => exitstatus === undefined);
  while (!isSaving('101') || !isSaving('100')) await call(app, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
  guest(101)?.config.set('description', 'somebody else');
  expect(await app.plans.control(other, 'stop', 'user:alice')).toMatchObject({ ok: true });
  const stopped = await ended(app, id);
  expect(stopped).toMatchObject({ standing: 'stopped', message: expect.stringContaining('guest 101: its configuration') });
  expect(states(stopped)).toEqual(['done', 'not_done']);
  expect(guest(101)?.config.get('tags')).toBeUndefined();
  const halted = await ended(app, other);
  expect(halted).toMatchObject({ standing: 'stopped', message: expect.stringContaining('a person stopped it') });
  expect(states(halted)).toEqual(['done', 'not_done']);
  // The task is not cut off.
  expect(new Set(savingOf('100').map(({ exitstatus }) => exitstatus))).toEqual(new Set(['OK']));
  expect(guest(100)?.config.get('tags')).not.toBe('saved');
});
