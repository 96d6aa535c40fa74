import { describe, expect, it } from 'vitest';
import { createChannelSlots } from '#connectors/ssh/connection-pool';

const never = new AbortController().signal;

/** Work that ends when told. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let running = false;
  return {
    run: async () => {
      running = true;
      await promise;
    },
    open: resolve,
    get running() {
      return running;
    },
  };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('createChannelSlots', () => {
  it('lets so many run, and the next in the order they came', async () => {
    const slots = createChannelSlots(2);
    const gates = [gate(), gate(), gate(), gate()] as const;
    const all = gates.map((one) => slots.use(never, one.run));
    await settle();
    expect(gates.map((one) => one.running)).toEqual([true, true, false, false]);
    expect(slots.pending).toBe(4);
    gates[1].open();
    await settle();
    expect(gates.map((one) => one.running)).toEqual([true, true, true, false]);
    for (const one of gates) one.open();
    await Promise.all(all);
    expect(slots.pending).toBe(0);
  });

  it('gives the place back when the work fails', async () => {
    const slots = createChannelSlots(1);
    await expect(slots.use(never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(slots.use(never, () => Promise.resolve('next'))).resolves.toBe('next');
  });

  it('lets one leave the line, and the others keep their places', async () => {
    const slots = createChannelSlots(1);
    const first = gate();
    const held = slots.use(never, first.run);
    const leaver = new AbortController();
    const left = slots.use(leaver.signal, () => Promise.resolve('ran'));
    const next = slots.use(never, () => Promise.resolve('next'));
    leaver.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(slots.pending).toBe(2);
    first.open();
    await held;
    await expect(next).resolves.toBe('next');
    await expect(slots.use(never, () => Promise.resolve('free'))).resolves.toBe('free');
  });

  it('does not let one in that has left before', async () => {
    const slots = createChannelSlots(1);
    await expect(slots.use(AbortSignal.abort(new Error('gone')), () => Promise.resolve())).rejects.toThrow('gone');
    expect(slots.pending).toBe(0);
  });

  it('loses no place when one leaves just as its turn comes', async () => {
    const slots = createChannelSlots(1);
    const first = gate();
    const held = slots.use(never, first.run);
    const leaver = new AbortController();
    const torn = slots.use(leaver.signal, () => Promise.resolve('ran')).catch(() => 'left');
    first.open();
    await held;
    leaver.abort(new Error('gone'));
    await expect(torn).resolves.toMatch(/ran|left/);
    await expect(slots.use(never, () => Promise.resolve('free'))).resolves.toBe('free');
  });
});
