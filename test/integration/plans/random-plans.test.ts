/**
 * Laws of plans, on random plans, clusters and states: what the rehearsal foretold is what is reached, and undoing goes back. A failure names its
 * seed: `BANKSMAN_SEED=… BANKSMAN_PLANS=1` tries that cluster again. `BANKSMAN_PLANS=200` runs as many; without, some, so that the suite stays short.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { createProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { createRandom, type Random } from '#demo/random';
import { systemClock } from '#execution/deadline';
import type { Agent } from '#kernel/agent';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { endOf, foretold, type ProposedStep } from '#kernel/plans/plan';
import { planIn } from '#kernel/plans/plan-progress';
import { conditionsNow } from '#tools/support/condition';
import { agent, call, type World } from '../app/support.ts';
import { pick, startRandomWorld } from './random-cluster.ts';
import { ended, run, step } from './support.ts';

const plans = Number(process.env['BANKSMAN_PLANS'] ?? 6);
const seed = Number(process.env['BANKSMAN_SEED'] ?? 20261126) || Date.now();
/** So many plans on each cluster. */
const onEach = 3;

interface Tried {
  readonly world: World;
  readonly app: LocalApp;
  readonly vmids: readonly number[];
}

function guestOf({ world }: Tried, vmid: number) {
  const guest = world.demo.cluster.state.guests.get(vmid);
  if (guest === undefined) throw new Error(`no guest ${vmid}`);
  return guest;
}

/** Any state that a guest may be in; nobody asked for it. One that high availability manages is as that has it. */
function disturb(tried: Tried, random: Random): void {
  const { cluster } = tried.world.demo;
  cluster.tasks.advance();
  const managed = new Set([...cluster.ha.resources.values()].map(({ vmid }) => vmid));
  for (const vmid of tried.vmids) {
    const guest = guestOf(tried, vmid);
    if (!managed.has(vmid)) guest.running = random.next() < 0.5;
    guest.config.set('description', `state ${Math.floor(random.next() * 1e6)}`);
    if (random.next() < 0.5) guest.config.set('cores', 1 + Math.floor(random.next() * 4));
    if (random.next() < 0.3) guest.config.set('onboot', 1);
    else guest.config.delete('onboot');
  }
}

interface Wish {
  readonly random: Random;
  readonly vmid: number;
  readonly isVm: boolean;
  readonly nodes: readonly string[];
  readonly storages: readonly string[];
  readonly pools: readonly string[];
  readonly newVmid: number;
}

const snapshotName = (random: Random) => pick(random, ['one', 'two', 'three']);

const makers: readonly ((wish: Wish) => ProposedStep)[] = [
  ({ vmid, isVm }) => step(isVm ? 'start_vm' : 'start_container', { vmid }),
  ({ vmid, isVm }) => step(isVm ? 'stop_vm' : 'stop_container', { vmid }),
  ({ vmid, isVm }) => step(isVm ? 'shutdown_vm' : 'shutdown_container', { vmid }),
  ({ random, vmid }) => step('create_snapshot', { vmid, name: snapshotName(random) }),
  ({ random, vmid }) => step('rollback_snapshot', { vmid, name: snapshotName(random) }),
  ({ random, vmid }) => step('delete_snapshot', { vmid, name: snapshotName(random) }),
  ({ random, vmid }) => step('set_guest_config', { vmid, cores: 1 + Math.floor(random.next() * 4), description: `plan ${random.next()}` }),
  ({ random, vmid }) => step('set_guest_config', { vmid, memory: 512 * (1 + Math.floor(random.next() * 4)), onboot: random.next() < 0.5 }),
  ({ random, vmid }) => step('set_tags', { vmid, tags: [pick(random, ['a', 'b', 'c']), pick(random, ['d', 'e'])] }),
  ({ random, vmid, nodes }) => step('migrate_guest', { vmid, target: pick(random, nodes), with_local_disks: true }),
  ({ vmid }) => step('backup_guest', { vmid, storage: 'nas' }),
  ({ random, vmid, isVm }) =>
    step('resize_disk', { vmid, disk: isVm ? 'scsi0' : 'rootfs', size: `+${1 + Math.floor(random.next() * 2)}G` }),
  ({ random, vmid, newVmid, storages, pools }) =>
    step('clone_guest', {
      ...{ vmid, new_vmid: newVmid },
      ...(random.next() < 0.5 ? {} : { storage: pick(random, storages) }),
      ...(pools.length === 0 || random.next() < 0.5 ? {} : { pool: pick(random, pools) }),
    }),
];

function randomSteps(tried: Tried, random: Random, index: number): readonly ProposedStep[] {
  const { nodes, storages, pools } = tried.world.demo.cluster.state;
  const known = { nodes: [...nodes.keys()], storages: [...storages.keys()], pools: [...pools.keys()] };
  const chosen = [pick(random, tried.vmids), pick(random, tried.vmids)];
  const steps = Array.from({ length: 1 + Math.floor(random.next() * 5) }, (_, at) => {
    const vmid = pick(random, chosen);
    return pick(random, makers)({ ...known, random, vmid, isVm: guestOf(tried, vmid).kind === 'qemu', newVmid: 9_000 + index * 10 + at });
  });
  // Archives are named by the second, and here a backup takes less: a second one would be the same archive.
  const isFirst = (one: ProposedStep, at: number) =>
    steps.findIndex(({ tool, arguments: { vmid } }) => tool === one.tool && vmid === one.arguments['vmid']) === at;
  return steps.filter((one, at) => one.tool !== 'backup_guest' || isFirst(one, at));
}

/** What the cluster itself says of these guests. */
async function nowOf({ world }: Tried, guests: readonly number[]) {
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

interface By extends Tried {
  readonly agent: Agent;
}

/** A step that will not go is left out, by its number. @returns the plan's id; undefined where nothing was left */
async function proposeSome(steps: readonly ProposedStep[], by: By): Promise<string | undefined> {
  const outcome = await call(by.app, 'propose_plan', { steps }, { agent: by.agent });
  if (outcome.status === 'pending') return outcome.request_id;
  const wrong = /^step (\d+): /.exec(outcome.message)?.[1] ?? expect.fail(outcome.message);
  const left = steps.filter((_, at) => at !== Number(wrong) - 1);
  return left.length === 0 ? undefined : proposeSome(left, by);
}

async function approveAndRun(id: string, what: string, by: By): Promise<void> {
  const { app, world } = by;
  await app.approvals.approve(id, world.person);
  const begun = await run(app, id, { agent: by.agent });
  expect([begun.status, begun.message], what).toEqual(['ok', expect.any(String)]);
  const { standing, message } = await ended(app, id);
  expect([standing, message], what).toEqual(['done', expect.any(String)]);
}

/** @returns whether there was something to undo */
async function undo(id: string, what: string, by: By): Promise<boolean> {
  const back = await call(by.app, 'undo_plan', { plan_id: id }, { agent: by.agent });
  if (back.code === 'nothing_to_undo') return false;
  await approveAndRun(back.request_id ?? expect.fail(`${what}: ${back.message}`), `undo of ${what}`, by);
  return true;
}

/** @returns whether it was undone, too; undefined where no step of it would go */
async function tryPlan(steps: readonly ProposedStep[], what: string, by: By): Promise<boolean | undefined> {
  const id = await proposeSome(steps, by);
  if (id === undefined) return undefined;
  const record = await by.app.approvals.get(id);
  const plan = record && planIn(record);
  if (plan === undefined) throw new Error(`${what}: no plan`);
  const end = endOf(plan.steps);
  const touched = end.map(({ vmid }) => vmid);
  const before = await nowOf(by, touched);
  await approveAndRun(id, what, by);
  const reached = await nowOf(by, touched);
  expect(text(foretold(reached)), what).toBe(text(end.map(({ values: _set, ...guest }) => guest)));
  for (const { vmid, values } of end.filter(({ exists }) => exists)) {
    const { config = {} } = reached.find((guest) => guest.vmid === vmid) ?? {};
    expect(Object.fromEntries(Object.keys(values).map((key) => [key, config[key] ?? ''])), `${what}: guest ${vmid}`).toEqual(values);
  }
  const hasWayBack = plan.steps.every(({ undo: way, tool }) => 'tool' in way || tool === 'backup_guest');
  if (!hasWayBack || !(await undo(id, what, by))) return false;
  expect(text(foretold(await nowOf(by, touched))), `undo of ${what}`).toBe(text(foretold(before)));
  return true;
}

const text = (value: unknown) => canonicalJson(value as readonly JsonObject[]);

/** Tries plans on one cluster until so many went. @returns how many went, and how many of these were undone */
async function tryCluster(own: number, wanted: number): Promise<{ readonly went: number; readonly undone: number }> {
  const { world, vmids } = await startRandomWorld(own);
  try {
    const app = await world.open({ protected: { deleteUnsaved: true } }, undefined, 'test', { stays: true });
    const tried: Tried = { world, app, vmids };
    const random = createRandom(own);
    const came: boolean[] = [];
    for (let index = 0; came.length < wanted; index += 1) {
      expect(index, `seed ${own}: most plans are refused`).toBeLessThan(wanted * 20 + 50);
      disturb(tried, random);
      const steps = randomSteps(tried, random, index);
      const by = { ...tried, agent: { ...agent, id: `mcp:tester-${index}` } };
      const result = await tryPlan(steps, `seed ${own}, plan ${index}: ${JSON.stringify(steps)}`, by);
      if (result !== undefined) came.push(result);
    }
    return { went: came.length, undone: came.filter((one) => one).length };
  } finally {
    await world.close();
  }
}

describe('random plans on random clusters', () => {
  it('reach what was foretold, and undoing them goes back', { timeout: 120_000 + plans * 30_000 }, async () => {
    let [went, undone] = [0, 0];
    for (let own = seed; went < plans; own += 1) {
      const found = await tryCluster(own, Math.min(onEach, plans - went));
      went += found.went;
      undone += found.undone;
    }
    expect(went).toBe(plans);
    console.log(`from seed ${seed}: ${went} plans reached what was foretold, ${undone} of them were undone`);
  });
});
