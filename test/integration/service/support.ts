/** The service's sockets over a real App on the demo cluster, in this process; and plain clients that speak to them line by line. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '#app/config/config';
import type { LocalApp } from '#app/create-app';
import { connectApp } from '#app/remote-app';
import { serveUsers, type UserServer } from '#hosts/service/serve-users';
import type { App } from '#kernel/app';
import { type ServiceMessage, wireProtocol } from '#kernel/wire';
import { startWorld, type World } from '../app/support.ts';

export interface ServiceWorld {
  readonly world: World;
  /** The service's own App: what root and the page have. */
  readonly inside: LocalApp;
  readonly folder: string;
  socketOf(user: string): string;
  /** A user's App through their socket. */
  connect(user: string, workspaceBase?: string): Promise<App>;
  /** Ends the service as a crash would for its clients, and starts another on the same state. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

const silent = () => undefined;

export async function startService(
  users: readonly string[] = ['alice', 'bob'],
  changes: { readonly [key: string]: unknown } = {},
): Promise<ServiceWorld> {
  const world = await startWorld();
  const folder = mkdtempSync(join(tmpdir(), 'banksman-sockets-'));
  chmodSync(folder, 0o700);
  const socketOf = (user: string) => join(folder, `${user}.sock`);
  const apps: App[] = [];
  let running: { inside: LocalApp; server: UserServer } | undefined;
  const start = async () => {
    const inside = await world.open(changes);
    const server = serveUsers({
      ...{ app: inside, version: 'test', requireSandbox: false, answersAt: 'open http://localhost:780' },
      log: { debug: silent, info: silent, warn: silent, error: silent },
    });
    for (const user of users) {
      const listener = createServer();
      rmSync(socketOf(user), { force: true });
      await new Promise<void>((resolve) => void listener.listen(socketOf(user), resolve));
      server.add(user, listener);
    }
    running = { inside, server };
  };
  const stop = async () => {
    await running?.server.close();
    await running?.inside.close();
    running = undefined;
  };
  await start();
  return {
    world,
    folder,
    socketOf,
    get inside() {
      if (running === undefined) throw new Error('the service is stopped');
      return running.inside;
    },
    connect: async (user, workspaceBase) => {
      const home = join(folder, `home-${user}`);
      const app = await connectApp({
        socket: socketOf(user),
        config: parseConfig({}, 'test'),
        baseDir: home,
        stateDir: join(home, 'state'),
        configFile: join(home, 'config', 'config.json'),
        log: { debug: silent, info: silent, warn: silent, error: silent },
        via: 'cli',
        version: 'test',
        ...(workspaceBase === undefined ? {} : { workspaceBase }),
      });
      apps.push(app);
      return app;
    },
    stop,
    restart: async () => {
      await stop();
      await start();
    },
    close: async () => {
      await Promise.all(apps.map((app) => app.close()));
      await stop();
      await world.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface RawClient {
  readonly socket: Socket;
  readonly messages: ServiceMessage[];
  send(message: unknown): void;
  /** The first message that fits, past or to come. */
  until(fits: (message: ServiceMessage) => boolean): Promise<ServiceMessage>;
  /** Resolves when the service has ended the connection. */
  readonly ended: Promise<void>;
  ask(method: string, ...values: readonly unknown[]): Promise<ServiceMessage>;
}

/** Speaks the protocol by hand, as an attacker would. */
export async function rawClient(file: string, hello = true): Promise<RawClient> {
  const socket = connect({ path: file });
  const messages: ServiceMessage[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  socket.on('data', (chunk) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    messages.push(...lines.map((line) => JSON.parse(line) as ServiceMessage));
    for (const look of waiting) look();
  });
  socket.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  let id = 0;
  const client: RawClient = {
    socket,
    messages,
    ended,
    send: (message) => void socket.write(`${JSON.stringify(message)}\n`),
    until: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          const found = messages.find(fits);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    ask: (method, ...values) => {
      id += 1;
      const mine = id;
      client.send({ kind: 'call', id: mine, method, values });
      return client.until((message) => (message.kind === 'answer' || message.kind === 'refusal') && message.id === mine);
    },
  };
  if (!hello) return client;
  client.send({ kind: 'hello', protocol: wireProtocol, version: 'raw' });
  await client.until(({ kind }) => kind === 'welcome');
  return client;
}
