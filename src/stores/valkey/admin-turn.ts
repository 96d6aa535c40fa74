/** One change at a time on a connection that only such changes use: what is watched belongs to the connection. */
import type { Redis } from 'iovalkey';
import type { Connections } from './connections.ts';
import { type RoleLink, useLink } from './role-link.ts';

/**
 * INVARIANT: nothing else is ever sent on this connection. A transaction of somebody else between the look and the change would end the
 * watch, and then two answers could count. @throws {Fault} `store_role_missing`, `store_unavailable`, …
 */
export type AdminTurn = <T>(work: (client: Redis) => Promise<T>) => Promise<T>;

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
