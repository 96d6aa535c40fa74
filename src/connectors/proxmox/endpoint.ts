/** One API endpoint of a cluster: its connections, and one request over them. */
import { Client, type Dispatcher, Pool } from 'undici';
import { queueLimits } from './request-queue.ts';
import { readFailure } from './transport-failure.ts';
import { caConnector, type PinCheck, pinConnector, type TlsTrust } from './verified-connector.ts';

type Connector = ReturnType<typeof caConnector>;

export type ChangeMethod = 'POST' | 'PUT' | 'DELETE';

export interface ApiRequest {
  readonly method: 'GET' | ChangeMethod;
  /** Below `/api2/json`, with query; every segment already checked. */
  readonly path: string;
  /** The value of the `Authorization` header. */
  readonly authorization: string;
  /** Form parameters of a POST or PUT; absent: none. A DELETE has them in its path. */
  readonly form?: Readonly<Record<string, string>>;
}

export interface ApiAnswer {
  readonly status: number;
  /** The reason phrase: Proxmox VE puts its error texts there. */
  readonly statusText: string;
  readonly body: string;
}

export interface Endpoint {
  /** `https://host:port`, for people and as the key of a pin. */
  readonly origin: string;
  /** @throws {TransportFailure} unless a complete answer came, whatever its status; under an aborted signal, too */
  send(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer>;
  close(): Promise<void>;
}

/** An answer larger than this many bytes is not read on: a cluster of 10,000 guests stays well below. */
const maxAnswerBytes = 16 * 1024 * 1024;

export interface EndpointOptions {
  readonly url: string;
  readonly trust: TlsTrust;
  /** Needed for `pin`. */
  readonly pins?: PinCheck;
  readonly timeoutMs: number;
}

export function createEndpoint(options: EndpointOptions): Endpoint {
  const { origin, pathname } = new URL(options.url);
  const base = `${pathname.replace(/\/+$/, '')}/api2/json`;
  const connect = createConnector(options, origin);
  const common = {
    allowH2: false,
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
    maxResponseSize: maxAnswerBytes,
  } as const;
  // pveproxy closes idle connections after a few seconds and every one after an error: reuse only what is surely fresh.
  const pool = new Pool(origin, {
    ...common,
    connect,
    connections: queueLimits.atOnce,
    keepAliveTimeout: 2_000,
    keepAliveMaxTimeout: 3_000,
  });

  const fresh: FreshConnection = { origin, connect, common };
  return {
    origin,
    async send(request, signal) {
      const path = base + request.path;
      return request.method === 'GET' ? sendPooled({ ...fresh, pool }, path, request, signal) : sendFresh(fresh, path, request, signal);
    },
    close: () => pool.destroy(),
  };
}

function createConnector(options: EndpointOptions, origin: string): Connector {
  const timeoutMs = Math.min(3_000, options.timeoutMs);
  if (options.trust.kind !== 'pin') return caConnector(options.trust, timeoutMs);
  if (!options.pins) throw new TypeError('pins are needed to check a pinned endpoint');
  return pinConnector(origin, options.pins, timeoutMs);
}

/** A read over a kept connection, and once more over a new one when the kept one was closed meanwhile. */
async function sendPooled(
  kept: FreshConnection & { pool: Pool },
  path: string,
  request: ApiRequest,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  try {
    return await exchange(kept.pool, path, request, signal);
  } catch (thrown) {
    const failure = readFailure(thrown, true);
    if (failure.kind !== 'closed' || signal.aborted) throw failure;
    return sendFresh(kept, path, request, signal);
  }
}

interface FreshConnection {
  readonly origin: string;
  readonly connect: Connector;
  readonly common: Client.Options;
}

/**
 * INVARIANT: a request that changes something goes out once, on a connection of its own. A kept-alive one may be closing at the other end,
 * and then nobody can say whether the request arrived; a fresh one tells: until it is established, nothing was sent.
 */
async function sendFresh(fresh: FreshConnection, path: string, request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
  let established = false;
  const connect: Connector = (options, callback) =>
    fresh.connect(options, (error, socket) => {
      if (error) return callback(error, null);
      established = true;
      callback(null, socket);
    });
  const client = new Client(fresh.origin, { ...fresh.common, connect, pipelining: 0 });
  try {
    return await exchange(client, path, request, signal);
  } catch (thrown) {
    throw readFailure(thrown, established);
  } finally {
    await client.destroy();
  }
}

async function exchange(dispatcher: Dispatcher, path: string, request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
  const hasBody = request.method === 'POST' || request.method === 'PUT';
  const form = hasBody ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
  const response = await dispatcher.request({
    path,
    method: request.method,
    headers: { authorization: request.authorization, accept: 'application/json', ...form },
    ...(hasBody ? { body: new URLSearchParams(request.form).toString() } : {}),
    signal,
  });
  return { status: response.statusCode, statusText: response.statusText, body: await response.body.text() };
}

/** Whether what answers there is Proxmox VE: its API refuses who names no token, and no secret is sent. @throws {TransportFailure} */
export async function isProxmoxApi(options: EndpointOptions, signal: AbortSignal): Promise<boolean> {
  const endpoint = createEndpoint(options);
  try {
    return (await endpoint.send({ method: 'GET', path: '/version', authorization: '' }, signal)).status === 401;
  } finally {
    await endpoint.close();
  }
}
