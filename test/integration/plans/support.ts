/** Plans through an App on the emulator: proposed, approved by a person's key, followed to their end. */
import { afterEach, beforeEach } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { App } from '#kernel/app';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import type { ProposedStep } from '#kernel/plans/plan';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import { agent, call, startWorld, type World } from '../app/support.ts';

/** A world for each test, with an App on it as a window or a server has one. */
export function forEachTest(use: (opened: { readonly world: World; readonly app: LocalApp }) => void): void {
  let world: World | undefined;
  beforeEach(async () => {
    world = await startWorld();
    use({ world, app: await world.open({}, undefined, 'test', { stays: true }) });
  });
  afterEach(async () => {
    await world?.close();
  });
}

export const step = (tool: string, input: JsonObject, more: Partial<ProposedStep> = {}): ProposedStep => ({
  tool,
  arguments: input,
  ...more,
});

export const byAgent = { agent };

/** @returns the plan's id. @throws where it was not proposed */
export async function proposed(app: App, steps: readonly ProposedStep[], by = byAgent): Promise<string> {
  const outcome = await call(app, 'propose_plan', { steps }, by);
  if (outcome.status !== 'pending') throw new Error(JSON.stringify(outcome));
  return outcome.request_id ?? '';
}

export async function approvedPlan(world: World, app: App, steps: readonly ProposedStep[], by = byAgent): Promise<string> {
  const id = await proposed(app, steps, by);
  const answer = await app.approvals.approve(id, world.person);
  if (!answer.ok) throw new Error(answer.message);
  return id;
}

export async function planAt(app: App, id: string): Promise<PlanProgress> {
  const { result, message } = await call(app, 'check_plan', { plan_id: id }, byAgent);
  if (result === undefined) throw new Error(message);
  return result as unknown as PlanProgress;
}

export const run = (app: App, id: string, by = byAgent): Promise<Outcome> => call(app, 'run_plan', { plan_id: id }, by);

/** Waits until it stands otherwise than running. */
export async function ended(app: App, id: string): Promise<PlanProgress> {
  for (;;) {
    const plan = await planAt(app, id);
    if (plan.standing !== 'running') return plan;
    await call(app, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
  }
}

export const states = ({ steps }: PlanProgress): readonly string[] => steps.map(({ state }) => state);
