/** What every operation on the shared store needs. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'iovalkey';
import type { AuditDraft } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import { type Message, say } from '#kernel/text/message';
import type { AuditChain } from './audit-chain.ts';
import type { Connections } from './connections.ts';
import { pauseMs } from './follow-slot.ts';
import type { Keys } from './keys.ts';
import type { TrailReader } from './read-trail.ts';
import { type RoleLink, useLink } from './role-link.ts';
import type { SpentMarks } from './spent-marks.ts';
import type { ValkeyRole } from './store-url.ts';
import { isRedirected, isReply } from './valkey-faults.ts';

export interface StoreContext {
  readonly connections: Connections;
  readonly keys: Keys;
  readonly chain: AuditChain;
  /** Around each change that must outlive a fail-over, on the connection that makes it. */
  readonly replication: Replication;
  readonly marks: SpentMarks;
  readonly adminTurn: RoleTurn;
  readonly trimmerTurn: RoleTurn;
  readonly trail: TrailReader;
  /** Records of what the store may lose by a fail-over, until they are written where they stay. */
  readonly owed: AuditDraft[];
  /** ms since the epoch, by the server's clock: the one that decides what has expired. */
  readonly now: () => number;
  /** A fresh id, `req-` + 8 hex digits. */
  readonly newId: () => string;
  readonly maxPendingPerAgent: number;
  /** Leaves of the tree that stay, however old. */
  readonly keptLeaves: number;
  /** What is published with a change, so that the one who made it knows it again. */
  readonly self: string;
  /** Wakes the listeners of this process. */
  readonly ring: () => void;
}

/**
 * The replies of a transaction; undefined where a watched key had changed.
 * @throws the server's error where it refused all of it; {Fault} `store_corrupt` where it did a part (a key of the wrong type)
 */
export async function execute(transaction: ReturnType<Redis['multi']>): Promise<readonly unknown[] | undefined> {
  const replies = await transaction.exec();
  const failed = replies?.find(([error]) => error !== null);
  if (failed?.[0]) {
    throw new Fault('store_corrupt', say`the store did only a part of a change (${failed[0].message})`, {
      next: 'something else writes to these keys: use a `prefix` of its own',
    });
  }
  return replies?.map(([, value]) => value);
}

// One change at a time on a connection that only such changes use: what is watched belongs to the connection.

/**
 * INVARIANT: nothing else is ever sent on this connection. A transaction of somebody else between the look and the change would end the
 * watch, and then two answers could count. @throws {Fault} `store_role_missing`, `store_unavailable`, …
 */
export type RoleTurn = <T>(work: (client: Redis) => Promise<T>) => Promise<T>;

/**
 * Connects at the first turn, so that a process which never answers never is an administrator.
 * @param patienceMs how long `work` is done again that no node can take while a cluster's slot is on its way; 0: not at all
 */
export function createTurn(connections: Connections, role: ValkeyRole, patienceMs = 0): RoleTurn {
  let link: RoleLink | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = turn.then(() => {
      link ??= connections.another(role);
      const own = link;
      const patient = (client: Redis) => untilArrived(client, work, patienceMs);
      return useLink(own, patient).catch((thrown: unknown) => {
        // Nothing was changed, and the next connection leads to the slot's new owner.
        const isElsewhere = thrown instanceof Fault && thrown.code === 'store_moved' && String(thrown.cause).includes('MOVED ');
        if (isElsewhere) return useLink(own, patient);
        throw thrown;
      });
    });
    turn = next.catch(() => undefined);
    return next;
  };
}

/** A refused transaction has done nothing, and what was watched is gone with it: all is looked at again. */
async function untilArrived<T>(client: Redis, work: (client: Redis) => Promise<T>, patienceMs: number): Promise<T> {
  const limit = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work(client);
    } catch (thrown) {
      const isOnItsWay = isRedirected(thrown) && !(thrown as Error).message.startsWith('MOVED');
      if (!isOnItsWay || performance.now() > limit || client.status !== 'ready') throw thrown;
      await sleep(pauseMs);
    }
  }
}

// A change counts once enough replicas have it (`replicas=N` in the store URL).

/** INVARIANT: asked on the connection that makes the change; the server knows for each what it has to wait for. */
export interface Replication {
  /**
   * Before a change that would be worth nothing without its confirmation: enough replicas follow now.
   * @throws {Fault} `store_unavailable`: nothing was done
   */
  require(client: Redis): Promise<void>;
  /** After a change: resolves once enough replicas have everything that was sent on this connection. @throws {Fault} `store_unconfirmed` */
  confirm(client: Redis): Promise<void>;
}

export interface ReplicationOptions {
  /** 0: nothing is waited for. */
  readonly replicas: number;
  /** How long an answer may take, in ms. Replicas may take half of that; a connection's further commands wait meanwhile. */
  readonly timeoutMs: number;
  readonly location: string;
  /** A key that whoever asks beforehand may write, and that nobody reads. */
  readonly mark: string;
}

export function createReplication({ replicas, timeoutMs, location, mark }: ReplicationOptions): Replication {
  const nothing = async (): Promise<void> => undefined;
  if (replicas === 0) return { require: nothing, confirm: nothing };
  const limit = Math.ceil(timeoutMs / 2);
  const countOf = createAsking();
  const asking = new WeakMap<Redis, Promise<number>>();
  const queued = new WeakMap<Redis, Promise<number>>();
  const ask = async (client: Redis): Promise<number> => {
    queued.delete(client);
    const answer = countOf(client, replicas, limit);
    asking.set(client, answer);
    return answer;
  };
  /** One question for all changes that were made while the one before was open. */
  const count = async (client: Redis): Promise<number> => {
    const next = queued.get(client) ?? (asking.get(client) ?? Promise.resolve(0)).catch(() => 0).then(() => ask(client));
    queued.set(client, next);
    return next;
  };
  const few = (found: number): Message => say`${found} instead of ${replicas} replicas`;
  return {
    require: async (client) => {
      // Valkey 8 waits for what this connection has written itself: without a word of its own, a replica that hangs would count.
      const written = client.set(mark, '', 'EX', 1);
      const [found] = await Promise.all([count(client), written]);
      if (found >= replicas) return;
      throw new Fault('store_unavailable', say`the store \`${location}\` has ${few(found)} that follow it, so nothing was changed`, {
        retryable: true,
        next: 'try again; check the replicas (`replicas` in the store URL) if it goes on',
      });
    },
    confirm: async (client) => {
      const found = await count(client);
      if (found >= replicas) return;
      throw new Fault(
        'store_unconfirmed',
        say`the store \`${location}\` made the change, but ${few(found)} confirmed it within ${limit} ms: a fail-over now would undo it`,
        { retryable: true, next: 'look at the request before you try again; check the replicas (`replicas` in the store URL)' },
      );
    },
  };
}

/**
 * How many replicas have everything that was sent on the connection: on their disks (`WAITAOF`, from Valkey and Redis 7.2 on, where the user may ask
 * that), or else in their memory (`WAIT`). The primary's own disk counts as well: without it there are none.
 */
function createAsking(): (client: Redis, replicas: number, limit: number) => Promise<number> {
  const withoutDisks = new WeakSet<Redis>();
  return async (client, replicas, limit) => {
    if (withoutDisks.has(client)) return client.wait(replicas, limit);
    try {
      const [own, others] = (await client.call('WAITAOF', '1', String(replicas), String(limit))) as readonly number[];
      return (own ?? 0) > 0 ? (others ?? 0) : 0;
    } catch (thrown) {
      // An older server, access rules without it, or one that keeps no file.
      if (!isReply(thrown)) throw thrown;
      withoutDisks.add(client);
      return client.wait(replicas, limit);
    }
  };
}
