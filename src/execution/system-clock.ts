import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '#kernel/ports/clock';

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, { signal });
    } catch (thrown) {
      // Node rejects with its own AbortError; callers get the reason they aborted with.
      throw signal.aborted ? signal.reason : thrown;
    }
  },
};
