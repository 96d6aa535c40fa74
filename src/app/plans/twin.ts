/** The emulator that plans are rehearsed on: loaded only when a plan is proposed. */
import { openTwin } from '#demo/twin';
import type { Clock } from '#kernel/ports/clock';
import type { AskCopy, LiveReads } from '#kernel/ports/live-reads';

export interface OpenedCopy {
  readonly ask: AskCopy;
  /** Waiting costs nothing: the copy's time is the only one that passes. */
  readonly clock: Clock;
  settle(): void;
}

export function openCopy(reads: LiveReads): OpenedCopy {
  const { ask, clock, cluster, settle } = openTwin(reads, Date.now());
  return {
    ask,
    clock: {
      now: () => clock.now(),
      sleep: async (ms, signal) => {
        signal.throwIfAborted();
        clock.advance(ms);
        cluster.tasks.advance();
      },
    },
    settle: () => void settle(),
  };
}
