/** The demo's only notion of time: it reads, it never waits. Tasks advance when somebody asks (see `pve/task-engine.ts`). */
export interface DemoClock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface ManualClock extends DemoClock {
  /** Moves time forward, by milliseconds. */
  advance(ms: number): void;
}

/** A clock for tests: it stands still until told. */
export function createManualClock(start: number): ManualClock {
  let time = start;
  return {
    now: () => time,
    advance(ms) {
      time += ms;
    },
  };
}
