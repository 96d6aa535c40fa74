/** One budget, one scope and one plan in two processes that call at the same moment, over both kinds of store. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { Agent } from '#kernel/agent';
import type { Outcome } from '#kernel/outcome';
import type { ValkeyRole } from '#stores/valkey/store-url';
import { call, startWorld, type World } from '../app/support.ts';
import { type Child, startChild } from '../stores/child-process.ts';
import type { AppJob, Batch } from '../stores/children/call-at-once.ts';
import { samplePasswords, startValkey, type ValkeyServer } from '../stores/valkey-server.ts';
import { approvedPlan, ended, step } from './support.ts';

// Every child is a Node of its own: slow to start where much else runs.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const budget = 3;
const scopes = [
  { name: 'few', agents: ['mcp:counted-*'], reason: 'few changes a day', changesPerDay: budget },
  { name: 'tests', agents: ['mcp:bound-*'], reason: 'only what is for tests', only: { guests: [101] } },
];
const agent = (id: string): Agent => ({ id: `mcp:${id}`, host: 'mcp', modelTier: 'advanced' });

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.close());

/** Where a store is, for a process that has these roles and this state directory. */
const stores: Readonly<Record<string, (stateDir: string, roles: readonly ValkeyRole[]) => object>> = {
  SQLite: () => ({}),
  Valkey: (stateDir, roles) => {
    mkdirSync(stateDir, { recursive: true });
    const passwords = Object.fromEntries(roles.map((role) => [role, samplePasswords[role]]));
    const name = `${roles.join('-')}.json`;
    writeFileSync(path.join(stateDir, name), JSON.stringify(passwords), { mode: 0o600 });
    return { store: `${server.url}?credentials=${name}` };
  },
};

describe.each(Object.entries(stores))('over %s', (_kind, storeIn) => {
  let world: World;
  let person: LocalApp;
  let jobs: readonly AppJob[];

  beforeAll(async () => {
    world = await startWorld();
    person = await world.open({ scopes, ...storeIn(world.stateDir, ['agent', 'admin', 'log-writer']) }, undefined, 'test', { stays: true });
    const job: AppJob = {
      config: { ...world.config, scopes, ...storeIn(world.stateDir, ['agent', 'exec', 'log-writer']) },
      folder: path.dirname(world.stateDir),
      stateDir: world.stateDir,
    };
    jobs = [job, job];
  });
  afterAll(() => world.close());

  async function children(): Promise<readonly Child[]> {
    const both = jobs.map((job) => startChild('call-at-once', [JSON.stringify(job)]));
    for (const child of both) expect(await child.line()).toBe('ready');
    return both;
  }

  /** Both at the same moment, each with a batch of its own. */
  async function atOnce(both: readonly Child[], batch: Omit<Batch, 'agent'>, ids: readonly string[]): Promise<readonly Outcome[]> {
    for (const [index, child] of both.entries()) child.send(JSON.stringify({ ...batch, agent: agent(ids[index] ?? '') }));
    const lines = await Promise.all(both.map((child) => child.line()));
    return lines.flatMap((line) => JSON.parse(line) as Outcome[]);
  }

  it('exactly a budget runs, and what is outside the scope is refused in both', async () => {
    const both = await children();
    const wakes = await atOnce(both, { tool: 'wake_node', input: { node: 'Home' }, times: 8 }, ['counted-one', 'counted-two']);
    const ran = wakes.filter(({ code }) => code !== 'over_budget');
    expect(ran.filter(({ status }) => status !== 'ok').map(({ code, message }) => `${code}: ${message}`)).toEqual([]);
    expect(ran).toHaveLength(budget);
    const stops = await atOnce(both, { tool: 'stop_vm', input: { vmid: 100 }, times: 3 }, ['bound-one', 'bound-two']);
    expect(stops.map(({ code }) => code)).toEqual(Array.from({ length: 6 }, () => 'out_of_scope'));
    expect(await person.approvals.countPending()).toBe(0);
    await Promise.all(both.map((child) => child.kill()));
    // What was used up stays so for a process that begins now.
    const later = await children();
    const more = await atOnce(later, { tool: 'wake_node', input: { node: 'Home' }, times: budget }, ['counted-one', 'counted-three']);
    expect(more.filter(({ code }) => code !== 'over_budget')).toEqual([]);
    await Promise.all(later.map((child) => child.kill()));
  });

  it('an approved plan is begun by one of them, once, and each of its steps runs once', async () => {
    const by = { agent: agent('planner') };
    const steps = ['one', 'two'].map((description) => step('set_guest_config', { vmid: 100, description }));
    const id = await approvedPlan(world, person, steps, by);
    const both = await children();
    const outcomes = await atOnce(both, { tool: 'run_plan', input: { plan_id: id }, times: 5 }, ['planner', 'planner']);
    expect(await ended(person, id)).toMatchObject({ standing: 'done' });
    expect(outcomes.filter(({ status, message }) => status === 'ok' && message.includes('has begun'))).toHaveLength(1);
    const begun = (await person.audit.tail(500)).flatMap(({ name, attributes }) =>
      name === 'tool.started' && attributes['tool'] !== 'run_plan' && attributes['plan_step'] !== undefined
        ? [attributes['plan_step']]
        : [],
    );
    expect(begun).toEqual([1, 2]);
    expect(await call(person, 'run_plan', { plan_id: id }, by)).toMatchObject({ result: { standing: 'done' } });
    await Promise.all(both.map((child) => child.kill()));
  });
});
