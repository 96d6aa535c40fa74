/** Time and waiting, injectable so that tests need no real seconds. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. Leaves no timer behind. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
