/** A plan from the proposal to its end, through the App's own door. */
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { call, guestStatus, type World } from '../app/support.ts';
import { byAgent, ended, forEachTest, planAt, run, states, step } from './support.ts';

let world: World;
let app: LocalApp;
forEachTest((opened) => {
  ({ world, app } = opened);
});

const three = [
  step('create_snapshot', { vmid: 100, name: 'before_update' }),
  step('set_guest_config', { vmid: 100, description: 'patched' }),
  step('restart_vm', { vmid: 100 }),
];

describe('a plan', () => {
  it('is rehearsed, approved once, and runs every step once', async () => {
    const outcome = await call(app, 'propose_plan', { steps: three }, byAgent);
    expect(outcome).toMatchObject({ status: 'pending', code: 'approval_pending' });
    const id = outcome.request_id ?? '';
    expect(guestStatus(world, 100)).toBe('running');
    expect(world.demo.cluster.state.guests.get(100)?.snapshots).toEqual([]);
    expect(await planAt(app, id)).toMatchObject({ standing: 'waiting' });
    expect(await run(app, id)).toMatchObject({ status: 'pending', code: 'approval_pending' });
    await app.approvals.approve(id, world.person);
    expect(await planAt(app, id)).toMatchObject({ standing: 'approved' });
    expect(await run(app, id)).toMatchObject({ status: 'ok', result: { plan_id: id } });
    const done = await ended(app, id);
    expect(done).toMatchObject({ standing: 'done' });
    expect(states(done)).toEqual(['done', 'done', 'done']);
    expect(world.demo.cluster.state.guests.get(100)?.snapshots.map(({ name }) => name)).toEqual(['before_update']);
    expect(await run(app, id)).toMatchObject({ status: 'ok', result: { standing: 'done' } });
  });
});
