/** One role's connection: made when it is first needed, made again when it broke. */

import type { Redis, RedisOptions } from 'iovalkey';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { type Reach, requirePrimary } from './find-primary.ts';
import { type Following, followSlot } from './follow-slot.ts';
import type { Keys } from './keys.ts';
import type { Credential, Endpoint, Topology, ValkeyRole } from './store-url.ts';
import { type FaultPlace, isReply, valkeyFault } from './valkey-faults.ts';

export interface LinkOptions {
  readonly Client: typeof Redis;
  readonly reach: Reach;
  readonly topology: Topology;
  readonly location: string;
  readonly keys: Keys;
  readonly tls?: RedisOptions['tls'];
  /** How long a connection or an answer may take, in ms. */
  readonly timeoutMs: number;
  /** Told when a server gave no answer or is not the primary any more. */
  readonly onLost?: () => void;
}

export interface RoleLink {
  readonly role: ValkeyRole;
  /** For faults. */
  readonly place: FaultPlace;
  /**
   * One physical connection, authenticated and found fit. INVARIANT: it is never connected again under the same object, so what was
   * watched on it is watched until it is gone.
   */
  client(): Promise<Redis>;
  /** Gives up the present connection; the next call makes another. */
  drop(): void;
  /** As `drop`, where the server is the reason. */
  lose(): void;
  /** As `drop`, where the keys are elsewhere now: what is under way on it may end. */
  leave(): void;
  /** Gives up a connection that is dead, or whose server is not the primary any more. Never rejects. */
  check(): Promise<void>;
  readonly isOpen: boolean;
  close(): void;
}

/** Nobody asks a server that is down again sooner than this after the last failure, in ms: the first and the longest pause. */
const backoff = { first: 50, longest: 1000 };

// oxlint-disable-next-line max-lines-per-function -- one line over: one closure over the connection (issue #4 splits it)
export function createRoleLink(role: ValkeyRole, credential: () => Promise<Credential>, options: LinkOptions): RoleLink {
  const placeOf = (user: string): FaultPlace => ({ location: options.location, user, several: options.topology !== 'single' });
  let place = placeOf(role);
  let current: Redis | undefined;
  let connecting: Promise<Redis> | undefined;
  let failure: { readonly fault: Fault; readonly until: number; readonly pause: number } | undefined;
  let closed = false;

  const connectOnce = async (): Promise<Redis> => {
    try {
      const { user, password } = await credential();
      place = placeOf(user);
      const login = { username: user, password, connectionName: `banksman-${role}` };
      const client = await options.reach((endpoint) =>
        connect(options, { endpoint, login, test: (to) => tryRole(to, role, options.keys) }),
      );
      if (closed) client.disconnect();
      if (options.topology === 'cluster') followSlot(client, { ...followingOf(options, login), onMoved: () => leave(client) });
      client.once('close', () => {
        if (current === client) current = undefined;
      });
      current = client;
      failure = undefined;
      return client;
    } catch (thrown) {
      const pause = Math.min(backoff.longest, failure ? failure.pause * 2 : backoff.first);
      failure = { fault: valkeyFault(thrown, place), pause, until: performance.now() + pause * (0.5 + Math.random() / 2) };
      throw failure.fault;
    } finally {
      connecting = undefined;
    }
  };
  const left = new Set<Redis>();
  const leave = (client = current): void => {
    if (client === undefined || current !== client) return;
    current = undefined;
    left.add(client);
    client.once('close', () => left.delete(client));
    // What is under way on it ends by then.
    setTimeout(() => client.disconnect(), options.timeoutMs).unref();
  };
  const drop = (): void => {
    current?.disconnect();
    current = undefined;
  };
  return {
    role,
    get place() {
      return place;
    },
    get isOpen() {
      return current !== undefined;
    },
    client: async () => {
      if (closed) throw closedFault(options.location);
      if (current?.status === 'ready') return current;
      if (failure && performance.now() < failure.until) throw failure.fault;
      connecting ??= connectOnce();
      return connecting;
    },
    drop,
    leave: () => leave(),
    lose: () => {
      drop();
      options.onLost?.();
    },
    check: async () => {
      if (current) await answersAsPrimary(current, options).catch(drop);
    },
    close: () => {
      closed = true;
      for (const client of [current, ...left]) client?.disconnect();
    },
  };
}

export function closedFault(location: string): Fault {
  return new Fault('store_closed', say`the store \`${location}\` has been closed`, { audience: 'bug' });
}

export interface Connecting {
  readonly endpoint: Endpoint;
  readonly login: Partial<RedisOptions>;
  /** What must work before the connection is good for anything. */
  test(client: Redis): Promise<unknown>;
}

/** One connection that is never made again. @throws what the server or the connection said */
export async function connect(
  { Client, timeoutMs, tls }: Pick<LinkOptions, 'Client' | 'timeoutMs' | 'tls'>,
  { endpoint, login, test }: Connecting,
): Promise<Redis> {
  const client = new Client({
    ...login,
    ...endpoint,
    // 0: whichever the name resolves to.
    family: 0,
    lazyConnect: true,
    // Our users may not use INFO, and a lost connection is ours to replace: nothing may be sent twice.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    keepAlive: 10_000,
    ...(tls === undefined ? {} : { tls }),
  });
  let first: Error | undefined;
  client.on('error', (error: Error) => {
    first ??= error;
  });
  try {
    await client.connect();
    await client.ping();
    await test(client);
    return client;
  } catch (thrown) {
    client.disconnect();
    // `Connection is closed.` is the consequence; the error event has the cause.
    throw first ?? thrown;
  }
}

/** Within the time of a command, so that what is tried again ends with what the server said. In ms. */
export const patienceOf = ({ timeoutMs }: Pick<LinkOptions, 'timeoutMs'>): number => timeoutMs * 0.8;

function followingOf(options: LinkOptions, login: Partial<RedisOptions>): Omit<Following, 'onMoved'> {
  return {
    dial: (endpoint) => connect(options, { endpoint, login, test: async () => undefined }),
    limitMs: patienceOf(options),
    location: options.location,
  };
}

async function answersAsPrimary(client: Redis, { topology, location }: LinkOptions): Promise<unknown> {
  return topology === 'sentinel' ? requirePrimary(client, location) : client.ping();
}

/** A command that the role's user may do if the ACL file and the prefix fit: found out at the start, not at the first approval. */
async function tryRole(client: Redis, role: ValkeyRole, keys: Keys): Promise<void> {
  try {
    await (role === 'log-writer' || role === 'log-trimmer' ? client.zcard(keys.log) : client.get(keys.level));
  } catch (thrown) {
    // The owner of a slot that is on its way: it allows the command, but the key has gone ahead.
    if (!isReply(thrown) || !(thrown as Error).message.startsWith('ASK ')) throw thrown;
  }
}

/** The server gave no answer, or is not the one that takes changes any more. */
const isNoMore: ReadonlySet<string> = new Set(['store_unavailable', 'store_read_only']);

/** Runs `work` on a connection of the link; what it throws becomes a fault, and a connection that gave no answer is given up. */
export async function useLink<T>(link: RoleLink, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = await link.client();
  try {
    return await work(client);
  } catch (thrown) {
    const fault = valkeyFault(thrown, link.place, true);
    if (thrown instanceof Fault) throw fault;
    if (fault.code === 'store_moved') link.leave();
    else if (isNoMore.has(fault.code)) link.lose();
    throw fault;
  }
}
