/** The calls under way, so that whoever ends the server can wait for them. */
export interface CallTracker {
  readonly size: number;
  track<T>(call: Promise<T>): Promise<T>;
  /** Resolves when no call is under way. Calls are ended by their own signals, not from here. */
  settled(): Promise<void>;
}

export function createCallTracker(): CallTracker {
  const running = new Set<Promise<unknown>>();
  return {
    get size() {
      return running.size;
    },
    track: (call) => {
      running.add(call);
      const forget = () => void running.delete(call);
      call.then(forget, forget);
      return call;
    },
    settled: async () => {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
