/**
 * Laws of plans, on random plans and random states: what the rehearsal foretold is what is reached, undoing goes back, and no step runs on a
 * state that was not approved. `BANKSMAN_PLANS=200 BANKSMAN_DRIFTS=1000` runs as many; without, some, so that the suite stays short.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { createProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { createRandom, type Random } from '#demo/random';
import { systemClock } from '#execution/deadline';
import type { Agent } from '#kernel/agent';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { endOf, foretold, type ProposedStep } from '#kernel/plans/plan';
import { planIn } from '#kernel/plans/plan-progress';
import { conditionsNow } from '#tools/support/condition';
import { agent, call, startWorld, type World } from '../app/support.ts';
import { ended, run, step } from './support.ts';

const plans = Number(process.env['BANKSMAN_PLANS'] ?? 6);
const seed = Number(process.env['BANKSMAN_SEED'] ?? 20261126) || Date.now();

let world: World;
let app: LocalApp;
beforeAll(async () => {
  world = await startWorld({ taskDurationMs: 5 });
  app = await world.open({ protected: { deleteUnsaved: true } }, undefined, 'test', { stays: true });
});
afterAll(async () => {
  await world.close();
});

const vmids = [100, 101, 105, 200, 201];
const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
const isVm = (vmid: number) => vmid < 200 || vmid >= 300;

function guestOf(vmid: number) {
  const guest = world.demo.cluster.state.guests.get(vmid);
  if (guest === undefined) throw new Error(`no guest ${vmid}`);
  return guest;
}

/** Any state that a guest may be in; nobody asked for it. */
function disturb(random: Random): void {
  world.demo.cluster.tasks.advance();
  for (const vmid of vmids) {
    const guest = guestOf(vmid);
    guest.running = random.next() < 0.5;
    guest.config.set('description', `state ${Math.floor(random.next() * 1e6)}`);
    if (random.next() < 0.5) guest.config.set('cores', 1 + Math.floor(random.next() * 4));
    if (random.next() < 0.3) guest.config.set('onboot', 1);
    else guest.config.delete('onboot');
  }
}

const makers: readonly ((random: Random, vmid: number, index: number) => ProposedStep)[] = [
  (_random, vmid) => step(isVm(vmid) ? 'start_vm' : 'start_container', { vmid }),
  (_random, vmid) => step(isVm(vmid) ? 'stop_vm' : 'stop_container', { vmid }),
  (_random, vmid) => step(isVm(vmid) ? 'shutdown_vm' : 'shutdown_container', { vmid }),
  (random, vmid) => step('create_snapshot', { vmid, name: pick(random, ['one', 'two', 'three']) }),
  (random, vmid) => step('rollback_snapshot', { vmid, name: pick(random, ['one', 'two', 'three']) }),
  (random, vmid) => step('delete_snapshot', { vmid, name: pick(random, ['one', 'two', 'three']) }),
  (random, vmid) => step('set_guest_config', { vmid, cores: 1 + Math.floor(random.next() * 4), description: `plan ${random.next()}` }),
  (random, vmid) => step('set_guest_config', { vmid, memory: 512 * (1 + Math.floor(random.next() * 4)), onboot: random.next() < 0.5 }),
  (random, vmid) => step('set_tags', { vmid, tags: [pick(random, ['a', 'b', 'c']), pick(random, ['d', 'e'])] }),
  (random, vmid) => step('migrate_guest', { vmid, target: pick(random, ['Home', 'pve', 'agent1']), with_local_disks: true }),
  (_random, vmid) => step('backup_guest', { vmid, storage: 'nas' }),
  (random, vmid) => step('resize_disk', { vmid, disk: isVm(vmid) ? 'scsi0' : 'rootfs', size: `+${1 + Math.floor(random.next() * 2)}G` }),
  (_random, vmid, index) => step('clone_guest', { vmid, new_vmid: 300 + index }),
];

function randomSteps(random: Random, index: number): readonly ProposedStep[] {
  const chosen = [pick(random, vmids), pick(random, vmids)];
  const steps = Array.from({ length: 1 + Math.floor(random.next() * 5) }, (_, at) =>
    pick(random, makers)(random, pick(random, chosen), index * 10 + at),
  );
  // Archives are named by the second, and here a backup takes less: a second one would be the same archive.
  const isFirst = (one: ProposedStep, at: number) =>
    steps.findIndex(({ tool, arguments: { vmid } }) => tool === one.tool && vmid === one.arguments['vmid']) === at;
  return steps.filter((one, at) => one.tool !== 'backup_guest' || isFirst(one, at));
}

/** What the cluster itself says of these guests. */
async function nowOf(guests: readonly number[]) {
  const [cluster] = world.demo.config.clusters;
  const client = createProxmoxClient({
    ...{ name: 'demo', endpoints: cluster.endpoints, tokenId: cluster.tokenId, tls: { kind: 'pin', fingerprint: world.demo.fingerprint } },
    ...{ timeoutMs: 10_000, log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } },
    token: async () => readFileSync(cluster.tokenFile, 'utf8').trim().split('=').at(-1) ?? '',
    clock: systemClock,
  });
  try {
    return await conditionsNow(client, guests, new AbortController().signal);
  } finally {
    await client.close();
  }
}

interface By {
  readonly agent: Agent;
}

/** A step that will not go is left out, by its number. @returns the plan's id; undefined where nothing was left */
async function proposeSome(steps: readonly ProposedStep[], by: By): Promise<string | undefined> {
  const outcome = await call(app, 'propose_plan', { steps }, by);
  if (outcome.status === 'pending') return outcome.request_id;
  const wrong = /^step (\d+): /.exec(outcome.message)?.[1] ?? expect.fail(outcome.message);
  const left = steps.filter((_, at) => at !== Number(wrong) - 1);
  return left.length === 0 ? undefined : proposeSome(left, by);
}

async function approveAndRun(id: string, what: string, by: By): Promise<void> {
  await app.approvals.approve(id, world.person);
  expect(await run(app, id, by), what).toMatchObject({ status: 'ok' });
  const { standing, message } = await ended(app, id);
  expect([standing, message], what).toEqual(['done', expect.any(String)]);
}

/** @returns whether there was something to undo */
async function undo(id: string, what: string, by: By): Promise<boolean> {
  const back = await call(app, 'undo_plan', { plan_id: id }, by);
  if (back.code === 'nothing_to_undo') return false;
  await approveAndRun(back.request_id ?? expect.fail(`${what}: ${back.message}`), `undo of ${what}`, by);
  return true;
}

/** @returns whether it was undone, too; undefined where no step of it would go */
async function tryPlan(steps: readonly ProposedStep[], what: string, by: By): Promise<boolean | undefined> {
  const id = await proposeSome(steps, by);
  if (id === undefined) return undefined;
  const record = await app.approvals.get(id);
  const plan = record && planIn(record);
  if (plan === undefined) throw new Error(`${what}: no plan`);
  const end = endOf(plan.steps);
  const touched = end.map(({ vmid }) => vmid);
  const before = await nowOf(touched);
  await approveAndRun(id, what, by);
  expect(text(foretold(await nowOf(touched))), what).toBe(text(end));
  const hasWayBack = plan.steps.every(({ undo: way, tool }) => 'tool' in way || tool === 'backup_guest');
  if (!hasWayBack || !(await undo(id, what, by))) return false;
  expect(text(foretold(await nowOf(touched))), `undo of ${what}`).toBe(text(foretold(before)));
  return true;
}

const text = (value: unknown) => canonicalJson(value as readonly JsonObject[]);

describe('random plans', () => {
  it('reach what was foretold, and undoing them goes back', { timeout: 60_000 + plans * 30_000 }, async () => {
    const random = createRandom(seed);
    const came: (boolean | undefined)[] = [];
    for (let index = 0; came.filter((one) => one !== undefined).length < plans; index += 1) {
      expect(index, 'most plans are refused').toBeLessThan(plans * 20 + 50);
      disturb(random);
      const steps = randomSteps(random, index);
      const by = { agent: { ...agent, id: `mcp:tester-${index}` } };
      came.push(await tryPlan(steps, `seed ${seed}, plan ${index}: ${JSON.stringify(steps)}`, by));
    }
    console.log(`seed ${seed}: ${plans} plans reached what was foretold, ${came.filter((one) => one === true).length} of them were undone`);
  });
});
