/** `POST /add-checkpoint` for logs elsewhere (https://c2sp.org/tlog-witness), until closed. Plain HTTP: what is said is signed on both sides. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cosigner } from '#app/witness/cosigner';
import { Fault, reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';

export interface WitnessServerOptions {
  readonly cosigner: Pick<Cosigner, 'add'>;
  readonly host: string;
  readonly port: number;
  readonly log: Log;
}

export interface WitnessServer {
  /** What a log's operator configures, unless a proxy stands before it. */
  readonly url: string;
  close(): Promise<void>;
}

/** 63 hashes are 3 kB; the rest is for other signatures on the note. */
const mostBody = 64 * 1024;
/** In ms. Whoever says nothing is looked for each second. */
const serverLimits = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000, connectionsCheckingInterval: 1_000 };
const mostConnections = 64;

/** @throws {Fault} `cannot_listen` */
export async function serveWitness({ cosigner, host, port, log }: WitnessServerOptions): Promise<WitnessServer> {
  const server = createServer(serverLimits, (request, response) => void answer(request, response, { cosigner, log }));
  server.maxConnections = mostConnections;
  await listen(server, host, port);
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    close: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const refuse = (thrown: Error) =>
    reject(new Fault('cannot_listen', `${host} port ${port}: ${reasonOf(thrown)}`, { audience: 'operator', cause: thrown }));
  server.once('error', refuse).listen(port, host, () => {
    server.off('error', refuse).on('error', () => undefined);
    resolve();
  });
  return promise;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { cosigner, log }: Pick<WitnessServerOptions, 'cosigner' | 'log'>,
): Promise<void> {
  const refuse = (status: number) => void response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end();
  try {
    if (request.url?.split('?')[0] !== '/add-checkpoint') return refuse(404);
    if (request.method !== 'POST') return refuse(405);
    const body = await bodyOf(request);
    if (body === undefined) return refuse(413);
    const { status, body: text, type = 'text/plain; charset=utf-8' } = await cosigner.add(body);
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
  } catch (thrown) {
    // Who went away in the middle of a request is told nothing.
    if (request.errored !== null || response.destroyed) return void response.destroy();
    log.error(`witness: nothing was cosigned: ${reasonOf(thrown)}`);
    refuse(500);
  }
}

/** undefined where there is too much of it. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
