/** What has to be done now and then, by whoever may. Nothing depends on it being in time. */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { type RequestWait, requestIdPattern } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { ChangeChannel } from './change-channel.ts';
import type { Connections } from './connections.ts';
import { type Keys, lives } from './keys.ts';
import { expireDue, expiryBatch, payOwed } from './move-request.ts';
import { packTrail, trimTrail } from './pack-trail.ts';
import { spentWindow } from './spent-marks.ts';
import type { StoreContext } from './store-context.ts';
import { keyReaders } from './stored-request.ts';

/** At most this many batches of lapsed requests in one go. */
const maxBatches = 20;
const windowsADay = spentWindow(lives.outcome * 1000);

/** Each part on its own: what goes wrong waits for the next time, and whoever needs the store is told then. */
export async function keepHouse(context: StoreContext, clock: Pick<ServerClock, 'synchronize'>, channel: ChangeChannel): Promise<void> {
  const parts = [
    () => channel.check(),
    () => context.connections.check(),
    () => clock.synchronize(),
    () => payOwed(context),
    () => expireAll(context),
    () => trimTrail(context),
    () => packTrail(context),
    () => dropMarks(context),
    () => tidyIndexes(context),
  ];
  for (const part of parts) await part().catch(() => undefined);
}

async function expireAll(context: StoreContext): Promise<void> {
  for (let batch = 0; batch < maxBatches; batch += 1) {
    if ((await expireDue(context)) < expiryBatch) return;
  }
}

/** Those of an hour ago, and of the day before in case nobody was there. */
async function dropMarks({ connections, keys, now }: StoreContext): Promise<void> {
  if (!connections.has('log-trimmer')) return;
  const newest = spentWindow(now() - lives.request * 1000);
  const old = Array.from({ length: windowsADay }, (_, back) => keys.spent(newest - back));
  await connections.as('log-trimmer', (client) => client.unlink(old));
}

/** Only an administrator's user may remove; a process that has not needed to be one so far does not become one for this. */
async function tidyIndexes({ connections, keys, now }: StoreContext): Promise<void> {
  if (!connections.isOpen('admin')) return;
  await connections.as('admin', (client) =>
    client.multi().zremrangebyscore(keys.pending, '-inf', 0).zremrangebyscore(keys.history, '-inf', now()).exec(),
  );
}

// The server's time, so that machines whose clocks differ agree on what has expired.

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

// Which call waits for the answer to a request: a key that the waiting process renews.

const time = z.number().int().nonnegative();
const schema = z.object({ by: z.string(), until: time, seenAt: time });

interface WaitNote {
  readonly id: string;
  readonly by: string;
  readonly forMs: number;
}

/** Only the agent's user may write there; a process without it opens no requests, so it does not wait for any either. */
export async function noteWait(context: StoreContext, note: WaitNote): Promise<void> {
  const { connections, keys } = context;
  if (!requestIdPattern.test(note.id) || !connections.has('agent')) return;
  const before = await waitOf(context, note.id);
  const isMine = before?.by === note.by;
  const ends = note.forMs <= 0;
  // A wait that ends leaves another one's mark alone.
  if (ends && !isMine) return;
  const mark = markOf(note, before, context.now());
  await connections.as('agent', (client) => client.set(keys.wait(note.id), JSON.stringify(mark), 'EX', lives.request));
  // Renewing tells nobody anything new.
  if (isMine && !ends) return;
  await connections.as('agent', (client) => client.publish(keys.channel, context.self));
  context.ring();
}

function markOf({ by, forMs }: WaitNote, before: RequestWait | undefined, now: number): RequestWait {
  return { by, until: forMs > 0 ? now + forMs : Math.min(before?.until ?? now, now), seenAt: now };
}

export async function waitOf({ connections, keys }: StoreContext, id: string): Promise<RequestWait | undefined> {
  if (!requestIdPattern.test(id)) return undefined;
  const text = await connections.asAny(keyReaders, (client) => client.get(keys.wait(id)));
  try {
    return schema.safeParse(JSON.parse(text ?? 'null')).data;
  } catch {
    // Not ours: nobody is known to wait.
    return undefined;
  }
}
