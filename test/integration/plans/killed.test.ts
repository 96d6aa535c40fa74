/** The process that runs a plan is killed at a step: nothing of the plan ever runs again, and every process can say how far it came. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { Agent } from '#kernel/agent';
import { call, type World } from '../app/support.ts';
import type { PlanJob } from './children/run-plan.ts';
import { approvedPlan, byAgent, ended, forEachTest, planAt, run, states, step } from './support.ts';

let world: World;
let app: LocalApp;
forEachTest((opened) => {
  ({ world, app } = opened);
});

/** A process of its own that runs this plan until it is killed. */
function runElsewhere(plan: string, agent: Agent) {
  const job: PlanJob = { config: world.config, folder: dirname(world.stateDir), stateDir: world.stateDir, plan, agent };
  return spawn(process.execPath, [join(import.meta.dirname, 'children/run-plan.ts'), JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** `BANKSMAN_KILLS=40` kills at each step of plans of 40 steps; without, at some. */
const kills = Number(process.env['BANKSMAN_KILLS'] ?? 2);
const lanes = [100, 101, 200, 201];

describe('a killed process', () => {
  it('leaves a plan that is stopped, with what is done, and undo goes back from there', { timeout: 120_000 }, async () => {
    const steps = [
      step('set_guest_config', { vmid: 100, description: 'planned' }),
      step('set_tags', { vmid: 100, tags: ['late'] }, { wait_seconds: 600 }),
    ];
    const id = await approvedPlan(world, app, steps);
    const child = runElsewhere(id, byAgent.agent);
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

  it('in the very moment of any step: that one is unknown, none runs twice, and the rest goes on as a plan', {
    timeout: 120_000 + kills * 120_000,
  }, async () => {
    const used = lanes.slice(0, Math.min(lanes.length, kills));
    const counts = await Promise.all(used.map((vmid, lane) => killLane(vmid, lane, used.length)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(kills);
    console.log(`${kills} kills, each in the middle of a step: every step ran once`);
  });
});

/** Of the lanes together every step from 1 to `kills` is one in which a process is killed. @returns how many were */
async function killLane(vmid: number, lane: number, all: number): Promise<number> {
  // A caller whose calls are refused often is trusted with less.
  const byOf = (round: number) => ({ agent: { ...byAgent.agent, id: `mcp:lane-${vmid}-${round}` } });
  const config = world.demo.cluster.state.guests.get(vmid)?.config ?? new Map<string, string>();
  const last = kills + 1;
  const ran: string[] = [];
  let onStep = (_description: string): void => undefined;
  const set = config.set.bind(config);
  config.set = (key, value) => {
    if (key === 'description') {
      // A container's is kept with a line end.
      const text = String(value).trimEnd();
      ran.push(text);
      onStep(text);
    }
    return set(key, value);
  };
  let [next, killed] = [1, 0];
  for (let at = lane + 1; at <= kills; at += all, killed += 1) {
    const by = byOf(at);
    const steps = stepsFrom(vmid, next, last);
    const id = await approvedPlan(world, app, steps, by);
    const child = runElsewhere(id, by.agent);
    const exited = once(child, 'exit');
    onStep = (description) => {
      if (description === `step ${at}`) child.kill('SIGKILL');
    };
    await exited;
    let plan = await planAt(app, id);
    while (plan.standing === 'running') {
      await call(app, 'check_plan', { plan_id: id, wait_seconds: 5 }, by);
      plan = await planAt(app, id);
    }
    const wanted = steps.map((_, index) => (next + index < at ? 'done' : next + index === at ? 'unknown' : 'not_done'));
    expect(states(plan), `guest ${vmid}, killed in step ${at}: ${plan.message}`).toEqual(wanted);
    expect(await run(app, id, by)).toMatchObject({ result: { standing: 'stopped' } });
    next = at + 1;
  }
  const by = byOf(last);
  const rest = await approvedPlan(world, app, stepsFrom(vmid, next, last), by);
  await run(app, rest, by);
  expect(await ended(app, rest)).toMatchObject({ standing: 'done' });
  expect(ran).toEqual(Array.from({ length: last }, (_, index) => `step ${index + 1}`));
  return killed;
}

function stepsFrom(vmid: number, from: number, to: number) {
  return Array.from({ length: to - from + 1 }, (_, index) => step('set_guest_config', { vmid, description: `step ${from + index}` }));
}
