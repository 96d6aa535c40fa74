/** The server's time, so that machines whose clocks differ agree on what has expired. */
import { randomBytes } from 'node:crypto';
import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { Connections } from './connections.ts';
import type { Keys } from './keys.ts';

export interface ServerClock extends Pick<Clock, 'now'> {
  /** Looks at the server's clock again. @throws {Fault} `clock_skew`, `store_…` */
  synchronize(): Promise<void>;
}

/** Beyond this no grant would ever verify, in ms. */
const tolerableSkewMs = 30 * 60_000;

/**
 * The documented users may not call TIME, and need not: a key that is set to expire at an absolute time tells, by how long the server
 * gives it, what time the server has. In between, this machine's monotonic clock goes on, so that setting the wall clock changes nothing.
 */
export function createServerClock(connections: Connections, keys: Keys): ServerClock {
  let offset = Date.now() - performance.now();
  return {
    now: () => Math.round(performance.now() + offset),
    synchronize: async () => {
      // The log's users may do nothing of the kind; they trust this machine.
      if (!['agent', 'exec', 'admin'].some((role) => connections.has(role as 'agent'))) return;
      const middle = await connections.asAny(['agent', 'exec', 'admin'], async (client, role) => {
        const key = keys.probe(role === 'exec' ? 'decided' : 'blocked', randomBytes(8).toString('hex'));
        const end = Date.now() + tolerableSkewMs;
        const before = performance.now();
        const answer = await client.multi().set(key, '', 'PXAT', end).pttl(key).set(key, '', 'EX', 1).exec();
        const left = Number(answer?.[1]?.[1]);
        // -2: by the server's clock the end is past already.
        if (!(left > 0 && left <= 2 * tolerableSkewMs)) throw skewFault();
        return { local: (before + performance.now()) / 2, server: end - left };
      });
      offset = middle.server - middle.local;
    },
  };
}

function skewFault(): Fault {
  return new Fault('clock_skew', 'the clocks of this machine and of the store’s server differ by more than half an hour', {
    next: 'set the clock of the wrong one (NTP)',
  });
}
