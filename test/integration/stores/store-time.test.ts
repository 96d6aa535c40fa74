/** A clock that jumps ahead drops nothing until a person says that it is right; one that goes back gives no approval a second life. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LocalStore } from '#kernel/ports/store';
import type { Progress } from '#stores/sqlite/store-time';
import { approved, createApprover, draftBy, opened, openTestStore, temporaryFolder } from './store-fixtures.ts';

const hour = 3_600_000;
const day = 24 * hour;
const alice = createApprover();

/** A machine whose clock can be set, and which can be switched off. */
function createMachine() {
  let wall = 1_800_000_000_000;
  let start = 1;
  let ms = hour;
  return {
    clock: { now: () => wall, progress: (): Progress => ({ start: `start ${start}`, ms }) },
    run: (time: number): void => {
      wall += time;
      ms += time;
    },
    setClock: (by: number): void => {
      wall += by;
    },
    off: (time: number): void => {
      wall += time;
      start += 1;
      ms = 60_000;
    },
  };
}

async function bench() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const machine = createMachine();
  const file = `${temporaryFolder()}/banksman.db`;
  const open = () => openTestStore({ file, clock: machine.clock }) as Promise<LocalStore>;
  const store = await open();
  await opened(store, draftBy('mcp:first'));
  const names = async (): Promise<readonly string[]> => (await store.audit.read(0, 1000)).map(({ name }) => name);
  const sweepUntil = async (holds: () => Promise<boolean>): Promise<void> => {
    await vi.waitFor(
      async () => {
        vi.advanceTimersByTime(30_000);
        if (!(await holds())) throw new Error('not yet');
      },
      { timeout: 60_000 },
    );
  };
  return { machine, open, store, names, sweepUntil };
}

describe('a clock that jumps ahead', () => {
  it('drops nothing while the machine ran, until a person says that it is right', async () => {
    const { machine, store, names, sweepUntil } = await bench();
    machine.run(hour);
    machine.setClock(365 * day);
    expect(await store.care.time()).toEqual({ ahead: 365 * day });
    // What was open lapses by the clock; that is written down by the same sweep that prunes.
    await sweepUntil(async () => (await names()).includes('approval.expired'));
    machine.run(10 * day);
    expect(await store.care.time()).toEqual({ ahead: 365 * day });
    vi.advanceTimersByTime(30_000);
    await store.care.trustClock('user:alice');
    expect(await store.care.time()).toEqual({ ahead: 0 });
    await sweepUntil(async () => !(await names()).includes('approval.requested'));
    const trail = await store.audit.read(0, 1000);
    const trusted = trail.findIndex(({ name }) => name === 'store.changed');
    expect(trail[trusted]?.attributes).toEqual({ change: 'clock_trusted', by: 'user:alice', ahead_ms: 365 * day });
    expect(trail.findIndex(({ name }) => name === 'audit.checkpoint')).toBeGreaterThan(trusted);
  });

  it('is not behind itself while it goes on between two looks', async () => {
    let wall = 1_800_000_000_000;
    const now = () => {
      wall += 1;
      return wall;
    };
    const store = (await openTestStore({ file: `${temporaryFolder()}/banksman.db`, clock: { now } })) as LocalStore;
    await opened(store, draftBy('mcp:first'));
    expect(await store.care.time()).toEqual({ ahead: 0 });
  });

  it.each<[string, (machine: ReturnType<typeof createMachine>) => void, number]>([
    ['by the time that the machine ran', (machine) => machine.run(200 * day), 0],
    ['by the days that it was off', (machine) => machine.off(6 * day), 0],
    ['by what sets a clock right', (machine) => machine.setClock(20 * hour), 0],
    ['while it was off for a month', (machine) => machine.off(30 * day), 30 * day - 60_000],
    ['while it was off, and a year more', (machine) => machine.off(366 * day), 366 * day - 60_000],
  ])('%s', async (_, pass, ahead) => {
    const { machine, open } = await bench();
    pass(machine);
    const again = await open();
    expect(await again.care.time()).toEqual({ ahead });
    await opened(again, draftBy('mcp:again'));
    machine.run(3 * day);
    expect(await (await open()).care.time()).toEqual({ ahead });
  });

  it('and back again leaves nothing behind', async () => {
    const { machine, store } = await bench();
    machine.setClock(365 * day);
    await opened(store, draftBy('mcp:ahead'));
    machine.setClock(-365 * day);
    await opened(store, draftBy('mcp:back'));
    machine.run(20 * day);
    expect(await store.care.time()).toEqual({ ahead: 0 });
    // Those of the time to come are over, not open for a year.
    expect((await store.requests.list({ limit: 10 })).records.map(({ status }) => status)).toEqual(['expired', 'expired', 'expired']);
  });
});

describe('a clock that goes back', () => {
  it('gives what was approved no longer life', async () => {
    const { machine, store } = await bench();
    const { id, digest } = await approved(store, alice, machine.clock.now());
    machine.run(240_000);
    machine.setClock(-180_000);
    expect(await store.requests.consume(id, digest, 'x')).toMatchObject({ ok: false, why: 'expired', record: { status: 'expired' } });
    expect(await store.requests.get(id)).toMatchObject({ status: 'expired' });
  });

  it('gives what was over no second life, also where nothing ran meanwhile', async () => {
    const { machine, open, store } = await bench();
    const { id, digest } = await approved(store, alice, machine.clock.now());
    await store.close();
    machine.run(2 * hour);
    machine.setClock(-2 * hour);
    const again = await open();
    expect(await again.requests.consume(id, digest, 'x')).toMatchObject({ ok: false, why: 'expired' });
    expect((await again.requests.list({ limit: 10, statuses: ['pending', 'approved'] })).records).toEqual([]);
  });

  it('by less than a minute changes nothing', async () => {
    const { machine, store } = await bench();
    const { id, digest } = await approved(store, alice, machine.clock.now());
    machine.setClock(-50_000);
    expect(await store.requests.consume(id, digest, 'x')).toMatchObject({ ok: true });
  });
});
