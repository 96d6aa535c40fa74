/** `banksman service run`: the service itself, as the user that owns its state. */
import { existsSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import * as path from 'node:path';
import type { Config } from '#app/config/config';
import type { LocalApp } from '#app/create-app';
import { createApp, credentialOf, holdLock, loadServiceConfig, requireRootOwned } from '#app/for-service';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { serveMetrics } from './serve-metrics.ts';
import { serveUsers } from './serve-users.ts';

export interface RunOptions {
  readonly configFile: string;
  readonly stateDir: string;
  readonly version: string;
  readonly log: Log;
  /** Ends the service. */
  readonly signal: AbortSignal;
}

/** The first file descriptor that systemd hands over: `sd_listen_fds(3)`. */
const firstDescriptor = 3;

/** @throws {Fault} `bad_config`, `config_not_safe`, `state_not_private`, `already_running`, `socket_not_safe`, `store_…` */
export async function runService({ configFile, stateDir, version, log, signal }: RunOptions): Promise<void> {
  if (process.getuid?.() === 0) throw new Fault('runs_as_root', 'the service does not run as root', { audience: 'bug' });
  requirePrivate(stateDir);
  for (const file of [process.execPath, process.argv[1] ?? '']) requireRootOwned(realpathSync(file));
  const config = loadServiceConfig(configFile);
  const release = holdLock(stateDir, 'service');
  try {
    const worker = path.join(path.dirname(process.argv[1] ?? ''), 'store-worker.cjs');
    const app = await createApp({
      ...{ config, stateDir, configFile, version, log, via: 'cli', stays: true, baseDir: path.dirname(configFile) },
      ...{ namedConfigFile: configFile, checkConfigFile: requireRootOwned },
      ...(existsSync(worker) ? { storeWorker: worker } : {}),
      clusterToken: ({ name }) => credentialOf(config, name),
    });
    try {
      const { requireSandbox } = config.workspace;
      const users = serveUsers({ app, version, log, requireSandbox, answersAt: answersAt(app.config) });
      const page = await servePage(config, { app, configFile, log });
      const scraped = serveMetrics({ sinks: config.sinks, baseDir: path.dirname(configFile), metrics: app.metrics, log });
      const names = await takeSockets(users.add);
      log.info(`the service serves ${names.length === 0 ? 'nobody yet' : names.join(', ')}`);
      await stopped(signal);
      await page?.close();
      await scraped.close();
      await users.close();
    } finally {
      await app.close();
    }
  } finally {
    release();
  }
}

/** Before anybody is served: where its place cannot be held whole, the service does not start. */
async function servePage(
  { page }: Config,
  { app, configFile, log }: { readonly app: LocalApp; readonly configFile: string; readonly log: Log },
): Promise<{ close(): Promise<void> } | undefined> {
  if (page === undefined) return undefined;
  const { startPage } = await import('#hosts/page/start-page');
  return startPage({ app, page, baseDir: path.dirname(configFile), log });
}

/** Where people answer what the users' sockets do not. */
function answersAt({ page }: { readonly page?: string }): string {
  return page === undefined
    ? 'an approver answers at root’s terminal, with `banksman approvals approve`; a level or a rule is set there, too, with `banksman level` and `banksman auto-approve`'
    : `an approver answers at ${page}; a level or a rule is set there, too, or by root with \`banksman level\` and \`banksman auto-approve\``;
}

function requirePrivate(stateDir: string): void {
  const found = statSync(stateDir, { throwIfNoEntry: false });
  if (found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0) return;
  throw new Fault('state_not_private', `${stateDir} must be a directory of the service's own user, mode 0700`, {
    next: `as root: \`install -d -m 0700 -o banksman -g banksman ${stateDir}\``,
  });
}

/** What root opened: systemd, or the launcher. */
async function takeSockets(add: (user: string, server: Server) => void): Promise<readonly string[]> {
  const { LISTEN_FDS: count = '0', LISTEN_PID: pid } = process.env;
  const isOurs = pid === undefined || Number(pid) === process.pid;
  const descriptors = Array.from({ length: isOurs ? Number(count) : 0 }, (_, index) => firstDescriptor + index);
  const names: string[] = [];
  for (const fd of descriptors) {
    const user = ownerOf(fd);
    const server = createServer();
    add(user, server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ fd }, resolve);
    });
    names.push(user);
  }
  return names;
}

/**
 * SECURITY: whoever owns the socket's file is the caller of all that comes through it, whatever the descriptor is called; and nobody else can
 * open a file of mode 0600, nor put another in its place in a directory of root's.
 * @throws {Fault} `socket_not_safe`
 */
function ownerOf(fd: number): string {
  const file = fileOf(fd);
  const found = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false });
  const folder = file === undefined ? undefined : statSync(path.dirname(file), { throwIfNoEntry: false });
  const isSafe = found?.isSocket() === true && (found.mode & 0o077) === 0 && folder?.uid === 0 && (folder.mode & 0o022) === 0;
  if (!isSafe)
    throw new Fault('socket_not_safe', `descriptor ${fd} (${file ?? 'without a file'}) is no socket of mode 0600 in a directory of root's`);
  return nameOf(found.uid);
}

/** By the socket's inode: `/proc/net/unix` of `proc(5)` ends each line with the path that it was bound to. */
function fileOf(fd: number): string | undefined {
  const inode = /^socket:\[(\d+)\]$/.exec(linkOf(fd))?.[1];
  const lines = readFileSync('/proc/self/net/unix', 'utf8').split('\n');
  const fields = lines.map((line) => line.trim().split(/\s+/)).find((words) => words[6] === inode);
  return fields?.[7];
}

function linkOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

/** A user without an entry is still one user. */
function nameOf(uid: number): string {
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find((fields) => fields[2] === String(uid));
  return entry?.[0] ?? `uid-${uid}`;
}

async function stopped(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Keeps the process while there is no socket to do it.
  const alive = setInterval(() => undefined, 2 ** 30);
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  await promise;
  clearInterval(alive);
}
