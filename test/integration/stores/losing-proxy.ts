/** A way to a server on loopback that can lose a request, or the answer to one, together with the connection. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface LosingProxy {
  readonly port: number;
  /** Of the next request that holds `text`. `answer`: the server has done it by then; `request`: it never hears of it. */
  lose(what: 'answer' | 'request', text: string): void;
  /** Once the next request that holds `text` has come, and before the server hears of it. */
  before(text: string, act: () => void): void;
  close(): Promise<void>;
}

/** Listens on `host`. */
export async function startLosingProxy(port: number, host = '127.0.0.1'): Promise<LosingProxy> {
  let next: { readonly what: 'answer' | 'request'; readonly text: string } | undefined;
  let beforehand: { readonly text: string; readonly act: () => void } | undefined;
  const actFirst = (bytes: Buffer): void => {
    if (beforehand === undefined || !bytes.includes(beforehand.text)) return;
    beforehand.act();
    beforehand = undefined;
  };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let isLost = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .setNoDelay()
        .on('error', end)
        .on('close', () => {
          sockets.delete(socket);
          end();
        });
    }
    client.on('data', (bytes) => {
      actFirst(bytes);
      const hit = next !== undefined && bytes.includes(next.text) ? next.what : undefined;
      if (hit !== undefined) next = undefined;
      if (hit === 'request') return end();
      isLost ||= hit === 'answer';
      upstream.write(bytes);
    });
    // What was on its way before belongs to the answers that are lost with it.
    upstream.on('data', (bytes) => (isLost ? end() : void client.write(bytes)));
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    lose: (what, text) => {
      next = { what, text };
    },
    before: (text, act) => {
      beforehand = { text, act };
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
