import type { Clock } from '#kernel/ports/clock';

export interface FakeClock extends Clock {
  /** Moves time on; sleepers whose time has come wake, earliest first. */
  advance(ms: number): Promise<void>;
  /** How many sleep now. */
  readonly sleeping: number;
}

/** A clock that moves when told, and remembers who sleeps. */
export function createFakeClock(): FakeClock {
  let now = 1_000_000;
  const sleepers = new Set<{ readonly at: number; wake(): void }>();
  return {
    now: () => now,
    get sleeping() {
      return sleepers.size;
    },
    async sleep(ms, signal) {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const sleeper = { at: now + ms, wake: resolve };
      const leave = () => reject(signal.reason);
      sleepers.add(sleeper);
      signal.addEventListener('abort', leave, { once: true });
      try {
        await promise;
      } finally {
        sleepers.delete(sleeper);
        signal.removeEventListener('abort', leave);
      }
    },
    async advance(ms) {
      now += ms;
      for (const sleeper of [...sleepers].sort((a, b) => a.at - b.at)) if (sleeper.at <= now) sleeper.wake();
      // Lets what was waiting run before the test goes on.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
