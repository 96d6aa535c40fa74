/**
 * Somebody else changes what a plan was approved for, on random clusters: nothing of it runs on what was not approved. `BANKSMAN_DRIFTS=1000` tries
 * as many; a failure names the seed of its cluster, and `BANKSMAN_SEED=… BANKSMAN_DRIFTS=1` begins there.
 */
import { describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { createRandom, type Random } from '#demo/random';
import type { World } from '../app/support.ts';
import { startRandomWorld } from './random-cluster.ts';
import { approvedPlan, ended, planAt, run, states, step } from './support.ts';

const drifts = Number(process.env['BANKSMAN_DRIFTS'] ?? 18);
/** In seconds: long enough that a slow machine is in time with its drift. */
const pause = Number(process.env['BANKSMAN_PAUSE'] ?? 4);
const seed = Number(process.env['BANKSMAN_SEED'] ?? 20261126) || Date.now();
/** So many drifts on each cluster. */
const onEach = 12;

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
/** A caller whose calls are refused often is trusted with less. */
const byOf = (index: string) => ({ agent: { id: `mcp:drift-${index}`, host: 'mcp', modelTier: 'advanced' } as const });

describe('drift', () => {
  it('between the approval and the run: not one step runs', { timeout: 120_000 + drifts * 4_000 }, async () => {
    let tried = 0;
    for (let own = seed; tried < drifts; own += 1) {
      tried += await onRandomCluster(own, async (on) => {
        const wanted = Math.min(onEach, drifts - tried);
        for (let index = 0; index < wanted; index += 1) await driftBefore(on, index);
        return wanted;
      });
    }
    expect(tried).toBe(drifts);
    console.log(`from seed ${seed}: ${tried} drifts before a run, and not one step ran`);
  });

  it('between two steps: the next one does not run, and the plan says what is done', { timeout: 120_000 + drifts * 10_000 }, async () => {
    let tried = 0;
    for (let own = seed + 100_000; tried < drifts / 2; own += 1) {
      tried += await onRandomCluster(own, async (on) => {
        // Each has to be in time with its drift.
        const guests = on.vmids.slice(0, Math.min(4, Math.ceil(drifts / 2) - tried));
        expect(guests.length, `seed ${own}`).toBeGreaterThan(0);
        await Promise.all(guests.map((vmid, index) => driftBetween(on, vmid, index + tried)));
        return guests.length;
      });
    }
    console.log(`from seed ${seed + 100_000}: ${tried} drifts between two steps, and no step ran after one`);
  });
});

async function driftBefore(on: Tried, index: number): Promise<void> {
  const { app, world, vmids } = on;
  const vmid = vmids[index % vmids.length] ?? 0;
  const kind = names[index % names.length] ?? '';
  const what = `seed ${on.seed}, drift ${index}: ${kind} of ${vmid}`;
  const by = byOf(`a${index}`);
  const steps = [step('set_guest_config', { vmid, cores: 5 + (index % 2) }), step('set_tags', { vmid, tags: [`t${index}`] })];
  const id = await approvedPlan(world, app, steps, by);
  const text = () => JSON.stringify([...guestOf(on, vmid).config]);
  const before = text();
  const back = kinds[kind]?.(guestOf(on, vmid), drawn(on, index));
  const drifted = text();
  const outcome = await run(app, id, by);
  expect(outcome.status, `${what}: ${outcome.message}`).not.toBe('ok');
  expect(states(await planAt(app, id)), what).toEqual(['not_done', 'not_done']);
  expect(text(), what).toBe(drifted);
  back?.();
  expect(text(), what).toBe(before);
  await app.approvals.revoke(id, 'user:alice');
}

async function driftBetween(on: Tried, vmid: number, index: number): Promise<void> {
  const { app, world } = on;
  const kind = names[index % names.length] ?? '';
  const what = `seed ${on.seed}, drift ${index}: ${kind} of ${vmid}`;
  const by = byOf(`b${vmid}`);
  const steps = [
    step('set_guest_config', { vmid, description: `round ${index} of ${vmid}` }),
    step('set_tags', { vmid, tags: [`r${index}x${vmid}`] }, { wait_seconds: pause }),
  ];
  const id = await approvedPlan(world, app, steps, by);
  await run(app, id, by);
  // The first step is written down as done before the pause begins.
  while (states(await planAt(app, id))[0] !== 'done') await new Promise((resolve) => setImmediate(resolve));
  const back = kinds[kind]?.(guestOf(on, vmid), drawn(on, index));
  const tags = guestOf(on, vmid).config.get('tags');
  const plan = await ended(app, id);
  expect([plan.standing, states(plan)], `${what}: ${plan.message}`).toEqual(['stopped', ['done', 'refused']]);
  expect(guestOf(on, vmid).config.get('tags'), what).toBe(tags);
  back?.();
}

function drawn({ seed: own, world }: Tried, index: number): Random & { readonly nodes: number } {
  return { ...createRandom(own + index), nodes: world.demo.cluster.state.nodes.size };
}
