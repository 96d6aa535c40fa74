/** Opening and closing a server on one fixed port, in the order asked, however the calls overlap. */

import type { AddressInfo, Server } from 'node:net';

export interface Listener {
  readonly address: string;
  readonly port: number;
  /** Listens; while it does already, nothing happens. */
  open(): Promise<void>;
  /** Stops listening and waits until every connection is gone. */
  close(): Promise<void>;
}

export interface ListenerOptions {
  /** Tried in turn where the machine does not have one (macOS has no 127.0.0.2). */
  readonly addresses: readonly string[];
  /** For the first address; 0: any free one. A substitute address always takes any. */
  readonly port: number;
  /** Ends all open connections. */
  readonly dropConnections: () => void;
}

/** Starts listening. Rejects with `EADDRINUSE` when the port is taken. */
export async function startListener(server: Server, options: ListenerOptions): Promise<Listener> {
  const { address, port } = await listenOnFirst(server, options);
  let last: Promise<void> = Promise.resolve();
  // Each step starts when the one before has ended, also when that failed.
  const enqueue = (step: () => Promise<void>): Promise<void> => {
    last = last.then(step, step);
    return last;
  };
  return {
    address,
    port,
    open: () => enqueue(() => (server.listening ? Promise.resolve() : listen(server, port, address))),
    close: () => enqueue(() => closeServer(server, options.dropConnections)),
  };
}

async function listenOnFirst(
  server: Server,
  { addresses, port }: ListenerOptions,
): Promise<{ readonly address: string; readonly port: number }> {
  for (const [index, address] of addresses.entries()) {
    try {
      await listen(server, index === 0 ? port : 0, address);
      return { address, port: (server.address() as AddressInfo).port };
    } catch (thrown) {
      const missing = (thrown as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL';
      if (!missing || index === addresses.length - 1) throw thrown;
    }
  }
  throw new Error('no address to listen on');
}

function listen(server: Server, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function closeServer(server: Server, dropConnections: () => void): Promise<void> {
  return new Promise((resolve) => {
    // A server that does not listen reports that as an error, which is what was wanted.
    server.close(() => resolve());
    dropConnections();
  });
}
