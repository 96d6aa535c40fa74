/** One verified, authenticated ssh connection to one node. Loaded with the first command for a node: ssh2 is a tenth of the program. */
import ssh2, { type Client, type ConnectConfig } from 'ssh2';
import type { Fault } from '#kernel/errors';
import { hostKeyAlgorithms, type KnownHostsFile, refuseHostKey } from './host-key-check.ts';
import { type Identities, type IdentityOptions, loadIdentities } from './identities.ts';
import { lookUpHost } from './known-hosts.ts';
import { authFault, ConnectionLost, connectFault, type NodeAt } from './ssh-fault.ts';

export interface NodeConnection {
  readonly at: NodeAt;
  readonly client: Client;
  /** Aborts with `ConnectionLost` when the connection is gone, whoever ended it. */
  readonly lost: AbortSignal;
  end(): void;
}

export interface ConnectOptions {
  readonly at: NodeAt;
  readonly knownHosts: KnownHostsFile;
  readonly identities: Omit<IdentityOptions, 'user'>;
  readonly timeoutMs: number;
}

/** Dead peers are noticed after three missed answers, 10 s apart. */
const keepalive = { keepaliveInterval: 10_000, keepaliveCountMax: 3 } as const;

/** @throws {Fault} when the host is not the known one, no key is accepted, or there is no connection; none is left open then */
export async function connectNode(options: ConnectOptions, signal: AbortSignal): Promise<NodeConnection> {
  const { at, knownHosts } = options;
  const known = lookUpHost(await knownHosts.read(), at.host, at.port);
  const identities = await loadIdentities({ ...options.identities, user: at.user });
  if (identities.methods.length === 0) throw authFault(at, identities);
  signal.throwIfAborted();
  let refused: Fault | undefined;
  const config: ConnectConfig = {
    host: at.host,
    port: at.port,
    username: at.user,
    readyTimeout: options.timeoutMs,
    algorithms: { serverHostKey: hostKeyAlgorithms(known) },
    // INVARIANT: `hostHash` stays unset, so that the key itself is compared, not a digest of it.
    hostVerifier: (key: Buffer) => {
      refused = refuseHostKey(key, known, at, knownHosts.path);
      return refused === undefined;
    },
    authHandler: [...identities.methods],
    ...keepalive,
  };
  try {
    return await openConnection(config, { at, identities }, signal);
  } catch (thrown) {
    throw refused ?? thrown;
  }
}

interface Peer {
  readonly at: NodeAt;
  readonly identities: Identities;
}

function openConnection(config: ConnectConfig, { at, identities }: Peer, signal: AbortSignal): Promise<NodeConnection> {
  const client = new ssh2.Client();
  const gone = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<NodeConnection>();
  const abandon = () => {
    reject(signal.reason);
    client.destroy();
  };
  client
    .on('ready', () => {
      // Nagle's algorithm and delayed acknowledgements cost 90 ms a command otherwise.
      client.setNoDelay(true);
      // Not `client.end()`: with a dead peer that would wait for an answer for ever.
      resolve({ at, client, lost: gone.signal, end: () => client.destroy() });
    })
    .on('error', (error) => {
      // The agent's own failures are not the end: the next method is tried.
      if ((error as { level?: string }).level === 'agent') return;
      reject(connectFault(error, at, identities));
      client.destroy();
    })
    .on('close', () => {
      reject(connectFault(new Error('the connection was closed during the handshake'), at, identities));
      gone.abort(new ConnectionLost());
    });
  signal.addEventListener('abort', abandon, { once: true });
  client.connect(config);
  return promise.finally(() => signal.removeEventListener('abort', abandon));
}
