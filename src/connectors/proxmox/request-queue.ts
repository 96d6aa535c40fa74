/**
 * Whose turn it is to ask one cluster. pveproxy has three workers a node: what is sent beyond that waits there, where nobody can order it or
 * take it back, and runs into its time limit together with all the rest.
 */

import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { Asker } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { formatDuration } from '#kernel/text/text';
import { cancelledFault, stopReason, withTimeLimit } from '../time-limit.ts';

export const queueLimits = {
  /** Requests under way to one cluster, over all of its endpoints. */
  atOnce: 8,
  /** Of these, for what does not go first: a change finds a free place however many reads are under way. */
  others: 6,
  /** Requests that wait with which no call has begun yet, of those that go first and of the others. */
  waiting: 4_000,
  /** After so many turns of those that go first, in a row, comes one of the others: nobody waits for ever. */
  firstInARow: 3,
  /** After so many turns of calls that go on, in a row, a new one begins. */
  goOnInARow: 15,
  /** So many requests tell how fast the cluster answers. */
  remembered: 20,
} as const;

export interface RequestQueue {
  /**
   * Runs `work`, which sends one request (with its tries at other endpoints), when it is its turn.
   * @throws {Fault} `cluster_busy` when too many wait or the turn does not come in time, `cancelled` when `signal` aborts before: nothing was sent
   */
  run<T>(asker: Asker, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export interface RequestQueueOptions {
  readonly cluster: string;
  readonly clock: Clock;
  /** For how long a request waits for its turn at most, in ms. Its own limit begins when it is sent. */
  readonly waitMs: number;
}

export function createRequestQueue({ cluster, clock, waitMs }: RequestQueueOptions): RequestQueue {
  const places = createPlaces();
  const pace = createPace(clock);

  function busy(line: Line): Fault {
    const seconds = Math.min(60, Math.max(1, Math.ceil((pace.usualMs() * line.size) / line.width / 1_000)));
    const slow = say`${line.size} requests wait for their turn, and one takes ${formatDuration(pace.usualMs())} of late`;
    return new Fault('cluster_busy', say`\`${cluster}\` does not keep up with what it is asked: ${slow}; nothing was sent`, {
      audience: 'user',
      retryable: true,
      next: say`wait ${seconds} s, then call again, with fewer calls at once; if it stays so, tell the user: the cluster is slow or too many ask it`,
    });
  }

  async function turn(asker: Asker, signal: AbortSignal): Promise<void> {
    const line = places.lineOf(asker);
    if (places.takeFree(line, asker)) return;
    if ((line.before(asker) * pace.leastMs()) / line.width > waitMs) throw busy(line);
    await withTimeLimit(clock, waitMs, signal, (limited) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiting: Waiting = { asker, start: resolve, refuse: () => reject(busy(line)) };
      const giveUp = () => {
        if (line.leave(waiting)) reject(stopReason(limited) === 'limit' ? busy(line) : cancelledFault(signal, `request to \`${cluster}\``));
      };
      limited.addEventListener('abort', giveUp, { once: true });
      if (!line.join(waiting)) waiting.refuse();
      return promise;
    });
  }

  return {
    async run(asker, signal, work) {
      if (signal.aborted) throw cancelledFault(signal, `request to \`${cluster}\``);
      await turn(asker, signal);
      try {
        // INVARIANT: looked at again when the turn has come: who gave up meanwhile sends nothing.
        if (signal.aborted) throw cancelledFault(signal, `request to \`${cluster}\``);
        return await pace.measure(work);
      } finally {
        places.giveBack(places.lineOf(asker));
      }
    },
  };
}

interface Waiting {
  readonly asker: Asker;
  start(): void;
  refuse(): void;
}

/** Lists that are served in turn: a Map keeps the order, so the one at its beginning is next and goes to its end after that. */
class Lanes<Key> {
  readonly #lanes = new Map<Key, Waiting[]>();
  size = 0;

  lengthOf(key: Key): number {
    return this.#lanes.get(key)?.length ?? 0;
  }

  lengths(): readonly number[] {
    return [...this.#lanes.values()].map((lane) => lane.length);
  }

  longest(): Key | undefined {
    return [...this.#lanes].reduce<[Key, Waiting[]] | undefined>(
      (most, one) => (one[1].length > (most?.[1].length ?? 0) ? one : most),
      undefined,
    )?.[0];
  }

  push(key: Key, waiting: Waiting): void {
    const lane = this.#lanes.get(key);
    if (lane === undefined) this.#lanes.set(key, [waiting]);
    else lane.push(waiting);
    this.size += 1;
  }

  /** Those of this lane that fit, out of it, in their order. */
  take(key: Key, fits: (waiting: Waiting, place: number) => boolean): readonly Waiting[] {
    const [taken, left]: [Waiting[], Waiting[]] = [[], []];
    for (const [place, waiting] of (this.#lanes.get(key) ?? []).entries()) (fits(waiting, place) ? taken : left).push(waiting);
    if (left.length === 0) this.#lanes.delete(key);
    else this.#lanes.set(key, left);
    this.size -= taken.length;
    return taken;
  }

  shift(): Waiting | undefined {
    for (const [key, lane] of this.#lanes) {
      const waiting = lane.shift();
      this.#lanes.delete(key);
      if (lane.length > 0) this.#lanes.set(key, lane);
      this.size -= 1;
      return waiting;
    }
    return undefined;
  }
}

/**
 * Those that wait. A call that had a turn goes on before another one begins: where more is asked than the cluster answers, some calls end well
 * and the others are refused whole, instead of all of them running into their limits together. New calls begin in turn by their agents.
 */
class Line {
  /** How many of it may be under way. */
  readonly width: number;
  /** By the agent. */
  readonly #fresh = new Lanes<string>();
  /** By the call. */
  readonly #begun = new Lanes<AbortSignal>();
  readonly #calls = new WeakSet<AbortSignal>();
  #goneOn = 0;

  constructor(width: number) {
    this.width = width;
  }

  get size(): number {
    return this.#fresh.size + this.#begun.size;
  }

  /** How many at least have their turn before one more of this asker's; 0 for a call that goes on. */
  before({ id, until }: Asker): number {
    if (this.#hasBegun(until)) return 0;
    const own = this.#fresh.lengthOf(id) + 1;
    return this.#fresh.lengths().reduce((sum, length) => sum + Math.min(length, own), this.#begun.size);
  }

  /** False where it is full. The newest of an agent that has more waiting leaves for another's. */
  join(waiting: Waiting): boolean {
    const { id, until } = waiting.asker;
    if (until !== undefined && this.#hasBegun(until)) {
      this.#begun.push(until, waiting);
      return true;
    }
    if (this.#fresh.size >= queueLimits.waiting && !this.#makeRoomFor(id)) return false;
    this.#fresh.push(id, waiting);
    return true;
  }

  /** False where it had its turn, or was refused. */
  leave(waiting: Waiting): boolean {
    const { id, until } = waiting.asker;
    const isIt = (one: Waiting) => one === waiting;
    return this.#fresh.take(id, isIt).length > 0 || (until !== undefined && this.#begun.take(until, isIt).length > 0);
  }

  next(): Waiting | undefined {
    const isTheirs = this.#goneOn >= queueLimits.goOnInARow && this.#fresh.size > 0;
    const waiting = (isTheirs ? undefined : this.#begun.shift()) ?? this.#fresh.shift();
    if (waiting !== undefined) this.noteTurn(waiting.asker);
    return waiting;
  }

  noteTurn({ id, until }: Asker): void {
    this.#goneOn = this.#hasBegun(until) ? this.#goneOn + 1 : 0;
    if (until === undefined || this.#hasBegun(until)) return;
    this.#calls.add(until);
    for (const waiting of this.#fresh.take(id, ({ asker }) => asker.until === until)) this.#begun.push(until, waiting);
  }

  #hasBegun(until: AbortSignal | undefined): boolean {
    return until !== undefined && this.#calls.has(until);
  }

  #makeRoomFor(id: string): boolean {
    const longest = this.#fresh.longest();
    if (longest === undefined || this.#fresh.lengthOf(longest) <= this.#fresh.lengthOf(id) + 1) return false;
    const last = this.#fresh.lengthOf(longest) - 1;
    for (const waiting of this.#fresh.take(longest, (_one, place) => place === last)) waiting.refuse();
    return true;
  }
}

/** The places under way, and who gets one that is free. */
function createPlaces() {
  const first = new Line(queueLimits.atOnce);
  const others = new Line(queueLimits.others);
  let taken = 0;
  let takenByOthers = 0;
  let firstInARow = 0;

  function hasRoom(line: Line): boolean {
    return taken < queueLimits.atOnce && (line === first || takenByOthers < queueLimits.others);
  }

  function takePlace(line: Line): void {
    taken += 1;
    if (line === others) takenByOthers += 1;
    firstInARow = line === first ? firstInARow + 1 : 0;
  }

  function nextLine(): Line | undefined {
    const open = [first, others].filter((line) => line.size > 0 && hasRoom(line));
    return firstInARow >= queueLimits.firstInARow ? open.at(-1) : open[0];
  }

  return {
    lineOf: ({ first: goesFirst }: Pick<Asker, 'first'>) => (goesFirst ? first : others),
    /** Whoever comes later does not pass those that wait. */
    takeFree(line: Line, asker: Asker): boolean {
      if (line.size > 0 || !hasRoom(line)) return false;
      takePlace(line);
      line.noteTurn(asker);
      return true;
    },
    giveBack(line: Line): void {
      taken -= 1;
      if (line === others) takenByOthers -= 1;
      for (let next = nextLine(); next !== undefined; next = nextLine()) {
        takePlace(next);
        next.next()?.start();
      }
    },
  };
}

/** How long requests take of late, and with it how long one has to wait. In ms. */
function createPace(clock: Clock) {
  const lately: number[] = [];
  return {
    /** 0 until one has ended. */
    usualMs: () => lately.reduce((sum, one) => sum + one, 0) / Math.max(1, lately.length),
    /** Of the fastest: what a busy process here takes for a request says little of the cluster. 0 until enough have ended. */
    leastMs: () => (lately.length < queueLimits.remembered ? 0 : Math.min(...lately)),
    async measure<T>(work: () => Promise<T>): Promise<T> {
      const begun = clock.now();
      try {
        return await work();
      } finally {
        lately.push(Math.max(0, clock.now() - begun));
        if (lately.length > queueLimits.remembered) lately.shift();
      }
    },
  };
}
