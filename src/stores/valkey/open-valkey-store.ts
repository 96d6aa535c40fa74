/** The shared store: Valkey 7.2 or Redis 7.0 and newer, for several machines and people. Loaded only when it is asked for. */

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Fault } from '#kernel/errors';
import type { ChainedAuditLog } from '#kernel/ports/audit-log';
import type { Clock } from '#kernel/ports/clock';
import type { RequestStore } from '#kernel/ports/request-store';
import type { Store } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import { createAuditChain } from './audit-chain.ts';
import { type ChangeChannel, openChangeChannel } from './change-channel.ts';
import { type Connections, createConnections } from './connections.ts';
import { createReach, type Dial } from './find-primary.ts';
import { createServerClock, keepHouse, noteWait, type ServerClock, waitOf } from './housekeeping.ts';
import { type Keys, keysOf } from './keys.ts';
import { countApproved, countPending, listRequests } from './list-requests.ts';
import { answerRequest, endRequest } from './move-request.ts';
import { createOpener } from './open-request.ts';
import { createTrailReader } from './read-trail.ts';
import { connect, type LinkOptions, patienceOf } from './role-link.ts';
import { createSpentMarks } from './spent-marks.ts';
import { createReplication, createTurn, execute, type StoreContext } from './store-context.ts';
import { type CredentialSource, credentialsFile, parseStoreUrl, type ValkeyAddress, type ValkeyRole, valkeyRoles } from './store-url.ts';
import { findRequest, keyReaders } from './stored-request.ts';
import { writeEntries } from './tree-leaves.ts';
import { keptLeaves } from './trim-tree.ts';
import { createValkeyAudit } from './valkey-audit.ts';
import { createValkeyCodes, createValkeySecurity } from './valkey-security.ts';

export interface ValkeyStoreOptions {
  /** `valkey://host:port/0?prefix=molis`; see `parseStoreUrl`. */
  readonly url: string;
  /** A file (see `credentialsFile`), or whatever gives a role's credential. */
  readonly credentials: string | CredentialSource;
  /** Certificates to trust instead of the system's (PEM file). */
  readonly caFile?: string;
  /**
   * Connected and tried at the start. Default: those of `agent`, `exec` and `log-writer` that there is a credential for, or else `admin`.
   * Any other role connects when it is first needed, so a process that never answers for a person never holds that connection.
   */
  readonly roles?: readonly ValkeyRole[];
  /** Default: the server's clock. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Makes request ids; default: `req-` + 8 hex digits from a CSPRNG. */
  readonly ids?: () => string;
  /** Default 5 (prompt fatigue). */
  readonly maxPendingPerAgent?: number;
  /** Leaves of the trail's tree that stay when their records have long gone. Default 4,194,304. */
  readonly keptLeaves?: number;
  /** How long a connection or an answer may take, in ms. Default 5,000. */
  readonly timeoutMs?: number;
}

export interface ValkeyStore extends Store {
  readonly audit: ChainedAuditLog;
  /** Expires, trims and tidies now, instead of at the next of its own times (every 30 s). Never rejects. */
  keepHouse(): Promise<void>;
}

const defaultTimeoutMs = 5000;
const housekeepingMs = 30_000;
const startRoles: readonly ValkeyRole[] = ['agent', 'exec', 'log-writer'];

/**
 * @throws {Fault} `bad_store_url`, `bad_credentials`, `store_role_missing`, `store_unavailable`, `store_auth_failed`, `store_denied`, `clock_skew`
 */
export async function openValkeyStore(options: ValkeyStoreOptions): Promise<ValkeyStore> {
  const address = parseStoreUrl(options.url);
  const keys = keysOf(address.prefix);
  const connections = await createAll(options, address, keys);
  let channel: ChangeChannel | undefined;
  try {
    for (const role of startWith(options, connections)) await connections.as(role, (client) => client.ping());
    const clock = serverClock(options, connections, keys);
    await clock.synchronize();
    const self = randomBytes(12).toString('base64url');
    channel = await openChangeChannel({ link: listenerOf(connections), keys, self });
    const { ring } = channel;
    const mark = keys.probe('decided', self);
    const replication = createReplication({ ...address, timeoutMs: options.timeoutMs ?? defaultTimeoutMs, mark });
    return assemble(address, channel, contextOf(options, { connections, keys, clock, self, ring, replication }), clock);
  } catch (thrown) {
    channel?.close();
    connections.close();
    throw thrown;
  }
}

async function createAll(options: ValkeyStoreOptions, address: ValkeyAddress, keys: Keys): Promise<Connections> {
  const credentials = typeof options.credentials === 'string' ? credentialsFile(options.credentials) : options.credentials;
  const known = await Promise.all(valkeyRoles.map(async (role) => ((await credentials(role)) ? role : undefined)));
  // Whoever uses the embedded store never loads the client.
  const { Redis } = await import('iovalkey');
  const basics = {
    Client: Redis,
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    ...(address.tls ? { tls: await certificates(options) } : {}),
  };
  return createConnections({
    ...basics,
    reach: createReach(address, askSentinel(basics, credentials)),
    topology: address.topology,
    location: address.location,
    keys,
    credentials,
    roles: new Set(known.filter((role) => role !== undefined)),
  });
}

function askSentinel(basics: Pick<LinkOptions, 'Client' | 'timeoutMs' | 'tls'>, credentials: CredentialSource): Dial {
  return async (endpoint) => {
    const found = await credentials('sentinel');
    const login = found === undefined ? {} : { username: found.user, password: found.password };
    return connect(basics, { endpoint, login, test: async () => undefined });
  };
}

/** There is no way to switch verification off. */
async function certificates({ caFile }: ValkeyStoreOptions): Promise<{ readonly ca?: Buffer }> {
  if (caFile === undefined) return {};
  try {
    return { ca: await readFile(caFile) };
  } catch (cause) {
    throw new Fault('bad_store_url', say`the CA file \`${caFile}\` cannot be read`, { cause, next: 'correct `ca` in the store URL' });
  }
}

function startWith({ roles }: ValkeyStoreOptions, connections: Connections): readonly ValkeyRole[] {
  if (roles) return roles;
  const usual = startRoles.filter((role) => connections.has(role));
  // With no credential at all this asks for one, and says so.
  return usual.length > 0 ? usual : ['admin'];
}

/** The log's users may not listen. */
function listenerOf(connections: Connections) {
  const role = (['agent', 'exec', 'admin'] as const).find((candidate) => connections.has(candidate));
  return role && connections.another(role);
}

function serverClock({ clock }: ValkeyStoreOptions, connections: Connections, keys: Keys): ServerClock {
  return clock ? { now: () => clock.now(), synchronize: async () => undefined } : createServerClock(connections, keys);
}

type Parts = Pick<StoreContext, 'connections' | 'keys' | 'self' | 'ring' | 'replication'> & { readonly clock: ServerClock };

function contextOf(options: ValkeyStoreOptions, { clock, ...parts }: Parts): StoreContext {
  const { connections, keys, replication } = parts;
  const now = (): number => clock.now();
  const chain = createAuditChain({
    now,
    write: async (entries) =>
      connections.asAny(['log-writer', 'admin'], async (client) => {
        await writeEntries({ keys, now }, client, entries);
        await replication.confirm(client);
      }),
  });
  const newId = options.ids ?? (() => `req-${randomBytes(4).toString('hex')}`);
  const trail = createTrailReader({ connections, keys });
  const marks = createSpentMarks({ connections, keys, trail, now });
  const patience = patienceOf({ timeoutMs: options.timeoutMs ?? defaultTimeoutMs });
  const turns = { adminTurn: createTurn(connections, 'admin', patience), trimmerTurn: createTurn(connections, 'log-trimmer') };
  return {
    ...parts,
    ...turns,
    now,
    chain,
    trail,
    marks,
    owed: [],
    newId,
    maxPendingPerAgent: options.maxPendingPerAgent ?? 5,
    keptLeaves: options.keptLeaves ?? keptLeaves,
  };
}

function assemble(address: ValkeyAddress, channel: ChangeChannel, context: StoreContext, clock: ServerClock): ValkeyStore {
  const house = (): Promise<void> => keepHouse(context, clock, channel);
  const timer = setInterval(() => void house(), housekeepingMs).unref();
  return {
    requests: requestsOf(context, channel),
    audit: createValkeyAudit(context),
    codes: createValkeyCodes(context),
    security: createValkeySecurity(context, channel.onChange),
    claim: async (what, forMs) => {
      const { connections, keys } = context;
      const set = await connections.asAny(['exec', 'admin'], (client) => client.set(keys.claim(what), '', 'PX', forMs, 'NX'));
      return set !== null;
    },
    location: address.location,
    keepHouse: house,
    close: async () => {
      clearInterval(timer);
      channel.close();
      context.connections.close();
    },
  };
}

function requestsOf(context: StoreContext, channel: ChangeChannel): RequestStore {
  const { open } = createOpener(context);
  return {
    open,
    identity: () => storeIdentity(context),
    advanceCounter: (id, counter) => advanceCounter(context, id, counter),
    get: async (id) => (await findRequest(context, id))?.record,
    list: (query) => listRequests(context, query),
    countPending: () => countPending(context),
    countApproved: () => countApproved(context),
    approve: (id, grant, answer) => answerRequest(context, id, { kind: 'approve', grant, answer }),
    deny: (id, decision) => answerRequest(context, id, { kind: 'deny', decision }),
    revoke: (id, decision) => answerRequest(context, id, { kind: 'revoke', decision }),
    cancel: (id, by) => endRequest(context, id, { kind: 'cancel', by }),
    consume: (id, digest, by) => endRequest(context, id, { kind: 'consume', digest, by }),
    noteWait: (id, by, forMs) => noteWait(context, { id, by, forMs }),
    waitOf: (id) => waitOf(context, id),
    onChange: channel.onChange,
  };
}

/**
 * SECURITY: bound to the prefix, so that what is copied to another one counts for nothing there.
 * LIMIT: a copy of the whole server has the same name; nobody but its administrator can make one.
 */
async function storeIdentity({ connections, keys, replication }: StoreContext): Promise<string> {
  const read = () => connections.asAny(keyReaders, (client) => client.get(keys.identity));
  let name = await read();
  if (name === null && connections.has('admin')) {
    await connections.as('admin', async (client) => {
      await client.set(keys.identity, randomBytes(32).toString('base64url'), 'NX');
      await replication.confirm(client);
    });
    name = await read();
  }
  // Where no administrator has been there is no approval either.
  return createHash('sha256')
    .update([keys.identity, name ?? ''].join('\0'))
    .digest('base64url');
}

/** Two answers at once: the watched key lets one of them through. */
async function advanceCounter({ adminTurn, keys, replication }: StoreContext, credentialId: string, counter: number): Promise<boolean> {
  const key = keys.counter(credentialId);
  return adminTurn(async (client) => {
    await replication.require(client);
    await client.watch(key);
    const last = Number(await client.get(key));
    if (counter > last) {
      if ((await execute(client.multi().set(key, String(counter)))) === undefined) return false;
      await replication.confirm(client);
      return true;
    }
    await client.unwatch();
    return counter === 0 && last === 0;
  });
}
