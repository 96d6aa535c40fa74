/**
 * Somebody else changes what a plan was approved for, on random clusters: nothing of it runs on what was not approved. `BANKSMAN_DRIFTS=1000` tries
 * as many; a failure names the seed of its cluster, and `BANKSMAN_SEED=… BANKSMAN_DRIFTS=1` begins there.
 */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { createRandom, type Random } from '#demo/random';
import { systemClock } from '#execution/deadline';
import { call, type World } from '../app/support.ts';
import { startRandomWorld } from './random-cluster.ts';
import { approvedPlan, ended, forEachTest, planAt, run, states, step } from './support.ts';

const drifts = Number(process.env['BANKSMAN_DRIFTS'] ?? 36);
const seed = Number(process.env['BANKSMAN_SEED'] ?? 20261126) || Date.now();
/** So many guests of each cluster, at once. */
const onEach = 4;

interface Tried {
  readonly seed: number;
  readonly world: World;
  readonly app: LocalApp;
  /** Guests that can be changed. */
  readonly vmids: readonly number[];
}

async function onRandomCluster<T>(own: number, use: (tried: Tried) => Promise<T>): Promise<T> {
  const { world, vmids } = await startRandomWorld(own);
  try {
    const app = await world.open({ protected: {} }, undefined, 'test', { stays: true });
    return await use({ seed: own, world, app, vmids: vmids.filter((vmid) => !guestOf({ world }, vmid).config.has('lock')) });
  } finally {
    await world.close();
  }
}

function guestOf({ world }: Pick<Tried, 'world'>, vmid: number) {
  const guest = world.demo.cluster.state.guests.get(vmid);
  if (guest === undefined) throw new Error(`no guest ${vmid}`);
  return guest;
}
type Guest = ReturnType<typeof guestOf>;

/** Each returns how it is taken back. */
const kinds: Readonly<Record<string, (guest: Guest, random: Random & { readonly nodes: number }) => () => void>> = {
  config: (guest, random) => {
    const before = guest.config.get('description');
    guest.config.set('description', `somebody else ${random.next()}`);
    return () => void (before === undefined ? guest.config.delete('description') : guest.config.set('description', before));
  },
  address: (guest, random) => {
    const before = guest.config.get('net0');
    const mac = `BC:24:11:00:09:${Math.floor(10 + random.next() * 89)}`;
    guest.config.set('net0', guest.kind === 'qemu' ? `virtio=${mac},bridge=vmbr0` : `name=eth0,bridge=vmbr0,hwaddr=${mac},ip=dhcp`);
    return () => void (before === undefined ? guest.config.delete('net0') : guest.config.set('net0', before));
  },
  status: (guest) => {
    guest.running = !guest.running;
    return () => {
      guest.running = !guest.running;
    };
  },
  node: (guest, random) => {
    const before = guest.node;
    guest.node = before === 'n1' ? 'n2' : 'n1';
    // Of a cluster with one node: another drift.
    if (random.nodes < 2) {
      guest.node = before;
      return kinds['config']?.(guest, random) ?? (() => undefined);
    }
    return () => {
      guest.node = before;
    };
  },
  lock: (guest) => {
    guest.config.set('lock', 'backup');
    return () => void guest.config.delete('lock');
  },
  snapshot: (guest, random) => {
    const name = `s${Math.floor(random.next() * 1e6)}`;
    guest.snapshots.push({ name, description: '', parent: undefined, snaptime: 1, config: new Map(guest.config) });
    return () => void guest.snapshots.pop();
  },
};
const names = Object.keys(kinds);
const byOf = (index: string) => ({ agent: { id: `mcp:drift-${index}`, host: 'mcp', modelTier: 'advanced' } as const });

describe('drift', () => {
  it('between the approval and the run: not one step runs, and what is as it was approved does', {
    timeout: 120_000 + drifts * 1_000,
  }, async () => {
    const tried = await eachGuest(seed, drifts, { each: names.length, use: driftsBefore });
    expect(tried).toBeGreaterThanOrEqual(drifts);
    console.log(`from seed ${seed}: ${tried} drifts before a run, and not one step ran`);
  });

  it('between two steps: the next one does not run, and the plan says what is done', { timeout: 120_000 + drifts * 3_000 }, async () => {
    const tried = await eachGuest(seed + 100_000, drifts / 2, { each: 1, use: driftBetween });
    expect(tried).toBeGreaterThanOrEqual(drifts / 2);
    console.log(`from seed ${seed + 100_000}: ${tried} drifts between two steps, and no step ran after one`);
  });
});

describe('a guest that cannot be read just before its step', () => {
  let world: World;
  let app: LocalApp;
  forEachTest((opened) => {
    ({ world, app } = opened);
  });
  const tagsOf = () => guestOf({ world }, 101).config.get('tags');

  /** Its snapshots cannot be read from the first step on. @returns once the plan has said so */
  async function waiting(): Promise<{ readonly id: string; readAgain(): void }> {
    const id = await approvedPlan(world, app, [
      step('set_guest_config', { vmid: 100, description: 'first' }),
      step('set_tags', { vmid: 101, tags: ['second'] }),
    ]);
    const fault = whenChanged(guestOf({ world }, 100), async () =>
      world.demo.faults.api({
        ...{ method: 'GET', path: '^/nodes/[^/]+/qemu/101/snapshot$', effect: { kind: 'status', status: 500, reason: 'busy' } },
      }),
    );
    expect(await run(app, id)).toMatchObject({ status: 'ok' });
    const readAgain = (await fault).remove;
    let plan = await planAt(app, id);
    while (plan.steps[1]?.message === undefined) plan = await planAt(app, id);
    expect(plan).toMatchObject({ standing: 'running', message: 'it runs', steps: [{ state: 'done' }, { state: 'not_done' }] });
    expect(plan.steps[1].message).toMatch(/could not be read.*guest 101: its snapshots/);
    expect(tagsOf()).toBeUndefined();
    return { id, readAgain };
  }

  it('holds the step until it can be read, and then it runs', async () => {
    const { id, readAgain } = await waiting();
    readAgain();
    const plan = await ended(app, id);
    expect([plan.standing, states(plan)], plan.message).toEqual(['done', ['done', 'done']]);
    expect(tagsOf()).toBe('second');
  });

  it('lets a person stop the plan meanwhile', async () => {
    const { id } = await waiting();
    expect(await app.plans.control(id, 'stop', 'user:alice')).toMatchObject({ ok: true });
    const plan = await ended(app, id);
    expect([plan.standing, states(plan), plan.message]).toEqual(['stopped', ['done', 'not_done'], 'a person stopped it']);
    expect(tagsOf()).toBeUndefined();
  });

  it('gives up after ten minutes, and never ran the step', async () => {
    const { id, readAgain } = await waiting();
    const { now } = systemClock;
    const jumps = vi.spyOn(systemClock, 'now').mockImplementation(() => now() + 10 * 60_000);
    onTestFinished(() => jumps.mockRestore());
    let plan = await planAt(app, id);
    // Not its standing: the jump alone may let its process look as if it had ended.
    while (plan.steps[1]?.state === 'not_done') plan = await planAt(app, id);
    expect(states(plan), plan.message).toEqual(['done', 'refused']);
    expect(plan.steps[1]?.message).toMatch(/did not run: whether its guests are as they were approved could not be read.*guest 101/);
    readAgain();
    expect(tagsOf()).toBeUndefined();
  });
});

interface Trying {
  /** Drifts of one try. */
  readonly each: number;
  use(on: Tried, vmid: number, index: number): Promise<void>;
}

/** On one random cluster after the other. @returns how many drifts there were */
async function eachGuest(first: number, wanted: number, { each, use }: Trying): Promise<number> {
  let tried = 0;
  for (let own = first; tried < wanted; own += 1) {
    tried += await onRandomCluster(own, async (on) => {
      const guests = on.vmids.slice(0, Math.min(onEach, Math.ceil((wanted - tried) / each)));
      await Promise.all(guests.map((vmid, index) => use(on, vmid, tried / each + index)));
      return guests.length * each;
    });
  }
  return tried;
}

const textOf = (guest: Guest) => JSON.stringify([...guest.config]);

/** Of one approved plan every kind of drift, each taken back; then it runs: it was the drift that held it. */
async function driftsBefore(on: Tried, vmid: number, index: number): Promise<void> {
  const { app, world } = on;
  const by = byOf(`a${vmid}`);
  const guest = guestOf(on, vmid);
  const steps = [step('set_guest_config', { vmid, cores: 5 + (index % 2) }), step('set_tags', { vmid, tags: [`t${index}`] })];
  const id = await approvedPlan(world, app, steps, by);
  for (const [at, kind] of names.entries()) {
    const what = `seed ${on.seed}, guest ${vmid}: ${kind}`;
    const back = kinds[kind]?.(guest, drawn(on, index * names.length + at));
    const drifted = textOf(guest);
    const outcome = await run(app, id, by);
    expect(outcome.code, `${what}: ${outcome.message}`).toBe('target_changed');
    expect(states(await planAt(app, id)), what).toEqual(['not_done', 'not_done']);
    expect(textOf(guest), what).toBe(drifted);
    back?.();
  }
  expect(await run(app, id, by)).toMatchObject({ status: 'ok' });
  expect(await ended(app, id), `seed ${on.seed}, guest ${vmid}`).toMatchObject({ standing: 'done' });
}

/** A person pauses the plan in its first step, so that the drift is in time however slow the machine is. */
async function driftBetween(on: Tried, vmid: number, index: number): Promise<void> {
  const { app, world } = on;
  const kind = names[index % names.length] ?? '';
  const what = `seed ${on.seed}, drift ${index}: ${kind} of ${vmid}`;
  const by = byOf(`b${vmid}`);
  const guest = guestOf(on, vmid);
  const steps = [
    step('set_guest_config', { vmid, description: `round ${index} of ${vmid}` }),
    step('set_tags', { vmid, tags: [`r${index}x${vmid}`] }, { wait_seconds: 1 }),
  ];
  const id = await approvedPlan(world, app, steps, by);
  const paused = whenChanged(guest, () => app.plans.control(id, 'pause', 'user:alice'));
  await run(app, id, by);
  expect(await paused, what).toMatchObject({ ok: true });
  while (states(await planAt(app, id))[0] !== 'done') await call(app, 'check_plan', { plan_id: id, wait_seconds: 1 }, by);
  const back = kinds[kind]?.(guest, drawn(on, index));
  const drifted = textOf(guest);
  expect(await app.plans.resume(id, world.person), what).toMatchObject({ ok: true });
  const plan = await ended(app, id);
  expect([plan.standing, states(plan)], `${what}: ${plan.message}`).toEqual(['stopped', ['done', 'refused']]);
  expect(textOf(guest), what).toBe(drifted);
  back?.();
}

/** What `then` gives, begun at the first change of the guest's description. */
function whenChanged<T>({ config }: Guest, then: () => Promise<T>): Promise<T> {
  const changed = Promise.withResolvers<T>();
  const set = config.set.bind(config);
  config.set = (key, value) => {
    if (key === 'description') {
      config.set = set;
      then().then(changed.resolve, changed.reject);
    }
    return set(key, value);
  };
  return changed.promise;
}

function drawn({ seed: own, world }: Tried, index: number): Random & { readonly nodes: number } {
  return { ...createRandom(own + index), nodes: world.demo.cluster.state.nodes.size };
}
