/** One connection per node, opened when first needed, shared by all commands, closed when idle. */
import type { Clock } from '#kernel/ports/clock';
import { type ChannelSlots, createChannelSlots } from './channel-slots.ts';
import { type ConnectOptions, connectNode, type NodeConnection } from './node-connection.ts';
import type { NodeAt } from './ssh-fault.ts';

export interface ConnectionPool {
  /** Runs `work` with the node's connection, when one of its channels is free. */
  use<Result>(at: NodeAt, signal: AbortSignal, work: (connection: NodeConnection) => Promise<Result>): Promise<Result>;
  /** Ends every connection; those being opened, too. */
  close(): void;
}

export interface PoolOptions extends Omit<ConnectOptions, 'at'> {
  readonly clock: Clock;
}

/** Below OpenSSH's default `MaxSessions` of 10, so that a person's own session over the same account finds room. */
const channelsPerConnection = 8;
const idleMs = 60_000;

interface Entry {
  readonly slots: ChannelSlots;
  readonly opening: Promise<NodeConnection>;
  /** Ends the opening, or the open connection. */
  readonly ending: AbortController;
  idle: AbortController | undefined;
}

export function createConnectionPool(options: PoolOptions): ConnectionPool {
  const entries = new Map<string, Entry>();

  function open(key: string, at: NodeAt): Entry {
    const ending = new AbortController();
    const opening = connectNode({ ...options, at }, ending.signal);
    const entry: Entry = { slots: createChannelSlots(channelsPerConnection), opening, ending, idle: undefined };
    entries.set(key, entry);
    opening.then(
      (connection) => {
        ending.signal.addEventListener('abort', () => connection.end(), { once: true });
        if (ending.signal.aborted) connection.end();
        connection.lost.addEventListener('abort', () => forget(key, entry), { once: true });
      },
      () => forget(key, entry),
    );
    return entry;
  }

  function forget(key: string, entry: Entry): void {
    entry.idle?.abort();
    if (entries.get(key) === entry) entries.delete(key);
  }

  function drop(key: string, entry: Entry): void {
    forget(key, entry);
    entry.ending.abort(new Error('the ssh connection is closed'));
  }

  function closeWhenIdle(key: string, entry: Entry): void {
    if (entry.slots.pending > 0 || entry.ending.signal.aborted) return;
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
      entry.idle?.abort();
      try {
        return await entry.slots.use(signal, async () => work(await orAbort(entry.opening, signal)));
      } finally {
        closeWhenIdle(key, entry);
      }
    },
    close() {
      for (const [key, entry] of entries) drop(key, entry);
    },
  };
}

/** What is shared goes on; only this caller's waiting ends. */
async function orAbort<Result>(shared: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([shared, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
