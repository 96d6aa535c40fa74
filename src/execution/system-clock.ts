/** The real clock. */
import type { Clock } from '#kernel/ports/clock';

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Not `timers/promises`: most sleeps are limits that are not reached, and its error for each costs more than the timer.
    const timer = setTimeout(resolve, ms);
    const wake = () => reject(signal.reason);
    signal.addEventListener('abort', wake, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
    }
  },
};
