/** A real Valkey (or Redis 7) on loopback, with the documented users, a port and a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'iovalkey';
import type { Credential, CredentialName, CredentialSource } from '#stores/valkey/store-url';
import { createAuthority } from '../../../src/demo/certificate.ts';
import { serverProgram } from './valkey-program.ts';

const fixtures = new URL('../../fixtures/valkey/', import.meta.url);

/** The sample passwords of the fixture. */
export const samplePasswords: Readonly<Record<CredentialName, Credential>> = {
  agent: { user: 'mcp-agent', password: 'agent-pass' },
  exec: { user: 'mcp-exec', password: 'exec-pass' },
  admin: { user: 'mcp-admin', password: 'admin-pass' },
  'log-writer': { user: 'log-writer', password: 'log-pass' },
  'log-trimmer': { user: 'log-trimmer', password: 'trim-pass' },
  sentinel: { user: 'banksman', password: 'ask-pass' },
};
/** A user of the tests' own, for what a test does to the server. */
export const operator = { username: 'operator', password: 'operator-pass' };

export function sampleCredentials(...roles: readonly CredentialName[]): CredentialSource {
  return async (role) => (roles.length === 0 || roles.includes(role) ? samplePasswords[role] : undefined);
}

export interface ValkeyServer {
  readonly host: string;
  readonly port: number;
  readonly folder: string;
  /** Without parameters. */
  readonly url: string;
  /** PEM file of the private CA; only with `tls`. */
  readonly caFile: string;
  /** A connection that may do anything. */
  readonly operator: Redis;
  /** A connection of a user of the fixture. */
  as(credential: Credential): Redis;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
  /** Ends it without warning; what was saved stays. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface ValkeyServerOptions {
  readonly tls?: boolean;
  /** More lines of its configuration. */
  readonly config?: readonly string[];
  /** Stands for `molis` in the ACL file. */
  readonly prefix?: string;
  /** It copies this one from the start. */
  readonly replicaOf?: ValkeyServer;
  /** Another than the usual one; its users may ask with `WAITAOF`. */
  readonly program?: string;
  /** Starts it on another machine (`startIsland`). From here it is reached by its Unix socket. */
  readonly wrap?: readonly string[];
}

/** Starts it and waits until it listens. */
export async function startValkey(options: ValkeyServerOptions = {}): Promise<ValkeyServer> {
  const program = options.program ?? serverProgram();
  const folder = mkdtempSync(join(tmpdir(), 'banksman-valkey-'));
  const port = await freePort();
  const caFile = join(folder, 'ca.pem');
  const rules = aclText(options.prefix ?? 'molis');
  writeFileSync(join(folder, 'users.acl'), options.program === undefined ? rules : rules.replaceAll(' +wait ', ' +wait +waitaof '));
  if (options.tls) writeCertificates(folder);
  writeFileSync(join(folder, 'server.conf'), configuration(folder, port, options));
  let child: ChildProcess;
  const tls = options.tls ? { tls: { ca: readFileSync(caFile) } } : {};
  const connect = (login: object): Redis => {
    const way = options.wrap ? { path: join(folder, 'server.sock') } : { host: '127.0.0.1', port };
    const client = new Redis({ ...way, enableReadyCheck: false, retryStrategy: () => 20, ...login, ...tls });
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const clients: Redis[] = [];
  const start = async (): Promise<void> => {
    const [command, ...words] = [...(options.wrap ?? []), program, join(folder, 'server.conf')];
    child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    await untilReady(child);
  };
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    host: '127.0.0.1',
    port,
    folder,
    url: `${options.tls ? 'valkeys' : 'valkey'}://127.0.0.1:${port}/0`,
    caFile,
    operator: connect(operator),
    as: ({ user, password }) => connect({ username: user, password }),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill,
    start,
    close: async () => {
      for (const client of clients) client.disconnect();
      child.kill('SIGCONT');
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function aclText(prefix: string): string {
  const documented = ['users.acl', 'failover.acl']
    .map((name) => readFileSync(new URL(name, fixtures), 'utf8'))
    .join('')
    .replaceAll('molis:', `${prefix}:`)
    // Nobody can be this user, but the server itself is when it reads its append-only file: without rights it leaves out every
    // transaction in it, silently (redis/redis#14541, valkey-io/valkey#3983). See docs/valkey.md.
    .replace(/^user default .*$/m, 'user default off resetpass ~* &* +@all');
  return `${documented.trimEnd()}\nuser ${operator.username} on >${operator.password} ~* &* +@all\n`;
}

function configuration(folder: string, port: number, { tls, replicaOf, config = [] }: ValkeyServerOptions): string {
  const listening = tls
    ? [
        'port 0',
        `tls-port ${port}`,
        `tls-cert-file ${folder}/server.pem`,
        `tls-key-file ${folder}/server.key`,
        `tls-ca-cert-file ${folder}/ca.pem`,
        'tls-auth-clients no',
      ]
    : [`port ${port}`];
  return [
    'bind 127.0.0.1',
    `unixsocket ${folder}/server.sock`,
    'unixsocketperm 700',
    ...listening,
    `dir ${folder}`,
    `aclfile ${folder}/users.acl`,
    'save ""',
    'appendonly yes',
    'appendfsync always',
    'maxmemory-policy noeviction',
    // So that it is the access rules that refuse DEBUG.
    'enable-debug-command yes',
    'daemonize no',
    // Who copies from another, now or after a fail-over.
    'masteruser replica',
    'masterauth replica-pass',
    'repl-diskless-sync-delay 0',
    'replica-announce-ip 127.0.0.1',
    ...(replicaOf ? [`replicaof 127.0.0.1 ${replicaOf.port}`] : []),
    ...config,
    '',
  ].join('\n');
}

function writeCertificates(folder: string): void {
  const authority = createAuthority('Banksman test authority', Date.now());
  const certificate = authority.issue('localhost', ['localhost'], ['127.0.0.1']);
  writeFileSync(join(folder, 'ca.pem'), authority.certificatePem);
  writeFileSync(join(folder, 'server.pem'), certificate.certificatePem);
  writeFileSync(join(folder, 'server.key'), certificate.privateKeyPem, { mode: 0o600 });
}

/** @param ready what it says when it listens */
export async function untilReady(child: ChildProcess, ready = /Ready to accept connections/i): Promise<void> {
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (!child.stdout) throw new Error('no log');
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (lines.length < 100) lines.push(line);
    if (ready.test(line)) resolve();
  });
  child.once('exit', () => reject(new Error(`the server ended: ${lines.join(' | ')}`)));
  await promise;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
