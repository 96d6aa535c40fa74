/** Time: a call's limit, which counts work and not the time a person takes to decide, and the real clock. */

import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import { say } from '#kernel/text/message';
import { formatDuration } from '#kernel/text/text';

export interface Deadline {
  /** Aborts with a `Fault`: `timeout` when the limit is used up, `cancelled` when the caller gave up. */
  readonly signal: AbortSignal;
  /** Aborts with `end`: the call has been answered. */
  readonly ended: AbortSignal;
  /** Stops counting (a person is asked) until `resume`. The caller's cancel still counts. */
  pause(): void;
  resume(): void;
  /**
   * The promise's result, or a rejection with the signal's reason as soon as it aborts: a handler that ignores its signal cannot keep
   * the caller waiting. The handler's own late rejection is swallowed; its work was told to stop.
   */
  within<T>(work: Promise<T>): Promise<T>;
  /** What is left of the limit, in ms; never less than 0. */
  leftMs(): number;
  /** Releases timer and listener, and stops what was begun and nobody waits for; call it in `finally`. */
  end(): void;
}

/** Why what a call left behind is stopped, told to nobody: made once, as an error for each call costs its stack. */
const answered = new Fault('cancelled', 'its call has been answered', { audience: 'user' });

/** @param limitMs the whole limit, pauses left out. */
export function startDeadline(limitMs: number, caller: AbortSignal): Deadline {
  const controller = new AbortController();
  const ended = new AbortController();
  // One promise for all that is waited for: a listener on the signal for each, taken off again, costs more than all else here.
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => undefined);
  let left = limitMs;
  let startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;

  const abort = (reason: Fault) => {
    controller.abort(reason);
    // The first reason counts, as it does for the signal.
    over.reject(reason);
  };
  const cancel = () => abort(new Fault('cancelled', 'the caller gave up on this call', { audience: 'user' }));
  const expire = () =>
    abort(new Fault('timeout', say`took longer than ${formatDuration(limitMs)}`, { audience: 'operator', retryable: true }));
  const run = () => {
    startedAt = performance.now();
    timer = setTimeout(expire, Math.max(0, left));
  };
  const pause = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    left -= performance.now() - startedAt;
  };

  if (caller.aborted) cancel();
  else caller.addEventListener('abort', cancel, { once: true });
  run();
  return {
    signal: controller.signal,
    ended: ended.signal,
    pause,
    resume: () => {
      if (timer === undefined) run();
    },
    leftMs: () => Math.max(0, timer === undefined ? left : left - (performance.now() - startedAt)),
    within: (work) => Promise.race([work, over.promise]),
    end: () => {
      pause();
      caller.removeEventListener('abort', cancel);
      ended.abort(answered);
    },
  };
}

/** How `work` ends, where it does so within `ms`; undefined where it does not. Never rejects. */
export async function endWithin<T>(
  work: Promise<T>,
  ms: number,
): Promise<{ readonly value: T } | { readonly thrown: unknown } | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([
      work.then(
        (value) => ({ value }),
        (thrown: unknown) => ({ thrown }),
      ),
      promise,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

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
