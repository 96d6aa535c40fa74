/** `/mcp`: Streamable HTTP. 2026-07-28 without sessions, 2025-11-25 and before with them. */
import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isInitializeRequest,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isLegacyRequest,
  type McpHttpHandler,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { McpToken } from '#app/people/mcp-tokens';
import { afterClose } from '../after-close.ts';
import { clientIsGone } from '../call-tracker.ts';
import type { HttpOptions } from './http-options.ts';
import { RefusedRequest } from './refusal.ts';
import { createSessions, type Session, type Sessions } from './sessions.ts';

export interface StreamableEndpoint {
  /** `body` is parsed already; undefined for GET and DELETE. The request's signal aborts when the client is gone. */
  answer(request: Request, body: unknown, token: McpToken): Promise<Response>;
  sweep(): Promise<void>;
  /** Tells every client that listens that the list of tools is another one. */
  toolsChanged(): void;
  close(): Promise<void>;
}

type Transport = WebStandardStreamableHTTPServerTransport;
interface Connection {
  readonly transport: Transport;
  readonly streams: OpenStreams;
}
type EndpointOptions = Pick<HttpOptions, 'createServer' | 'bus' | 'limits' | 'authentication' | 'log'>;

interface Parts {
  readonly options: EndpointOptions;
  readonly sessions: Sessions<Connection>;
  readonly modern: McpHttpHandler;
}

export function createStreamableEndpoint(options: EndpointOptions): StreamableEndpoint {
  const sessions = createSessions<Connection>(options.limits, () => performance.now());
  const modern = createMcpHandler(({ authInfo }) => options.createServer(callerOf(authInfo?.extra), 'modern'), {
    legacy: 'reject',
    ...(options.bus === undefined ? {} : { bus: options.bus }),
    maxSubscriptions: options.limits.sessions,
    onerror: (error) => options.log.debug(`mcp: ${error.message}`),
  });
  const parts = { options, sessions, modern };
  return {
    answer: async (request, body, token) => {
      if (await isLegacyRequest(request, body)) return answerLegacy(parts, request, body, token);
      return modern.fetch(request, { parsedBody: body, authInfo: authInfoOf(token) });
    },
    sweep: () => sessions.sweep(options.authentication.isLive),
    toolsChanged: () => {
      modern.notify.toolsChanged();
      sessions.toolsChanged();
    },
    close: async () => {
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

/** SECURITY: the token itself goes no further than the check. */
function authInfoOf(token: McpToken) {
  return { token: '', clientId: token.name, scopes: [], extra: { token } };
}

function callerOf(extra: Record<string, unknown> | undefined) {
  // Set above, for every request that gets this far.
  const token = extra?.['token'] as McpToken | undefined;
  if (token === undefined) throw new RefusedRequest({ status: 401, message: 'a bearer token is needed' });
  return { name: token.name, modelTier: token.modelTier };
}

async function answerLegacy(parts: Parts, request: Request, body: unknown, token: McpToken): Promise<Response> {
  const session = await sessionFor(parts, request, body, token);
  const done = parts.sessions.use(session.id);
  const { transport, streams } = session.connection;
  const ids = requestIdsOf(body);
  // All are answered on one stream.
  const forget = streams.add(ids, () => transport.closeSSEStream(ids[0] ?? ''));
  const over = () => {
    forget();
    done();
  };
  // Without an event store nothing can be delivered to a client that is gone, so nothing goes on for it.
  const cancel = () => cancelAll(transport, body);
  request.signal.addEventListener('abort', cancel, { once: true });
  try {
    const response = await transport.handleRequest(request, { parsedBody: body, authInfo: authInfoOf(token) });
    for (const id of cancelledIdsOf(body)) streams.cancel(id);
    return whenRead(response, () => {
      request.signal.removeEventListener('abort', cancel);
      over();
    });
  } catch (thrown) {
    over();
    throw thrown;
  }
}

function requestIdsOf(body: unknown): readonly RequestId[] {
  return [body].flat().flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
}

function cancelledIdsOf(body: unknown): readonly RequestId[] {
  return [body].flat().flatMap((message) => {
    const id = isJSONRPCNotification(message) && message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined;
    return typeof id === 'string' || typeof id === 'number' ? [id] : [];
  });
}

/** As the client itself would cancel them, but for the reason: what it asked a person stays. */
function cancelAll(transport: Transport, body: unknown): void {
  for (const requestId of requestIdsOf(body)) {
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: clientIsGone } });
  }
}

/** The same response; `done` is called once its body has been read to the end or given up. */
function whenRead(response: Response, done: () => void): Response {
  if (response.body === null) {
    done();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done: isOver, value } = await reader.read();
      if (!isOver) return controller.enqueue(value);
      done();
      controller.close();
    },
    cancel: async (reason) => {
      done();
      await reader.cancel(reason);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

async function sessionFor(parts: Parts, request: Request, body: unknown, token: McpToken): Promise<Session<Connection>> {
  const id = request.headers.get('mcp-session-id');
  if (id !== null) {
    const known = parts.sessions.find(id, token);
    if (known !== undefined) return known;
    // 404 tells the client to begin anew (transports, session management).
    throw new RefusedRequest({ status: 404, message: 'session not found: it has expired, or it is not yours', code: -32_001 });
  }
  if (!isInitializeRequest(body)) throw new RefusedRequest({ status: 400, message: 'no session: begin with `initialize`' });
  return openSession(parts, token);
}

async function openSession({ sessions, options }: Parts, token: McpToken): Promise<Session<Connection>> {
  if (!(await sessions.hasRoom(token))) {
    throw new RefusedRequest({ status: 503, message: 'too many sessions are open; end one', headers: { 'retry-after': '30' } });
  }
  const id = randomUUID();
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
  const server = options.createServer({ name: token.name, modelTier: token.modelTier }, 'legacy');
  await server.connect(transport);
  afterClose(transport, () => sessions.remove(id));
  const session = { id, token, server, connection: { transport, streams: createOpenStreams() } };
  sessions.add(session);
  return session;
}

/** The streams on which a session's requests are answered, so that those whose requests were all cancelled can be ended. */
interface OpenStreams {
  /** A stream that answers these requests, until the returned function is called. */
  add(ids: readonly RequestId[], close: () => void): () => void;
  /**
   * A cancelled request gets no answer, and the protocol's package ends a stream with its last answer only: the stream, and the slot it
   * holds, would stay until the client lets go of it, which clients before 2026-07-28 do not. LIMIT: of a batch, all must be cancelled.
   */
  cancel(id: RequestId): void;
}

interface Stream {
  readonly waiting: Set<RequestId>;
  readonly close: () => void;
}

function createOpenStreams(): OpenStreams {
  const streams = new Map<RequestId, Stream>();
  return {
    add: (ids, close) => {
      const stream = { waiting: new Set(ids), close };
      for (const id of ids) streams.set(id, stream);
      return () => {
        // An id may have been used again meanwhile.
        for (const id of ids) if (streams.get(id) === stream) streams.delete(id);
      };
    },
    cancel: (id) => {
      const stream = streams.get(id);
      if (stream?.waiting.delete(id) && stream.waiting.size === 0) stream.close();
    },
  };
}
