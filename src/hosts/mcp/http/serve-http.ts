/** MCP over HTTP: one listener, `/mcp`, `/health`, and `/sse` where asked for. */
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { checkMcpToken, isMcpTokenLive, type McpToken } from '#app/people/mcp-tokens';
import type { CallingApp } from '#kernel/app';
import { Fault, reasonOf, toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { createCallTracker } from '../call-tracker.ts';
import { mcpServerFactory } from '../mcp-server-factory.ts';
import { createGatekeeper, type Gatekeeper, isLoopback, isPrivateAddress } from './gatekeeper.ts';
import { defaultLimits, type HttpOptions } from './http-options.ts';
import { RefusedRequest, sendRefusal } from './refusal.ts';
import { createSseEndpoint, messagesPath, type SseEndpoint, ssePath } from './sse-endpoint.ts';
import { createStreamableEndpoint, type StreamableEndpoint } from './streamable-endpoint.ts';
import {
  createExchanges,
  type Exchanges,
  goneSignal,
  holdsRequest,
  messageCount,
  readBody,
  webRequest,
  writeWebResponse,
} from './web-exchange.ts';

export interface HttpEndpoint {
  /** `http://127.0.0.1:41234`, without a path. */
  readonly origin: string;
  readonly mcpPath: string;
  readonly ssePath: string;
  readonly healthPath: string;
  /** Tells clients that the list of tools is another one. */
  toolsChanged(): void;
  /** Ends every session and connection; idempotent. */
  close(): Promise<void>;
}

const mcpPath = '/mcp';
const healthPath = '/health';

/** How long the last bytes may take to be taken when the endpoint is closed, in ms. */
const drainMs = 500;

/** How long a client may take to send a request, in ms. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** How often it is looked who took longer, in ms: Node's own 30 s would be three times the limit. */
const checkingMs = 1_000;

/** @throws {Fault} `tls_required`, `bad_tls`, `bad_address`, `port_taken`, `listen_failed` */
export async function serveHttp(options: HttpOptions): Promise<HttpEndpoint> {
  if (!isLoopback(options.host) && options.tls === undefined && !isTrustedNetwork(options)) {
    throw new Fault(
      'tls_required',
      `\`${options.host}\` is beyond this machine, and without TLS tokens and results could be read on the way`,
      {
        next: 'name --tls-cert and --tls-key, or listen on 127.0.0.1 and reach it through ssh -L; on a network where everybody may read along, a private address and --private-network',
      },
    );
  }
  const parts: Parts = {
    gatekeeper: createGatekeeper(options),
    streamable: createStreamableEndpoint(options),
    exchanges: createExchanges(),
    ...(options.sse ? { sse: createSseEndpoint(options) } : {}),
    options,
  };
  const server = createListener(options, (request, response) => void answer(request, response, parts));
  limitConnections(server);
  const port = await listen(server, options);
  const sweeper = setInterval(() => void sweep(parts), options.limits.sweepMs).unref();
  let closing: Promise<void> | undefined;
  return {
    origin: `${options.tls === undefined ? 'http' : 'https'}://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    mcpPath,
    ssePath,
    healthPath,
    toolsChanged: () => {
      parts.streamable.toolsChanged();
      parts.sse?.toolsChanged();
    },
    close: () => (closing ??= close(server, sweeper, parts)),
  };
}

/** An unspecified address stands for all of the machine's: then the peers' own addresses decide. */
function isTrustedNetwork({ host, privateNetwork }: HttpOptions): boolean {
  return privateNetwork === true && (['0.0.0.0', '::'].includes(host) || isPrivateAddress(host));
}

interface Parts {
  readonly gatekeeper: Gatekeeper;
  readonly streamable: StreamableEndpoint;
  readonly exchanges: Exchanges;
  readonly sse?: SseEndpoint;
  readonly options: HttpOptions;
}

async function answer(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  try {
    parts.gatekeeper.checkAddress(request);
    await route(request, response, parts);
  } catch (thrown) {
    if (thrown instanceof RefusedRequest) return sendRefusal(response, thrown.refusal);
    // The client left in the middle of its request.
    if (response.destroyed) return;
    parts.options.log.error(`mcp: ${toFault(thrown).message}`);
    sendRefusal(response, { status: 500, message: 'internal error', code: -32_603, close: true });
  }
}

async function route(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://here');
  const { pathname } = url;
  if (pathname === healthPath) return sendHealth(request, response);
  if (pathname === mcpPath) return answerStreamable(request, response, parts);
  if (parts.sse !== undefined && pathname === ssePath) return openSse(request, response, parts, parts.sse);
  if (parts.sse !== undefined && pathname === messagesPath) return postSse(request, response, { parts, sse: parts.sse, url });
  throw new RefusedRequest({ status: 404, message: `nothing is here; MCP is at ${mcpPath}` });
}

/** Says that it runs, to anybody; nothing else. */
function sendHealth(request: IncomingMessage, response: ServerResponse): void {
  allowOnly(request, ['GET', 'HEAD']);
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end('{"status":"ok"}');
}

async function answerStreamable(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  allowOnly(request, ['GET', 'POST', 'DELETE']);
  const token = await parts.gatekeeper.identify(request);
  if (request.method !== 'POST') parts.gatekeeper.countMessages(token, 1);
  const body = request.method === 'POST' ? await bodyOf(request, token, parts) : undefined;
  const leave = holdsRequest(body) ? parts.gatekeeper.enter(token, 'answering') : () => undefined;
  const ended = parts.exchanges.add(response, token);
  try {
    await writeWebResponse(response, await parts.streamable.answer(webRequest(request, goneSignal(response)), body, token));
  } finally {
    ended();
    leave();
  }
}

/** Read within limits, its messages counted. */
async function bodyOf(request: IncomingMessage, token: McpToken, { gatekeeper, options }: Parts): Promise<unknown> {
  const leave = gatekeeper.enter(token, 'reading');
  try {
    const body = await readBody(request, options.limits);
    gatekeeper.countMessages(token, messageCount(body));
    return body;
  } finally {
    leave();
  }
}

async function openSse(request: IncomingMessage, response: ServerResponse, { gatekeeper }: Parts, sse: SseEndpoint): Promise<void> {
  allowOnly(request, ['GET']);
  const token = await gatekeeper.identify(request);
  gatekeeper.countMessages(token, 1);
  await sse.open(response, token);
}

interface SsePost {
  readonly parts: Parts;
  readonly sse: SseEndpoint;
  readonly url: URL;
}

async function postSse(request: IncomingMessage, response: ServerResponse, { parts, sse, url }: SsePost): Promise<void> {
  allowOnly(request, ['POST']);
  const token = await parts.gatekeeper.identify(request);
  sse.post(url, await bodyOf(request, token, parts), token);
  response.writeHead(202).end('Accepted');
}

function allowOnly(request: IncomingMessage, methods: readonly string[]): void {
  if (methods.includes(request.method ?? '')) return;
  throw new RefusedRequest({ status: 405, message: `use ${methods.join(', ')}`, headers: { allow: methods.join(', ') }, close: true });
}

function createListener({ tls }: HttpOptions, listener: RequestListener): HttpServer {
  const settings = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: checkingMs,
    keepAlive: true,
    maxHeaderSize: 16_384,
  };
  if (tls === undefined) return createHttpServer(settings, listener);
  try {
    return createHttpsServer({ ...settings, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' }, listener);
  } catch (cause) {
    const why = `\`--tls-cert\` and \`--tls-key\` must be a certificate and its key, both PEM: ${reasonOf(cause)}`;
    throw new Fault('bad_tls', why, { audience: 'user', cause });
  }
}

async function listen(server: HttpServer, { host, port }: HttpOptions): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, host === 'localhost' ? '127.0.0.1' : host, resolve);
  try {
    await promise;
  } catch (thrown) {
    throw listenFault(thrown, host, port);
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function listenFault(thrown: unknown, host: string, port: number): Fault {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  if (code === 'EADDRINUSE') {
    return new Fault('port_taken', `port ${port} on ${host} is taken`, { next: 'choose another one, or 0 for any', cause: thrown });
  }
  return new Fault('listen_failed', `cannot listen on ${host}:${port}: ${reasonOf(thrown)}`, { cause: thrown });
}

async function sweep({ gatekeeper, streamable, exchanges, sse, options }: Parts): Promise<void> {
  gatekeeper.sweep();
  try {
    // Sessions first: they end their streams in order. What has none (2026-07-28) is cut off.
    await Promise.all([streamable.sweep(), sse?.sweep()]);
    await exchanges.sweep(options.authentication.isLive);
  } catch (thrown) {
    options.log.warn(`mcp: ${toFault(thrown).message}`);
  }
}

async function close(server: HttpServer, sweeper: NodeJS.Timeout, { streamable, sse }: Parts): Promise<void> {
  clearInterval(sweeper);
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // Answers that have just been given are still on their way into the streams that are about to be ended.
  await new Promise(setImmediate);
  await Promise.all([streamable.close(), sse?.close()]);
  const limit = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed.finally(() => clearTimeout(limit));
}

/** MCP over HTTP for the App. */
interface AppHttpOptions extends Pick<HttpOptions, 'host' | 'port' | 'sse' | 'allowedHosts' | 'allowedOrigins' | 'tls' | 'privateNetwork'> {
  readonly app: CallingApp;
  readonly version: string;
  /** Where the tokens are. */
  readonly stateDir: string;
  readonly log: Log;
  readonly allTools: boolean;
}

/** `close` cancels the calls under way and has them answered. @throws {Fault} as `serveHttp` */
export async function serveAppOverHttp({ app, version, stateDir, allTools, ...options }: AppHttpOptions): Promise<HttpEndpoint> {
  const calls = createCallTracker();
  const endpoint = await serveHttp({
    ...options,
    limits: defaultLimits,
    authentication: {
      check: (bearer) => checkMcpToken(stateDir, bearer),
      isLive: (token) => isMcpTokenLive(stateDir, token),
    },
    createServer: mcpServerFactory({ app, version, calls, allTools }),
  });
  return {
    ...endpoint,
    close: async () => {
      // While the clients still listen: what was under way gets its answer.
      await calls.cancelAll();
      await endpoint.close();
    },
  };
}

// Who is connected, and who of them has nothing under way: those make room where there are too many.

type Socket = IncomingMessage['socket'];

/** Open at once, whoever holds them: each costs a descriptor. */
const mostConnections = 1_024;
/** Of these, such as have nothing under way: they have not asked yet, or were answered. */
const mostIdle = 256;

/**
 * SECURITY: whoever opens connections and says nothing must shut nobody out. Beyond `mostIdle` the one that has been idle for longest is ended, of the
 * address that has most of them; who comes with a request has been asked for it long before. Only connections with a request under way are refused
 * beyond `mostConnections`, and those need a token.
 */
function limitConnections(server: HttpServer): void {
  // Above the limit, so that those of a flood are looked at before they are ended.
  server.maxConnections = mostConnections + mostIdle;
  /** The oldest first. */
  const idle = new Map<string, Socket>();

  const rest = (key: string, socket: Socket): void => {
    if (socket.destroyed) return;
    idle.set(key, socket);
    if (idle.size <= mostIdle) return;
    const [oldest, ended] = oldestOfMost(idle);
    idle.delete(oldest);
    ended?.destroy();
  };

  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    socket.once('close', () => {
      if (idle.get(key) === socket) idle.delete(key);
    });
    rest(key, socket);
  });
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const key = keyOf(socket);
    // Over TLS this is another object than the one that came in; it has the same two ends.
    const raw = idle.get(key) ?? socket;
    idle.delete(key);
    response.once('close', () => rest(key, raw));
  });
}

function keyOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function oldestOfMost(idle: ReadonlyMap<string, Socket>): readonly [key: string, socket: Socket | undefined] {
  const counts = new Map<string, number>();
  for (const key of idle.keys()) counts.set(addressIn(key), (counts.get(addressIn(key)) ?? 0) + 1);
  const [most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
  const key = [...idle.keys()].find((one) => addressIn(one) === most) ?? '';
  return [key, idle.get(key)];
}

function addressIn(key: string): string {
  return key.slice(0, key.indexOf(' '));
}
