import type { Store } from '#kernel/ports/store';

export interface OpenOptions {
  readonly ids?: () => string;
  readonly maxPendingPerAgent?: number;
}

/** One empty engine for one test. */
export interface StoreHarness {
  /** Another connection to the same engine; closed when the test ends. */
  open(options?: OpenOptions): Promise<Store>;
  /** The engine's clock, in ms since the epoch. */
  now(): number;
  advance(ms: number): Promise<void>;
  /** Drops what is old, as a process that stays does. */
  sweep(): Promise<void>;
  /** Records that this adds. */
  readonly ofSweep: number;
}

export type MakeHarness = () => Promise<StoreHarness>;
