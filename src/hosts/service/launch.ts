/** Without systemd: root opens each user's socket, and starts the service with them as the user that owns its state. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import * as path from 'node:path';
import { isLocked, loadServiceConfig, requireRootOwned } from '#app/for-service';
import { Fault } from '#kernel/errors';

export interface LaunchOptions {
  readonly users: readonly string[];
  readonly sockets: string;
  readonly stateDir: string;
  readonly configFile: string;
  /** Node, and the file that it runs. */
  readonly program: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Until the service has ended; with its exit status. The sockets stay: who comes meanwhile is told that nobody listens, and does not run embedded.
 * @throws {Fault} `no_such_user`, `bad_state`, `bad_config`, `config_not_safe`, `already_running`
 */
export async function launchService({ users, sockets, stateDir, configFile, program, signal }: LaunchOptions): Promise<number> {
  const owner = ownerOf(stateDir);
  for (const user of users)
    if (await isHeard(path.join(sockets, `${user}.sock`)))
      throw new Fault('already_running', `another service listens for ${user} in ${sockets}`, { next: 'stop that one first' });
  // Else its users would find sockets at which nobody ever listens.
  if (isLocked(stateDir, 'service'))
    throw new Fault('already_running', `another service works on ${stateDir} already`, { next: 'stop that one first' });
  const { page } = loadServiceConfig(configFile);
  // SECURITY: what others can write would be what root starts.
  for (const file of program) requireRootOwned(realpathSync(file));
  await emptyFolder(sockets);
  const open: Opened[] = [];
  try {
    for (const user of users) open.push(await openSocket(path.join(sockets, `${user}.sock`), uidOf(user)));
    const command = [...program, 'service', 'run', '--config', configFile, '--state', stateDir];
    return await runAs(owner, command, {
      open,
      sockets,
      signal,
      rights: page?.origin.startsWith('http:') === true ? ['net_bind_service'] : [],
    });
  } finally {
    for (const one of open) letGo(one);
  }
}

function ownerOf(stateDir: string): { readonly uid: number; readonly gid: number } {
  const owner = statSync(stateDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return owner;
  throw new Fault('bad_state', `${stateDir} must belong to the service's own user, who is not root`, {
    next: `\`useradd --system banksman && install -d -m 0700 -o banksman -g banksman ${stateDir}\``,
  });
}

/**
 * Of the sockets of an earlier run. Nobody comes in before the service itself listens: this process would take the connection. Where another service's
 * users come through the folder, it stays open.
 */
async function emptyFolder(sockets: string): Promise<void> {
  mkdirSync(sockets, { recursive: true });
  requireRootOwned(sockets);
  const files = readdirSync(sockets).flatMap((name) => (/\.sock(?:\.kept)?$/.test(name) ? [path.join(sockets, name)] : []));
  const heard = await Promise.all(files.map(isHeard));
  if (!heard.includes(true)) chmodSync(sockets, 0o700);
  for (const [index, file] of files.entries()) if (heard[index] !== true) rmSync(file, { force: true });
}

interface Opened {
  readonly server: Server;
  readonly file: string;
}

/** Taking the place of a socket that somebody listens at would cut off everybody who uses it. */
export async function isHeard(file: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ path: file });
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

function uidOf(user: string): number {
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name, _password, uid]) => name === user || uid === user);
  // A number names a user that has no entry, too.
  const uid = Number(entry?.[2] ?? user);
  if (Number.isSafeInteger(uid) && uid >= 0) return uid;
  throw new Fault('no_such_user', `there is no user \`${user}\` on this machine`, { audience: 'user' });
}

async function openSocket(file: string, uid: number): Promise<Opened> {
  const server = createServer();
  rmSync(file, { force: true });
  // SECURITY: made 0600 by the mask, so that at no moment others can open it.
  const mask = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(file, resolve);
    });
  } finally {
    process.umask(mask);
  }
  chownSync(file, uid, 0);
  return { server, file };
}

interface RunParts extends Pick<LaunchOptions, 'sockets' | 'signal'> {
  readonly open: readonly Opened[];
  /** Capabilities that it keeps: a page on localhost needs a port below 1024. */
  readonly rights: readonly string[];
}

async function runAs(
  { uid, gid }: { readonly uid: number; readonly gid: number },
  command: readonly string[],
  { open, sockets, signal, rights }: RunParts,
): Promise<number> {
  const drop = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', ...capabilities(rights)];
  const { PATH = '/usr/sbin:/usr/bin:/sbin:/bin' } = process.env;
  const child = spawn('setpriv', [...drop, ...command], {
    stdio: ['ignore', 'inherit', 'inherit', ...open.map(({ server }) => descriptorOf(server))],
    env: { PATH, LISTEN_FDS: String(open.length), HOME: '/nonexistent', LANG: 'C.UTF-8' },
    cwd: '/',
  });
  for (const one of open) letGo(one);
  chmodSync(sockets, 0o755);
  const stop = () => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject);
  child.once('exit', (code) => resolve(code ?? 1));
  return promise;
}

function capabilities(rights: readonly string[]): readonly string[] {
  const kept = ['-all', ...rights.map((right) => `+${right}`)].join();
  return [`--bounding-set=${kept}`, `--inh-caps=${kept}`, ...(rights.length === 0 ? [] : [`--ambient-caps=${kept}`])];
}

/** The service has it now. Closing it here would take its name away, too (`uv_close`), so that is elsewhere meanwhile. */
function letGo({ server, file }: Opened): void {
  if (!server.listening) return;
  renameSync(file, `${file}.kept`);
  server.close();
  renameSync(`${file}.kept`, file);
}

/** Of a socket that listens; Node names it nowhere else. */
function descriptorOf(server: Server): number {
  const { _handle: handle } = server as unknown as { readonly _handle?: { readonly fd?: number } };
  if (handle?.fd === undefined || handle.fd < 0) throw new Fault('internal_error', 'a socket has no descriptor', { audience: 'bug' });
  return handle.fd;
}
