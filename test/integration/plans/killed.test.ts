/** The process that runs a plan is killed at a step: nothing of the plan ever runs again, and every process can say how far it came. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { call, type World } from '../app/support.ts';
import type { PlanJob } from './children/run-plan.ts';
import { approvedPlan, byAgent, forEachTest, planAt, run, states, step } from './support.ts';

let world: World;
let app: LocalApp;
forEachTest((opened) => {
  ({ world, app } = opened);
});

describe('a killed process', () => {
  it('leaves a plan that is stopped, with what is done, and undo goes back from there', { timeout: 120_000 }, async () => {
    const steps = [
      step('set_guest_config', { vmid: 100, description: 'planned' }),
      step('set_tags', { vmid: 100, tags: ['late'] }, { wait_seconds: 600 }),
    ];
    const id = await approvedPlan(world, app, steps);
    const folder = dirname(world.stateDir);
    const job: PlanJob = { config: world.config, folder, stateDir: world.stateDir, plan: id, agent: byAgent.agent };
    const child = spawn(process.execPath, [join(import.meta.dirname, 'children/run-plan.ts'), JSON.stringify(job)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      expect(JSON.parse(line.toString())).toMatchObject({ status: 'ok', result: { plan_id: id } });
      while (states(await planAt(app, id))[0] !== 'done') await call(app, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
      expect(await planAt(app, id)).toMatchObject({ standing: 'running' });
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    // Its mark is good for some seconds more.
    let plan = await planAt(app, id);
    while (plan.standing === 'running') {
      await call(app, 'check_plan', { plan_id: id, wait_seconds: 5 }, byAgent);
      plan = await planAt(app, id);
    }
    expect(plan).toMatchObject({ standing: 'stopped', message: expect.stringContaining('the process that ran it ended') });
    expect(states(plan)).toEqual(['done', 'not_done']);
    expect(await run(app, id)).toMatchObject({ result: { standing: 'stopped' } });
    expect(await run(await world.open({}, undefined, 'test', { stays: true }), id)).toMatchObject({ result: { standing: 'stopped' } });
    expect(world.demo.cluster.state.guests.get(100)?.config.get('tags')).not.toBe('late');
    const back = await call(app, 'undo_plan', { plan_id: id }, byAgent);
    expect(back).toMatchObject({ status: 'pending', result: { steps: [{ title: 'Set description of VM 100 (web) on pve' }] } });
  });
});
