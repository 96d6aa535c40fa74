/**
 * Why a call ends whose client went away, where a transport cancels it in the client's name: the protocol's cancel has room for a text only. A client
 * that gives this reason itself leaves its request to the hour that it has, like one that is gone.
 */
export const clientIsGone = 'the client is gone';

/** The calls under way, so that whoever ends the server can end them first and still have them answered. */
export interface CallTracker {
  readonly size: number;
  /** Runs a call under a signal that aborts with the caller's or by `cancelAll`. */
  track<T>(callers: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Resolves once one of those under way has ended. */
  anyEnds(): Promise<void>;
  /** Resolves once no call is under way. */
  idle(): Promise<void>;
  /** Aborts every call under way, and whatever begins after; resolves when each has ended. */
  cancelAll(): Promise<void>;
}

export function createCallTracker(): CallTracker {
  const running = new Map<Promise<unknown>, AbortController>();
  let over = false;
  const idle = async (): Promise<void> => {
    while (running.size > 0) await Promise.allSettled(running.keys());
  };
  return {
    get size() {
      return running.size;
    },
    track: (callers, call) => {
      const controller = new AbortController();
      const abort = () => controller.abort(callers.reason);
      callers.addEventListener('abort', abort, { once: true });
      if (callers.aborted) abort();
      if (over) controller.abort(stopping());
      const ended = call(controller.signal);
      running.set(ended, controller);
      const forget = () => {
        running.delete(ended);
        callers.removeEventListener('abort', abort);
      };
      ended.then(forget, forget);
      return ended;
    },
    anyEnds: async () => {
      await Promise.race([...running.keys()].map((call) => call.catch(() => undefined)));
    },
    idle,
    cancelAll: () => {
      over = true;
      for (const controller of running.values()) controller.abort(stopping());
      return idle();
    },
  };
}

function stopping(): Error {
  return new Error('the server is stopping');
}
