/** At most so many at once; the others wait in line. OpenSSH's `MaxSessions` is 10 a connection, and more are refused, not queued. */

export interface ChannelSlots {
  /** Runs `work` once there is room. Rejects with the signal's reason when it aborts while waiting. */
  use<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
  readonly running: number;
  /** Running and waiting. */
  readonly pending: number;
}

export function createChannelSlots(count: number): ChannelSlots {
  let free = count;
  let running = 0;
  const waiting: (() => void)[] = [];

  async function take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) {
      free--;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      waiting.splice(waiting.indexOf(resolve), 1);
      reject(signal.reason);
    };
    waiting.push(resolve);
    signal.addEventListener('abort', leave, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** A slot goes straight to the next in line; it never looks free in between. */
  function give(): void {
    const next = waiting.shift();
    if (next) next();
    else free++;
  }

  return {
    async use(signal, work) {
      await take(signal);
      running++;
      try {
        return await work();
      } finally {
        running--;
        give();
      }
    },
    get running() {
      return running;
    },
    get pending() {
      return running + waiting.length;
    },
  };
}
