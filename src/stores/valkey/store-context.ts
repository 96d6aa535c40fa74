/** What every operation on the shared store needs. */
import type { Redis } from 'iovalkey';
import { Fault } from '#kernel/errors';
import type { AuditChain } from './audit-chain.ts';
import type { Replication } from './confirm-writes.ts';
import type { Connections } from './connections.ts';
import type { Keys } from './keys.ts';
import { type RoleLink, useLink } from './role-link.ts';
import type { SpentMarks } from './spent-marks.ts';

export interface StoreContext {
  readonly connections: Connections;
  readonly keys: Keys;
  readonly chain: AuditChain;
  /** Around each change that must outlive a fail-over, on the connection that makes it. */
  readonly replication: Replication;
  readonly marks: SpentMarks;
  readonly adminTurn: AdminTurn;
  /** ms since the epoch, by the server's clock: the one that decides what has expired. */
  readonly now: () => number;
  /** A fresh id, `req-` + 8 hex digits. */
  readonly newId: () => string;
  readonly maxPendingPerAgent: number;
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
    throw new Fault('store_corrupt', `the store did only a part of a change (${failed[0].message})`, {
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
type AdminTurn = <T>(work: (client: Redis) => Promise<T>) => Promise<T>;

/** Connects at the first turn, so that a process which never answers never is an administrator. */
export function createAdminTurn(connections: Connections): AdminTurn {
  let link: RoleLink | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = turn.then(() => {
      link ??= connections.another('admin');
      return useLink(link, work);
    });
    turn = next.catch(() => undefined);
    return next;
  };
}
