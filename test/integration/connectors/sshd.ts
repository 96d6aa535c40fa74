/** A real OpenSSH server on loopback, with keys and a configuration of its own; nothing of this machine's sshd is touched. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const sshd = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd'].find((path) => existsSync(path));

/** Why these tests cannot run here; undefined when they can. `BANKSMAN_REQUIRE_SERVERS=1` makes that an error instead of a skip. */
export const sshdMissing =
  sshd === undefined ? 'OpenSSH server (sshd) is not installed; on Debian: apt-get install openssh-server' : undefined;
if (sshdMissing !== undefined) {
  if (process.env['BANKSMAN_REQUIRE_SERVERS']) throw new Error(sshdMissing);
  console.warn(`SKIPPED: ${sshdMissing}`);
}

export type KeyType = 'ed25519' | 'ecdsa' | 'rsa';

export interface Sshd {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** A private key that may log in. */
  readonly identityFile: string;
  /** Where host keys, logs and what a test needs to write go. */
  readonly folder: string;
  /** The log so far. */
  log(): string;
  /** `ssh-keyscan` against it, as a known_hosts text. */
  keyscan(...options: string[]): string;
  /** Ends the server and with it every session. */
  close(): Promise<void>;
}

export interface SshdOptions {
  readonly hostKeys?: readonly KeyType[];
  /** More lines of sshd_config(5). */
  readonly config?: readonly string[];
  readonly port?: number;
  readonly host?: string;
}

/** A new key pair in `folder`; the private key's path. */
export function makeKey(folder: string, name: string, type: KeyType, passphrase = ''): string {
  const path = join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-C', name, '-f', path]);
  return path;
}

export async function startSshd(options: SshdOptions = {}): Promise<Sshd> {
  if (sshd === undefined) throw new Error(sshdMissing);
  const host = options.host ?? '127.0.0.1';
  const port = options.port ?? (await freePort(host));
  const folder = mkdtempSync(join(tmpdir(), 'banksman-sshd-'));
  const identityFile = makeKey(folder, 'id', 'ed25519');
  writeFileSync(join(folder, 'authorized_keys'), readFileSync(`${identityFile}.pub`));
  const hostKeys = (options.hostKeys ?? ['ed25519']).map((type) => makeKey(folder, `host_${type}`, type));
  const config = join(folder, 'sshd_config');
  writeFileSync(config, configuration({ host, port, folder, hostKeys, more: options.config ?? [] }));
  // Privilege separation needs this folder; a service manager makes it otherwise.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const child = spawn(sshd, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const lines: string[] = [];
  await untilListening(child, lines);
  return {
    host,
    port,
    user: userInfo().username,
    identityFile,
    folder,
    log: () => lines.join('\n'),
    keyscan: (...more) =>
      execFileSync('ssh-keyscan', ['-p', String(port), ...more, host], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    async close() {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Configuration {
  readonly host: string;
  readonly port: number;
  readonly folder: string;
  readonly hostKeys: readonly string[];
  readonly more: readonly string[];
}

function configuration({ host, port, folder, hostKeys, more }: Configuration): string {
  return [
    ...more,
    `ListenAddress ${host}:${port}`,
    ...hostKeys.map((path) => `HostKey ${path}`),
    `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
    `PidFile ${join(folder, 'pid')}`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'LogLevel VERBOSE',
    '',
  ].join('\n');
}

async function untilListening(child: ChildProcess, lines: string[]): Promise<void> {
  if (!child.stderr) throw new Error('no log');
  const reader = createInterface({ input: child.stderr });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  reader.on('line', (line) => {
    lines.push(line);
    if (line.startsWith('Server listening')) resolve();
  });
  child.on('exit', () => reject(new Error(`sshd ended: ${lines.join(' | ')}`)));
  await promise;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const gone = once(child, 'exit');
  // The sessions are processes of their own in the same group.
  process.kill(-child.pid, 'SIGKILL');
  await gone;
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A running ssh agent that holds `keys`. */
export async function startAgent(folder: string, keys: readonly string[]) {
  const socket = join(folder, 'agent.sock');
  const child = spawn('ssh-agent', ['-D', '-a', socket], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const askpass = join(folder, 'askpass');
  writeFileSync(askpass, '#!/bin/sh\necho letmein\n');
  chmodSync(askpass, 0o700);
  const env = { ...process.env, SSH_AUTH_SOCK: socket, SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force', DISPLAY: 'none' };
  for (const key of keys) execFileSync('ssh-add', ['-q', key], { env, stdio: 'ignore' });
  return {
    socket,
    close: async () => {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}
