/** Waits for a person without asking the store over and over. */
import { randomUUID } from 'node:crypto';
import { type RequestRecord, waitBeatMs } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { RequestStore } from '#kernel/ports/request-store';

export interface WaitOptions {
  /** At most this long, in ms; 0 looks once. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called once people can see that somebody waits. */
  onWaiting?(): void;
}

export interface WaitDeps {
  readonly requests: Pick<RequestStore, 'get' | 'onChange' | 'noteWait'>;
  readonly clock: Clock;
}

/** A store that was busy for one read is asked again after this long. */
const retryMs = 500;

/**
 * Resolves with the record once it is no longer pending, or as it is when the time is up; undefined where there is no such request.
 * Wakes at changes of the store and when the request expires.
 * @throws the signal's reason when it aborts; {Fault} when the store cannot be read and a retry would not help
 */
export async function waitForDecision(id: string, options: WaitOptions, deps: WaitDeps): Promise<RequestRecord | undefined> {
  const { clock } = deps;
  const deadline = clock.now() + options.timeoutMs;
  const bell = createBell();
  // Listening starts before the first look: a decision in between is heard.
  const unsubscribe = deps.requests.onChange(bell.ring);
  const stopMarking = await markWait(id, options, deps);
  let last: RequestRecord | 'busy' | undefined;
  try {
    options.onWaiting?.();
    for (;;) {
      options.signal.throwIfAborted();
      const seen = await look(id, deps);
      last = seen;
      const now = clock.now();
      if (seen !== 'busy' && (seen?.status !== 'pending' || now >= deadline)) return seen;
      if (now >= deadline) throw new Fault('store_busy', 'the store stayed busy, so the answer is not known', { retryable: true });
      const wakeAt = seen === 'busy' ? now + retryMs : Math.min(deadline, Math.max(seen.expiresAt, now + 1));
      await pause(Math.min(wakeAt, deadline) - now, bell, options.signal, clock);
    }
  } finally {
    unsubscribe();
    await stopMarking(last);
  }
}

/**
 * Says in the store that a call waits, again and again while it does: whoever is asked can then see whether anybody would hear the answer. A mark
 * that cannot be written is tried again at the next beat; without one, people are told that nobody waits.
 */
async function markWait(id: string, { timeoutMs }: WaitOptions, { requests, clock }: WaitDeps): Promise<(last: unknown) => Promise<void>> {
  if (timeoutMs <= 0) return () => Promise.resolve();
  const by = randomUUID();
  const end = clock.now() + timeoutMs;
  const note = (forMs: number) => requests.noteWait(id, by, forMs).catch(() => undefined);
  await note(timeoutMs);
  const beat = setInterval(() => void note(Math.max(1, end - clock.now())), waitBeatMs).unref();
  return async (last) => {
    clearInterval(beat);
    // Of a request that is decided nobody asks any more who waits.
    if (!isDecided(last)) await note(0);
  };
}

function isDecided(seen: unknown): boolean {
  return typeof seen === 'object' && seen !== null && 'status' in seen && seen.status !== 'pending';
}

async function look(id: string, deps: WaitDeps): Promise<RequestRecord | 'busy' | undefined> {
  try {
    return await deps.requests.get(id);
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.retryable) return 'busy';
    throw thrown;
  }
}

/** Until the bell rings, `ms` have passed, or the signal aborts (then it rejects). Leaves no timer behind. */
async function pause(ms: number, bell: Bell, signal: AbortSignal, clock: Clock): Promise<void> {
  const rang = new AbortController();
  const stop = bell.next(() => rang.abort());
  try {
    await clock.sleep(ms, AbortSignal.any([signal, rang.signal]));
  } catch (thrown) {
    if (signal.aborted || !rang.signal.aborted) throw thrown;
  } finally {
    stop();
  }
}

interface Bell {
  readonly ring: () => void;
  /** Calls back once at the next ring, or at once if it rang since the last call. Returns how to stop waiting. */
  next(callback: () => void): () => void;
}

/** Remembers a ring that nobody waited for, so that a change during a read is not missed. */
function createBell(): Bell {
  let rung = false;
  let waiting: (() => void) | undefined;
  return {
    ring: () => {
      if (waiting) waiting();
      else rung = true;
    },
    next: (callback) => {
      if (rung) callback();
      rung = false;
      waiting = callback;
      return () => {
        waiting = undefined;
      };
    },
  };
}
