/** One connection per node, opened when first needed, shared by all commands, closed when idle. */
import type { Clock } from '#kernel/ports/clock';
import { type ChannelRoom, createChannelRoom, orAbort } from './channel-room.ts';
import type { ConnectOptions, NodeConnection } from './node-connection.ts';
import type { CommandPlace } from './run-command.ts';
import type { NodeAt } from './ssh-fault.ts';

interface ConnectionPool {
  /** Runs `work` with the node's connection, when one of its channels is free. */
  use<Result>(at: NodeAt, signal: AbortSignal, work: (place: CommandPlace) => Promise<Result>): Promise<Result>;
  /** Ends every connection; those being opened, too. */
  close(): void;
}

interface PoolOptions extends Omit<ConnectOptions, 'at'> {
  readonly clock: Clock;
}

/** Below OpenSSH's default `MaxSessions` of 10, so that a person's own session over the same account finds room. */
const channelsPerConnection = 8;
const idleMs = 60_000;

/** Why waiting for the idle time ends; nobody is told. */
const noLongerIdle = new Error('the connection is used again, or gone');

interface Entry {
  readonly slots: ChannelSlots;
  readonly room: ChannelRoom;
  readonly opening: Promise<NodeConnection>;
  /** Ends the opening, or the open connection. */
  readonly ending: AbortController;
  idle: AbortController | undefined;
}

export function createConnectionPool(options: PoolOptions): ConnectionPool {
  const entries = new Map<string, Entry>();

  function open(key: string, at: NodeAt): Entry {
    const ending = new AbortController();
    const opening = import('./node-connection.ts').then(({ connectNode }) => connectNode({ ...options, at }, ending.signal));
    const slots = createChannelSlots(channelsPerConnection);
    const entry: Entry = { slots, room: createChannelRoom(options.clock, () => slots.running), opening, ending, idle: undefined };
    entries.set(key, entry);
    followOpening(entry, () => forget(key, entry));
    return entry;
  }

  function forget(key: string, entry: Entry): void {
    entry.idle?.abort(noLongerIdle);
    if (entries.get(key) === entry) entries.delete(key);
  }

  function drop(key: string, entry: Entry): void {
    forget(key, entry);
    entry.ending.abort(new Error('the ssh connection is closed'));
  }

  function closeWhenIdle(key: string, entry: Entry): void {
    // One that never came, or was dropped meanwhile, has no end to wait for: its timer would keep the process alive.
    if (entry.slots.pending > 0 || entries.get(key) !== entry) return;
    const idle = new AbortController();
    entry.idle = idle;
    options.clock.sleep(idleMs, idle.signal).then(
      () => drop(key, entry),
      () => undefined,
    );
  }

  return {
    async use(at, signal, work) {
      const key = JSON.stringify([at.user, at.host, at.port]);
      const entry = entries.get(key) ?? open(key, at);
      entry.idle?.abort(noLongerIdle);
      try {
        return await entry.slots.use(signal, async () => {
          const connection = await orAbort(entry.opening, signal);
          return work({ connection, room: entry.room });
        });
      } finally {
        closeWhenIdle(key, entry);
      }
    },
    close() {
      for (const [key, entry] of entries) drop(key, entry);
    },
  };
}

/** Ties the connection to `ending`, and tells when it is gone or never came. */
function followOpening({ opening, ending }: Entry, gone: () => void): void {
  opening.then((connection) => {
    ending.signal.addEventListener('abort', () => connection.end(), { once: true });
    if (ending.signal.aborted) connection.end();
    connection.lost.addEventListener('abort', gone, { once: true });
  }, gone);
}

// At most so many at once; the others wait in line. OpenSSH's `MaxSessions` is 10 a connection, and more are refused, not queued.

interface ChannelSlots {
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
