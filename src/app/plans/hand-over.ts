/**
 * Of several Apps that follow each other in one process (a window builds a new one when its settings change) the one that plans run on now: each step
 * goes through the newest policy, and a plan outlives the App that began it.
 */
import { Fault } from '#kernel/errors';

export interface HandOver<Parts> {
  /** Runs `work` on the App of this moment, after a change that is under way. @throws {Fault} `plan_interrupted` where none comes */
  use<T>(work: (parts: Parts) => Promise<T>): Promise<T>;
  /** An App begins. @returns how it ends: resolves once nothing that runs here is in the middle of something on it */
  enter(parts: Parts): () => Promise<void>;
  /** What is there now is about to be replaced: nothing more begins on it. */
  retire(): void;
  /** Plans that run here, for `end`. */
  add(run: Promise<void>): void;
  /** Resolves once every plan has ended. @param reason they end before their next step; absent: they run on to their end */
  end(reason?: Error): Promise<void>;
  /** Aborts when plans are to end. */
  readonly signal: AbortSignal;
}

/** In ms. INVARIANT: shorter than the time for which a plan that says nothing still counts as running: others are told nothing that is not so. */
const longestGapMs = 10_000;

interface Entered<Parts> {
  readonly parts: Parts;
  readonly busy: Set<Promise<unknown>>;
}

export function createHandOver<Parts>(): HandOver<Parts> {
  const closing = new AbortController();
  const runs = new Set<Promise<void>>();
  const { enter, retire, current, wake } = createSeats<Parts>(closing.signal);
  return {
    ...{ enter, retire, signal: closing.signal },
    async use(work) {
      const { parts, busy } = await current();
      const done = work(parts);
      busy.add(done);
      try {
        return await done;
      } finally {
        busy.delete(done);
      }
    },
    add(run) {
      runs.add(run);
      void run.finally(() => runs.delete(run));
    },
    async end(reason) {
      if (reason !== undefined) closing.abort(reason);
      wake();
      await Promise.all(runs);
    },
  };
}

function createSeats<Parts>(closing: AbortSignal) {
  /** The newest last. */
  let entered: readonly Entered<Parts>[] = [];
  let next = Promise.withResolvers<void>();
  const wake = () => {
    next.resolve();
    next = Promise.withResolvers();
  };
  return {
    wake,
    async current(): Promise<Entered<Parts>> {
      const until = Date.now() + longestGapMs;
      for (;;) {
        const found = entered.at(-1);
        if (found !== undefined) return found;
        if (closing.aborted || Date.now() >= until)
          throw new Fault('plan_interrupted', 'the settings changed, and with the new ones nothing could be started');
        await within(until - Date.now(), next.promise);
      }
    },
    enter(parts: Parts): () => Promise<void> {
      const own: Entered<Parts> = { parts, busy: new Set() };
      entered = [...entered, own];
      wake();
      return async () => {
        entered = entered.filter((one) => one !== own);
        await Promise.allSettled(own.busy);
      };
    },
    retire: () => {
      entered = [];
    },
  };
}

/** Whichever comes first. */
async function within(ms: number, what: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  try {
    await Promise.race([what, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
