/** Plans over a shared Valkey: the agent's machine has no credential that approves, and a person's machine pauses and stops what runs there. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { ValkeyRole } from '#stores/valkey/store-url';
import { call, startWorld, type World } from '../app/support.ts';
import { samplePasswords, startValkey, type ValkeyServer } from '../stores/valkey-server.ts';
import { byAgent, ended, planAt, proposed, run, states, step } from './support.ts';

let server: ValkeyServer;
let world: World;
let agentSide: LocalApp;
let personSide: LocalApp;
beforeAll(async () => {
  server = await startValkey();
  world = await startWorld();
  agentSide = await openAs('agent-side', ['agent', 'exec', 'log-writer']);
  personSide = await openAs('person-side', ['agent', 'admin', 'log-writer']);
});
afterAll(async () => {
  await world.close();
  await server.close();
});

function openAs(name: string, roles: readonly ValkeyRole[]): Promise<LocalApp> {
  mkdirSync(world.stateDir, { recursive: true });
  const file = path.join(world.stateDir, `${name}.json`);
  writeFileSync(file, JSON.stringify(Object.fromEntries(roles.map((role) => [role, samplePasswords[role]]))), { mode: 0o600 });
  return world.open({ store: `${server.url}?credentials=${name}.json` }, undefined, 'test', { stays: true });
}

const describeIt = (text: string, more = {}) => step('set_guest_config', { vmid: 100, description: text }, more);

it('runs once on the agent’s machine, and is stopped from the person’s', { timeout: 120_000 }, async () => {
  const id = await proposed(agentSide, [describeIt('one'), describeIt('two', { wait_seconds: 600 })]);
  expect(await personSide.plans.get(id)).toMatchObject({ standing: 'waiting' });
  expect(await personSide.approvals.approve(id, world.person)).toMatchObject({ ok: true });
  expect(await run(agentSide, id)).toMatchObject({ status: 'ok' });
  while (states(await planAt(personSide, id))[0] !== 'done')
    await call(personSide, 'check_plan', { plan_id: id, wait_seconds: 1 }, byAgent);
  expect(await planAt(personSide, id)).toMatchObject({ standing: 'running' });
  expect(await personSide.plans.control(id, 'stop', 'user:alice')).toMatchObject({ ok: true });
  expect(await ended(personSide, id)).toMatchObject({ standing: 'stopped' });
  expect(states(await planAt(agentSide, id))).toEqual(['done', 'not_done']);
  expect(await run(agentSide, id)).toMatchObject({ result: { standing: 'stopped' } });
});
