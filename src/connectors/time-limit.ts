/** One limit around one piece of waiting: the caller's cancel and a time limit in a single signal, and nothing left behind. */

import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import { say } from '#kernel/text/message';

/** The reason of a signal that `withTimeLimit` aborted itself; never leaves the connectors. */
export class TimeLimitReached extends Error {
  readonly limitMs: number;

  constructor(limitMs: number) {
    super(`no answer within ${limitMs} ms`);
    this.name = 'TimeLimitReached';
    this.limitMs = limitMs;
  }
}

/** Why the limit's timer ends early, told to nobody: made once, since without a reason every call would make an error with its stack. */
const workEnded = new Error('the work has ended');

/**
 * Runs `work` under a signal that aborts when `signal` does or after `limitMs` milliseconds, whichever is first.
 * Whatever `work` rejects with passes through; ask `stopReason` which of the two it was.
 */
export async function withTimeLimit<Result>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (limited: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limit = new AbortController();
  const done = new AbortController();
  clock.sleep(limitMs, done.signal).then(
    () => limit.abort(new TimeLimitReached(limitMs)),
    () => undefined,
  );
  try {
    return await work(AbortSignal.any([signal, limit.signal]));
  } finally {
    done.abort(workEnded);
  }
}

/** Why a signal of `withTimeLimit` aborted: `limit` is ours, `caller` is everything else; undefined while it has not. */
export function stopReason(limited: AbortSignal): 'limit' | 'caller' | undefined {
  if (!limited.aborted) return undefined;
  return limited.reason instanceof TimeLimitReached ? 'limit' : 'caller';
}

/** The fault for work that the caller cancelled before it had any effect. A `Fault` given as the abort's reason is kept. */
export function cancelledFault(signal: AbortSignal, what: string): Fault {
  if (signal.reason instanceof Fault) return signal.reason;
  return new Fault('cancelled', say`cancelled by the caller: ${what}`, { audience: 'user', retryable: true });
}
