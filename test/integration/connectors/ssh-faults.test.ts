import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection, ServerChannel, Session } from 'ssh2';
import ssh2 from 'ssh2';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ClosableNodeShell, createNodeShell, type NodeShellOptions } from '#connectors/ssh/create-node-shell';
import { systemClock } from '#execution/deadline';
import { useCleanup } from './cleanup.ts';
import { fasterClock } from './faster-clock.ts';
import { memoryLog, never } from './pve-server.ts';

const start = useCleanup();
const hostKey = ssh2.utils.generateKeyPairSync('ed25519');
let folder = '';
let identity = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-ssh-'));
  identity = join(folder, 'id');
  writeFileSync(identity, generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' }));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Behaviour {
  readonly onSession?: (session: Session, connection: Connection) => void;
  readonly onConnection?: (connection: Connection) => void;
  readonly refuseKeys?: boolean;
}

/** An ssh server of ssh2 that misbehaves as told; lets everybody in. */
async function misbehaving(behaviour: Behaviour) {
  const connections = new Set<Connection>();
  const server = new ssh2.Server({ hostKeys: [hostKey.private] }, (connection) => {
    connections.add(connection);
    connection.on('error', () => undefined).on('close', () => connections.delete(connection));
    connection.on('authentication', (context) => (behaviour.refuseKeys ? context.reject() : context.accept()));
    connection.on('session', (accept) => behaviour.onSession?.(accept(), connection));
    behaviour.onConnection?.(connection);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return start({
    port: (server.address() as AddressInfo).port,
    connections,
    close() {
      for (const connection of connections) connection.end();
      server.close();
    },
  });
}

function shellAt(port: number, options: Partial<NodeShellOptions> = {}): ClosableNodeShell {
  const knownHosts = join(folder, `known_${port}`);
  writeFileSync(knownHosts, `[127.0.0.1]:${port} ${hostKey.public}\n`);
  return start(
    createNodeShell({
      cluster: 'lab',
      user: 'root',
      knownHosts,
      identityFiles: [identity],
      agent: false,
      nodes: { pve: { host: '127.0.0.1', port } },
      timeoutMs: 30_000,
      clock: systemClock,
      log: memoryLog(),
      ...options,
    }),
  );
}

type Run = (channel: ServerChannel, command: string) => void;
const answering =
  (run: Run) =>
  (session: Session): void => {
    session.on('exec', (accept, _reject, info) => run(accept(), info.command));
  };

describe('what is sent', () => {
  it('is the command in quotes under `timeout`, with 3 s less than there are, and nothing else', async () => {
    const seen: string[] = [];
    const server = await misbehaving({
      onSession(session) {
        for (const event of ['pty', 'env', 'x11', 'auth-agent', 'shell', 'subsystem'] as const)
          session.on(event as 'pty', () => seen.push(event));
        answering((channel, command) => {
          seen.push(command);
          channel.exit(0);
          channel.end();
        })(session);
      },
    });
    const shell = shellAt(server.port);
    await shell.exec('pve', "it's", never);
    await shell.exec('pve', 'df -h', never);
    // What the connection took counts, too.
    const seconds = seen.map((command) => Number(/timeout -k 2 (\d+) /.exec(command)?.[1]));
    expect(seconds.every((left) => left > 0 && left <= 27)).toBe(true);
    expect(seen).toEqual([
      String.raw`LC_ALL=C exec timeout -k 2 ${seconds[0]} sh -c 'it'\''s' </dev/null`,
      `LC_ALL=C exec timeout -k 2 ${seconds[1]} 'df' '-h' </dev/null`,
    ]);
  });
});

describe('a command', () => {
  it('whose channel closes without a word has no exit code', async () => {
    const server = await misbehaving({ onSession: answering((channel) => channel.close()) });
    await expect(shellAt(server.port).exec('pve', 'x', never)).resolves.toEqual({ stdout: '', stderr: '', truncated: false });
  });

  it('that ended by a signal names it', async () => {
    const server = await misbehaving({
      onSession: answering((channel) => {
        channel.exit('KILL');
        channel.end();
      }),
    });
    await expect(shellAt(server.port).exec('pve', 'x', never)).resolves.toMatchObject({ signal: 'SIGKILL', exitCode: 137 });
  });

  it.each([124, 137])('that ends with %d by itself is not taken for one that was stopped', async (code) => {
    const server = await misbehaving({
      onSession: answering((channel) => {
        channel.exit(code);
        channel.end();
      }),
    });
    await expect(shellAt(server.port).exec('pve', 'x', never)).resolves.toMatchObject({ exitCode: code });
  });

  it('that the caller cancels is sent TERM, and its channel is closed', async () => {
    const { promise: running, resolve: run } = Promise.withResolvers<void>();
    const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const server = await misbehaving({
      onSession(session) {
        session.on('signal', (_accept, _reject, info) => stop(info.name));
        answering((channel) => {
          // A channel closes only after what came before it was read.
          channel.resume().on('close', () => close());
          run();
        })(session);
      },
    });
    const caller = new AbortController();
    const refused = expect(shellAt(server.port).exec('pve', 'x', caller.signal)).rejects.toMatchObject({ code: 'cancelled' });
    await running;
    caller.abort();
    await refused;
    await expect(stopped).resolves.toBe('TERM');
    await closed;
  });

  it('whose channel opens after the caller has left, on a connection that then dies, leaves no failure unheard', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<() => ServerChannel>();
    const server = await misbehaving({ onSession: (session) => void session.on('exec', (accept) => ask(accept)) });
    const unheard: unknown[] = [];
    const note = (reason: unknown) => void unheard.push(reason);
    process.on('unhandledRejection', note);
    start({ close: () => void process.off('unhandledRejection', note) });
    const shell = shellAt(server.port);
    const caller = new AbortController();
    const refused = expect(shell.exec('pve', 'x', caller.signal)).rejects.toMatchObject({ code: 'cancelled' });
    const accept = await asked;
    caller.abort();
    await refused;
    const channel = accept();
    const [connection] = server.connections;
    connection?.end();
    await once(channel.resume(), 'close');
    // The next command needs a new connection, so the old one is gone on this side, too, when it is refused.
    const second = new AbortController();
    const next = shell.exec('pve', 'x', second.signal).catch(() => undefined);
    await vi.waitFor(() => expect(server.connections.size).toBe(1));
    second.abort();
    await next;
    await new Promise((resolve) => setImmediate(resolve));
    expect(unheard).toEqual([]);
  });

  it('that never ends is given up, with the truth about it', async () => {
    const server = await misbehaving({ onSession: answering(() => undefined) });
    const shell = shellAt(server.port, { clock: fasterClock(4) });
    await expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({
      code: 'ssh_timeout',
      message: expect.stringMatching(
        /no end within 30\.0s; if the command still runs, the node's own `timeout` ends it \d+ s after its start/,
      ) as string,
    });
  });

  it('is a fault of the connection when that dies', async () => {
    const server = await misbehaving({ onSession: (session, connection) => answering(() => connection.end())(session) });
    await expect(shellAt(server.port).exec('pve', 'x', never)).rejects.toMatchObject({ code: 'ssh_connection_lost', retryable: true });
  });

  it('is not retried when the server will not run it', async () => {
    let asked = 0;
    const server = await misbehaving({
      onSession: (session) =>
        void session.on('exec', (_accept, reject) => {
          asked++;
          reject();
        }),
    });
    await expect(shellAt(server.port).exec('pve', 'x', never)).rejects.toMatchObject({ code: 'ssh_channel_failed', retryable: false });
    expect(asked).toBe(1);
  });
});

describe('a server', () => {
  it('that takes no key', async () => {
    const server = await misbehaving({ refuseKeys: true });
    await expect(shellAt(server.port).exec('pve', 'x', never)).rejects.toMatchObject({ code: 'ssh_auth_failed' });
    await vi.waitFor(() => expect(server.connections.size).toBe(0));
  });

  it('that breaks off during the handshake', async () => {
    const server = await misbehaving({ onConnection: (connection) => void connection.on('handshake', () => connection.end()) });
    await expect(shellAt(server.port).exec('pve', 'x', never)).rejects.toMatchObject({ code: 'ssh_unreachable' });
  });

  /** A TCP server that answers every connection with `greeting`. */
  async function plain(greeting: string): Promise<number> {
    const sockets = new Set<{ destroy(): void }>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      if (greeting) socket.write(greeting);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    start({
      close() {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    });
    return (server.address() as AddressInfo).port;
  }

  it('that says nothing', async () => {
    const shell = shellAt(await plain(''), { timeoutMs: 300 });
    await expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({ code: 'ssh_timeout' });
  });

  it('that is no ssh server', async () => {
    const shell = shellAt(await plain('HTTP/1.1 400 Bad Request\r\n\r\n'), { timeoutMs: 1_000 });
    await expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({
      code: expect.stringMatching(/^ssh_(unreachable|timeout)$/) as string,
    });
  });

  it('that speaks ssh 1 only', async () => {
    const shell = shellAt(await plain('SSH-1.5-old\r\n'));
    await expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({ code: 'ssh_unreachable' });
  });

  it('that refuses connections', async () => {
    const server = await misbehaving({});
    const { port } = server;
    server.close();
    const shell = shellAt(port);
    await expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({
      code: 'ssh_unreachable',
      message: expect.stringContaining('connection refused') as string,
    });
  });
});

describe('the connection', () => {
  const echo = answering((channel) => {
    channel.write('ok');
    channel.exit(0);
    channel.end();
  });

  it('is opened once for callers that come together, also when one of them leaves', async () => {
    let total = 0;
    const server = await misbehaving({ onSession: echo, onConnection: () => void total++ });
    const shell = shellAt(server.port);
    const caller = new AbortController();
    const leaving = expect(shell.exec('pve', 'x', caller.signal)).rejects.toMatchObject({ code: 'cancelled' });
    const staying = [shell.exec('pve', 'x', never), shell.exec('pve', 'x', never)];
    caller.abort();
    await leaving;
    await expect(Promise.all(staying)).resolves.toHaveLength(2);
    expect(total).toBe(1);
  });

  it('is opened anew after one that failed', async () => {
    let total = 0;
    const server = await misbehaving({
      onSession: echo,
      onConnection(connection) {
        if (++total === 1) connection.end();
      },
    });
    const shell = shellAt(server.port);
    await expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({ code: 'ssh_unreachable' });
    await expect(shell.exec('pve', 'x', never)).resolves.toMatchObject({ stdout: 'ok' });
  });

  it('is closed when it was idle for a minute, and not before', async () => {
    const server = await misbehaving({ onSession: echo });
    const shell = shellAt(server.port, { clock: fasterClock(6) });
    await shell.exec('pve', 'x', never);
    const [connection] = server.connections;
    expect(connection).toBeDefined();
    // What it still wants to say to a client that has gone is an error of its own, and no matter here.
    await new Promise<void>((resolve) => void connection?.once('close', () => resolve()));
    await expect(shell.exec('pve', 'x', never)).resolves.toMatchObject({ stdout: 'ok' });
  });

  it('stays open while a command runs, however long', async () => {
    const { promise: ran, resolve: run } = Promise.withResolvers<ServerChannel>();
    const server = await misbehaving({
      onSession: answering((channel, command) => {
        if (command.includes('long')) return run(channel);
        channel.exit(0);
        channel.end();
      }),
    });
    const waits: number[] = [];
    const clock = {
      now: () => systemClock.now(),
      sleep(ms: number, signal: AbortSignal) {
        if (ms === 60_000) waits.push(ms);
        return systemClock.sleep(ms, signal);
      },
    };
    const shell = shellAt(server.port, { clock });
    const long = shell.exec('pve', 'long', never);
    const channel = await ran;
    await shell.exec('pve', 'short', never);
    expect(waits).toEqual([]);
    channel.exit(0);
    channel.end();
    await long;
    expect(waits).toEqual([60_000]);
  });

  it('that is being opened, and the command in it, end when the shell is closed', async () => {
    const { promise: connected, resolve: connect } = Promise.withResolvers<void>();
    const server = await misbehaving({ onConnection: () => connect() });
    const shell = shellAt(server.port);
    const refused = expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({ code: 'cancelled' });
    await connected;
    shell.close();
    await refused;
    await vi.waitFor(() => expect(server.connections.size).toBe(0));
    await expect(shell.exec('pve', 'x', never)).rejects.toMatchObject({ code: 'cancelled' });
    expect(server.connections.size).toBe(0);
  });
});
