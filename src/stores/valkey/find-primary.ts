/** Which server takes the changes now: the one that the URL names, the one the Sentinels agree on, or the one that owns the cluster's slot. */

import type { Redis } from 'iovalkey';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import type { Endpoint, ValkeyAddress } from './store-url.ts';
import { isReply } from './valkey-faults.ts';

/** Connects as a role and tries what the role needs. @throws what the server or the connection said */
export type Dial = (endpoint: Endpoint) => Promise<Redis>;
/** Connects to the primary. Asked anew at every connection, so that a fail-over needs no restart. */
export type Reach = (dial: Dial) => Promise<Redis>;

/** @param ask a connection to a Sentinel, which knows other users than the servers do */
export function createReach(address: ValkeyAddress, ask: Dial): Reach {
  const { nodes, topology, master } = address;
  const [first] = nodes;
  if (topology === 'cluster') return reachOwner(nodes);
  if (topology === 'sentinel' && master !== undefined) return reachWatched({ nodes, master, location: address.location }, ask);
  return (dial) => dial(first);
}

// Sentinel (https://valkey.io/topics/sentinel-clients/).

interface Watched {
  readonly nodes: readonly Endpoint[];
  readonly master: string;
  readonly location: string;
}

interface Opinion extends Endpoint {
  readonly epoch: number;
}

function reachWatched(watched: Watched, ask: Dial): Reach {
  return async (dial) => {
    const primary = await agreedPrimary(watched, ask);
    const client = await dial(primary);
    try {
      await requirePrimary(client, watched.location);
      return client;
    } catch (thrown) {
      client.disconnect();
      throw thrown;
    }
  };
}

/**
 * SAFETY: more than half of the named Sentinels must have answered, and the newest configuration counts: one that is cut off with an old
 * primary does not lead us there.
 */
async function agreedPrimary({ nodes, master, location }: Watched, ask: Dial): Promise<Endpoint> {
  const needed = Math.floor(nodes.length / 2) + 1;
  const opinions: Opinion[] = [];
  const failures: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const asked = nodes.map(async (node) => {
    try {
      opinions.push(await opinionOf(node, master, ask));
    } catch (thrown) {
      failures.push(`${node.host}:${node.port}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
    if (opinions.length >= needed) resolve();
  });
  void Promise.all(asked).then(() => resolve());
  await promise;
  const newest = opinions.toSorted((one, other) => other.epoch - one.epoch)[0];
  if (newest !== undefined && opinions.length >= needed) return newest;
  throw new Fault(
    'store_unavailable',
    say`of the ${nodes.length} Sentinels of \`${location}\` ${opinions.length} know the primary, and ${needed} are needed (${failures.join('; ')})`,
    { retryable: true, next: 'check the addresses, `master` and the `sentinel` entry of the credentials file, then try again' },
  );
}

async function opinionOf(node: Endpoint, master: string, ask: Dial): Promise<Opinion> {
  const client = await ask(node);
  try {
    const fields = pairsOf(await client.call('SENTINEL', 'MASTER', master));
    const [host = '', port] = [fields.get('ip'), Number(fields.get('port'))];
    if (host === '' || !isPort(port)) throw new Error('no address');
    return { host, port, epoch: Number(fields.get('config-epoch') ?? 0) };
  } finally {
    client.disconnect();
  }
}

/** `HELLO` says the role and every user may send it, which is not so of `ROLE`. @throws {Fault} `store_unavailable` */
export async function requirePrimary(client: Redis, location: string): Promise<void> {
  const role = pairsOf(await client.call('HELLO')).get('role');
  if (role === 'master') return;
  throw new Fault('store_unavailable', say`the server that was the primary of \`${location}\` is a ${role ?? 'replica'} now`, {
    retryable: true,
    next: 'a fail-over is under way: try again',
  });
}

/** Protocol version 2 sends a map as a flat list. */
function pairsOf(reply: unknown): ReadonlyMap<string, string> {
  const flat = Array.isArray(reply) ? reply.map(String) : [];
  return new Map(Array.from({ length: Math.floor(flat.length / 2) }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? '']));
}

// Cluster: all keys of one prefix share a slot, so one node has them all (https://valkey.io/topics/cluster-spec/).

const maxHops = 5;

function reachOwner(seeds: readonly [Endpoint, ...Endpoint[]]): Reach {
  let owner: Endpoint | undefined;
  return async (dial) => {
    let failure: unknown;
    for (const seed of owner === undefined ? seeds : [owner, ...seeds]) {
      try {
        const found = await follow(seed, dial);
        owner = found.endpoint;
        return found.client;
      } catch (thrown) {
        // A node that is gone, or does not know yet who follows it: another may know.
        failure = thrown;
      }
    }
    throw failure;
  };
}

async function follow(seed: Endpoint, dial: Dial): Promise<{ readonly client: Redis; readonly endpoint: Endpoint }> {
  let endpoint = seed;
  for (let hop = 0; ; hop += 1) {
    try {
      return { client: await dial(endpoint), endpoint };
    } catch (thrown) {
      const next = hop < maxHops ? redirectionOf(thrown, endpoint) : undefined;
      if (next?.kind !== 'MOVED') throw thrown;
      endpoint = next.endpoint;
    }
  }
}

const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 65_536;

export interface Redirection {
  readonly kind: 'ASK' | 'MOVED';
  readonly endpoint: Endpoint;
}

/** `MOVED 3999 127.0.0.1:6381`; without a host it is the one that was asked. */
export function redirectionOf(thrown: unknown, asked: Endpoint): Redirection | undefined {
  const [, kind, host = '', port] = (isReply(thrown) ? /^(ASK|MOVED) \d+ (.*):(\d+)$/.exec((thrown as Error).message) : null) ?? [];
  if ((kind !== 'ASK' && kind !== 'MOVED') || !isPort(Number(port))) return undefined;
  return { kind, endpoint: { host: host === '' || host === '?' ? asked.host : host, port: Number(port) } };
}
