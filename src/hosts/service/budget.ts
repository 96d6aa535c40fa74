/** What one user may have under way, over all of that user's connections: a flood of one costs the others little. */
import { Fault } from '#kernel/errors';
import { createRateLimit } from '#kernel/rate-limit';

export const userLimits = {
  connections: 32,
  /** Calls that run; one that waits for a person does not count, up to `waiting` of them. */
  running: 8,
  waiting: 64,
  /** Beyond these a call is refused at once. */
  queued: 64,
  queuedBytes: 8 * 2 ** 20,
  /** Messages, and each KiB of them: so many at once, and so many a second in the long run; beyond, nothing is read for a moment. */
  burst: 4_000,
  perSecond: 2_000,
  /** What is written down, and each KiB that the caller adds to it: the trail is kept for days, on a disk that is everybody's. */
  writes: 5_000,
  writesPerSecond: 10,
  /** Of what looks through everything: so long at once, and half of the time in the long run. */
  longMs: 2_000,
  /** Of answers that nobody reads. */
  unreadBytes: 64 * 2 ** 20,
} as const;

/** Whatever can be told to wait before it gives more. */
export interface Source {
  pause(): unknown;
  resume(): unknown;
  /** Bytes that were sent to it and that it has not read. */
  unread(): number;
}

export interface Turn {
  /** The call waits for a person: another may run meanwhile. */
  waits(): void;
  end(): void;
}

/** Whose calls, on whatever connection. `now` is a monotonic time in ms. */
export class UserBudget {
  readonly #now: () => number;
  readonly #writes: ReturnType<typeof createRateLimit>;
  readonly #sources = new Set<Source>();
  readonly #queue: { readonly start: () => void; readonly isLong: boolean }[] = [];
  #running = 0;
  #isLongRunning = false;
  #longLeft: number = userLimits.longMs;
  #longCounted: number;
  #waiting = 0;
  #queuedBytes = 0;
  #tokens: number = userLimits.burst;
  #counted: number;
  #isRefilling = false;
  #isPaused = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#counted = now();
    this.#longCounted = now();
    this.#writes = createRateLimit(userLimits.writesPerSecond, userLimits.writes, now);
  }

  /** Counts what will be written down. @throws {Fault} `user_busy` */
  write(bytes: number): void {
    const seconds = this.#writes.take('', 1 + Math.floor(bytes / 1_024));
    if (seconds > 0) throw busy(`your calls have written down more than ${userLimits.writesPerSecond} records a second for long`, seconds);
  }

  /** @throws {Fault} `too_many_connections` */
  join(source: Source): () => void {
    const { size } = this.#sources;
    if (size >= userLimits.connections)
      throw new Fault('too_many_connections', `you have ${size} connections to the service already; close some`, { retryable: true });
    this.#sources.add(source);
    if (this.#isPaused) source.pause();
    return () => void this.#sources.delete(source);
  }

  /** Answers of this user's that nobody has read are more than may lie here. */
  isDeaf(): boolean {
    let unread = 0;
    for (const source of this.#sources) unread += source.unread();
    return unread > userLimits.unreadBytes;
  }

  /** Counts messages and their bytes, and has the sources wait a moment where there are too many. */
  note({ messages = 0, bytes = 0 }: { readonly messages?: number; readonly bytes?: number }): void {
    this.#refill();
    this.#tokens -= messages + bytes / 1_024;
    this.#look();
    this.#refillSoon();
  }

  /**
   * Resolves when the call may run; of those that are `long`, one at a time, and not all the time. Rejects with the signal's reason.
   * @throws {Fault} `user_busy`
   */
  turn({ bytes, isLong }: { readonly bytes: number; readonly isLong: boolean }, signal: AbortSignal): Promise<Turn> {
    if (this.#queue.length >= userLimits.queued || this.#queuedBytes + bytes > userLimits.queuedBytes)
      return Promise.reject(busy(`you have ${userLimits.running} calls running and ${userLimits.queued} waiting for their turn`));
    const { promise, resolve, reject } = Promise.withResolvers<Turn>();
    this.#queuedBytes += bytes;
    const entry = {
      isLong,
      start: () => {
        this.#queuedBytes -= bytes;
        signal.removeEventListener('abort', abort);
        resolve(this.#startTurn(isLong));
      },
    };
    const abort = () => {
      const place = this.#queue.indexOf(entry);
      if (place < 0) return;
      this.#queue.splice(place, 1);
      this.#queuedBytes -= bytes;
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    this.#queue.push(entry);
    this.#startNext();
    return promise;
  }

  #look(): void {
    const tooMuch = this.#tokens < 0;
    if (tooMuch === this.#isPaused) return;
    this.#isPaused = tooMuch;
    for (const source of this.#sources) void (tooMuch ? source.pause() : source.resume());
  }

  #refill(): void {
    const at = this.#now();
    this.#tokens = Math.min(userLimits.burst, this.#tokens + ((at - this.#counted) / 1_000) * userLimits.perSecond);
    this.#counted = at;
  }

  #refillSoon(): void {
    if (this.#tokens >= 0 || this.#isRefilling) return;
    this.#isRefilling = true;
    setTimeout(() => {
      this.#isRefilling = false;
      this.#refill();
      this.#look();
      this.#refillSoon();
    }, 20).unref();
  }

  #startNext(): void {
    while (this.#running < userLimits.running) {
      const place = this.#queue.findIndex(({ isLong }) => !isLong || !this.#isLongRunning);
      const [next] = place < 0 ? [] : this.#queue.splice(place, 1);
      if (next === undefined) return;
      this.#running += 1;
      if (next.isLong) this.#isLongRunning = true;
      next.start();
    }
  }

  /** Now and then at once; one after the other without end, half of the time is the others'. */
  #endLong(startedAt: number): void {
    const at = this.#now();
    this.#longLeft = Math.min(userLimits.longMs, this.#longLeft + (at - this.#longCounted) / 2) - (at - startedAt);
    this.#longCounted = at;
    const over = () => {
      this.#isLongRunning = false;
      this.#startNext();
    };
    if (this.#longLeft >= 0) over();
    else setTimeout(over, -2 * this.#longLeft).unref();
  }

  #startTurn(isLong: boolean): Turn {
    const startedAt = this.#now();
    let state: 'running' | 'waiting' | 'over' = 'running';
    return {
      waits: () => {
        if (state !== 'running' || this.#waiting >= userLimits.waiting) return;
        state = 'waiting';
        this.#waiting += 1;
        this.#running -= 1;
        this.#startNext();
      },
      end: () => {
        if (state === 'running') this.#running -= 1;
        if (state === 'waiting') this.#waiting -= 1;
        if (isLong && state !== 'over') this.#endLong(startedAt);
        state = 'over';
        this.#startNext();
      },
    };
  }
}

function busy(why: string, seconds?: number): Fault {
  return new Fault('user_busy', `${why}; nothing was done`, {
    audience: 'user',
    retryable: true,
    next: seconds === undefined ? 'wait for some of them, then call again' : `wait ${seconds} s, then call again`,
  });
}
