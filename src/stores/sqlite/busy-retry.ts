/** Waits for a lock without blocking the event loop for longer than SQLite's own short busy timeout. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '#kernel/errors';
import { isBusy, storeFault } from './sqlite-faults.ts';

export interface BusyRetryOptions {
  readonly file: string;
  /** How long to go on, in ms. */
  readonly deadlineMs: number;
  /** What to say when time is up. */
  readonly onTimeout: (file: string) => Fault;
  /** Called before every try; throws where going on makes no sense (closed meanwhile). */
  readonly check?: () => void;
}

/**
 * Runs a synchronous step until it is not refused as busy. A step must leave nothing behind when it throws.
 * @throws {Fault} `onTimeout`'s after the deadline; the step's own failure, translated, at once
 */
export async function retryWhileBusy<T>(step: () => T, options: BusyRetryOptions): Promise<T> {
  const deadline = performance.now() + options.deadlineMs;
  for (;;) {
    try {
      options.check?.();
      return step();
    } catch (thrown) {
      if (!isBusy(thrown)) throw storeFault(thrown, options.file);
      if (performance.now() >= deadline) throw options.onTimeout(options.file);
    }
    // Jitter, so that several processes do not meet again and again.
    await sleep(1 + Math.random() * 12);
  }
}
