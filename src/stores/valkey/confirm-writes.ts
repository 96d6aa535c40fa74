/** A change counts once enough replicas have it (`replicas=N` in the store URL). */
import type { Redis } from 'iovalkey';
import { Fault } from '#kernel/errors';

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
}

export function createReplication({ replicas, timeoutMs, location }: ReplicationOptions): Replication {
  const nothing = async (): Promise<void> => undefined;
  if (replicas === 0) return { require: nothing, confirm: nothing };
  const limit = Math.ceil(timeoutMs / 2);
  const asking = new WeakMap<Redis, Promise<number>>();
  const queued = new WeakMap<Redis, Promise<number>>();
  const ask = async (client: Redis): Promise<number> => {
    queued.delete(client);
    const answer = client.wait(replicas, limit);
    asking.set(client, answer);
    return answer;
  };
  /** One question for all changes that were made while the one before was open. */
  const count = async (client: Redis): Promise<number> => {
    const next = queued.get(client) ?? (asking.get(client) ?? Promise.resolve(0)).catch(() => 0).then(() => ask(client));
    queued.set(client, next);
    return next;
  };
  const few = (found: number): string => `${found} instead of ${replicas} replicas`;
  return {
    require: async (client) => {
      const found = await count(client);
      if (found >= replicas) return;
      throw new Fault('store_unavailable', `the store \`${location}\` has ${few(found)} that follow it, so nothing was changed`, {
        retryable: true,
        next: 'try again; check the replicas (`replicas` in the store URL) if it goes on',
      });
    },
    confirm: async (client) => {
      const found = await count(client);
      if (found >= replicas) return;
      throw new Fault(
        'store_unconfirmed',
        `the store \`${location}\` made the change, but ${few(found)} confirmed it within ${limit} ms: a fail-over now would undo it`,
        { retryable: true, next: 'look at the request before you try again; check the replicas (`replicas` in the store URL)' },
      );
    },
  };
}
