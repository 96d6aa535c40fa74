/** Stands before a node of a cluster, on all addresses of this machine. Once it lies, it says of every key that it is at another of them. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Liar {
  readonly port: number;
  /** undefined: it tells the truth again. */
  lie(kind: 'ASK' | 'MOVED' | undefined): void;
  /** At how many addresses it has been reached. */
  reached(): number;
}

export async function startLiar(port: number): Promise<Liar> {
  let kind: 'ASK' | 'MOVED' | undefined;
  let named = 1;
  const reached = new Set<string | undefined>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    reached.add(client.localAddress);
    const upstream = connect(port, '127.0.0.1');
    const end = () => {
      for (const socket of [client, upstream]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (bytes) => {
      if (kind === undefined || isLogin(bytes)) upstream.write(bytes);
      else
        client.write(
          commandsIn(bytes)
            .map(() => `-${kind} 1 ${nextAddress()}\r\n`)
            .join(''),
        );
    });
    upstream.on('data', (bytes) => client.write(bytes));
  });
  const nextAddress = (): string => {
    named += 1;
    return `127.0.${Math.floor(named / 250)}.${1 + (named % 250)}:${(server.address() as AddressInfo).port}`;
  };
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  return {
    port: (server.address() as AddressInfo).port,
    lie: (what) => {
      kind = what;
    },
    reached: () => reached.size,
  };
}

const isLogin = (bytes: Buffer): boolean => /^\*\d+\r\n\$\d+\r\n(?:auth|hello|ping|client|select)\r\n/i.test(bytes.toString('latin1'));

/** Each is a list (`*N`) of strings that hold no line of that form. */
const commandsIn = (bytes: Buffer): readonly string[] => bytes.toString('latin1').match(/^\*\d+\r$/gm) ?? [];
