/** Plans where a service holds clusters and approvals: proposed and followed through a user's socket, approved inside, and no other user's. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import { call } from '../app/support.ts';
import { type ServiceWorld, startService } from '../service/support.ts';
import { byAgent, ended, planAt, proposed, run, states, step } from './support.ts';

let service: ServiceWorld;
let alice: App;
let bob: App;
beforeAll(async () => {
  service = await startService();
  alice = await service.connect('alice');
  bob = await service.connect('bob');
});
afterAll(() => service.close());

const describeIt = (text: string, more = {}) => step('set_guest_config', { vmid: 100, description: text }, more);

it('runs in the service, and another user sees nothing of it', async () => {
  const id = await proposed(alice, [describeIt('one'), describeIt('two')]);
  expect((await alice.approvals.card(id))?.detail).toContain('2. Set description of VM 100 (web) on pve');
  expect(await call(bob, 'check_plan', { plan_id: id }, byAgent)).toMatchObject({ code: 'no_such_plan' });
  expect(await bob.plans.get(id)).toBeUndefined();
  expect(await bob.plans.list()).toEqual([]);
  await expect(bob.plans.control(id, 'stop', 'user:bob')).rejects.toThrow(/no request/);
  await expect(bob.plans.without(id, [1], 'user:bob')).rejects.toThrow(/no request/);
  expect(await run(alice, id)).toMatchObject({ status: 'pending' });
  await service.inside.approvals.approve(id, service.world.person);
  expect(await run(bob, id)).toMatchObject({ code: 'no_such_plan' });
  expect(await run(alice, id)).toMatchObject({ status: 'ok' });
  expect(await ended(alice, id)).toMatchObject({ standing: 'done' });
  expect(await alice.plans.list()).toMatchObject([{ id, standing: 'done' }]);
});

it('of the most steps there may be goes through the socket whole, and can be struck', async () => {
  const many = Array.from({ length: 50 }, (_, index) => describeIt(`step ${index}`));
  const id = await proposed(alice, many);
  expect(states(await planAt(alice, id))).toHaveLength(50);
  const outcome = await alice.plans.without(
    id,
    Array.from({ length: 48 }, (_, index) => index + 3),
    'user:alice',
  );
  expect(outcome).toMatchObject({ status: 'pending' });
  expect(states(await planAt(alice, outcome.request_id ?? ''))).toHaveLength(2);
});

it('no socket lets a paused plan go on: that takes a person’s key, and who signed is in the trail', async () => {
  const id = await proposed(alice, [describeIt('one'), describeIt('two', { wait_seconds: 20 })]);
  await service.inside.approvals.approve(id, service.world.person);
  await run(alice, id);
  while (states(await planAt(alice, id))[0] !== 'done') await call(alice, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
  expect(await alice.plans.control(id, 'pause', 'user:alice')).toMatchObject({ ok: true });
  const byHand = alice.plans
    .control(id, 'resume' as 'pause', 'user:alice')
    .catch((thrown: unknown) => ({ ok: false, message: String(thrown) }));
  expect(await byHand).toMatchObject({ ok: false });
  expect(await alice.plans.resume(id, service.world.person)).toMatchObject({ ok: false, code: 'not_here' });
  expect(await alice.plans.underWay()).toMatchObject([{ id, standing: 'paused' }]);
  expect(await bob.plans.underWay()).toEqual([]);
  expect(await service.inside.plans.resume(id, service.world.person)).toMatchObject({ ok: true });
  expect(await ended(alice, id)).toMatchObject({ standing: 'done' });
});
