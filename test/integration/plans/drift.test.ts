/** Somebody else changes what a plan was approved for: nothing of it runs on what was not approved. `BANKSMAN_DRIFTS=1000` tries as many. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { createRandom, type Random } from '#demo/random';
import { startWorld, type World } from '../app/support.ts';
import { approvedPlan, ended, planAt, run, states, step } from './support.ts';

const drifts = Number(process.env['BANKSMAN_DRIFTS'] ?? 24);
/** In seconds: long enough that a slow machine is in time with its drift. */
const pause = Number(process.env['BANKSMAN_PAUSE'] ?? 4);
const seed = Number(process.env['BANKSMAN_SEED'] ?? 20261126) || Date.now();

let world: World;
let app: LocalApp;
beforeAll(async () => {
  world = await startWorld({ taskDurationMs: 5 });
  app = await world.open({}, undefined, 'test', { stays: true });
});
afterAll(async () => {
  await world.close();
});

function guestOf(vmid: number) {
  const guest = world.demo.cluster.state.guests.get(vmid);
  if (guest === undefined) throw new Error(`no guest ${vmid}`);
  return guest;
}
type Guest = ReturnType<typeof guestOf>;

/** Each returns how it is taken back. */
const kinds: Readonly<Record<string, (guest: Guest, random: Random) => () => void>> = {
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
  node: (guest) => {
    const before = guest.node;
    guest.node = before === 'pve' ? 'Home' : 'pve';
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
const vmids = [100, 101, 200, 201];
/** A caller whose calls are refused often is trusted with less. */
const byOf = (index: string) => ({ agent: { id: `mcp:drift-${index}`, host: 'mcp', modelTier: 'advanced' } as const });

describe('drift', () => {
  it('between the approval and the run: not one step runs', { timeout: 60_000 + drifts * 2_000 }, async () => {
    const random = createRandom(seed);
    const tried = new Map<string, number>();
    for (let index = 0; index < drifts; index += 1) {
      const vmid = vmids[index % vmids.length] ?? 100;
      const kind = names[index % names.length] ?? '';
      const by = byOf(`a${index}`);
      const id = await approvedPlan(
        world,
        app,
        [step('set_guest_config', { vmid, cores: 3 + (index % 2) }), step('set_tags', { vmid, tags: [`t${index}`] })],
        by,
      );
      const before = JSON.stringify([...guestOf(vmid).config]);
      const back = kinds[kind]?.(guestOf(vmid), random);
      const drifted = JSON.stringify([...guestOf(vmid).config]);
      const outcome = await run(app, id, by);
      expect([kind, outcome.status], outcome.message).not.toEqual([kind, 'ok']);
      expect(states(await planAt(app, id)), kind).toEqual(['not_done', 'not_done']);
      expect(JSON.stringify([...guestOf(vmid).config])).toBe(drifted);
      back?.();
      expect(JSON.stringify([...guestOf(vmid).config])).toBe(before);
      await app.approvals.revoke(id, 'user:alice');
      tried.set(kind, (tried.get(kind) ?? 0) + 1);
    }
    expect([...tried.values()].reduce((sum, count) => sum + count, 0)).toBe(drifts);
  });

  it('between two steps: the next one does not run, and the plan says what is done', { timeout: 60_000 + drifts * 10_000 }, async () => {
    const random = createRandom(seed + 1);
    const each = async (vmid: number, rounds: number) => {
      for (let round = 0; round < rounds; round += 1) {
        const kind = names[(round + vmid) % names.length] ?? '';
        const by = byOf(`b${vmid}-${round}`);
        const steps = [
          step('set_guest_config', { vmid, description: `round ${round} of ${vmid}, ${random.next()}` }),
          step('set_tags', { vmid, tags: [`r${round}x${vmid}`] }, { wait_seconds: pause }),
        ];
        const id = await approvedPlan(world, app, steps, by);
        await run(app, id, by);
        // The first step is written down as done before the pause begins.
        while (states(await planAt(app, id))[0] !== 'done') await new Promise((resolve) => setImmediate(resolve));
        const back = kinds[kind]?.(guestOf(vmid), random);
        const tags = guestOf(vmid).config.get('tags');
        const plan = await ended(app, id);
        expect([kind, plan.standing, states(plan)], plan.message).toEqual([kind, 'stopped', ['done', 'refused']]);
        expect(guestOf(vmid).config.get('tags'), kind).toBe(tags);
        back?.();
      }
    };
    await Promise.all(vmids.map((vmid) => each(vmid, Math.ceil(drifts / 2 / vmids.length))));
  });
});
