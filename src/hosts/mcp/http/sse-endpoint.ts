/** `/sse` and `/messages`: the legacy transport, with the same sessions and guards as everything else. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { isJSONRPCRequest, type JSONRPCMessage, parseJSONRPCMessage, type RequestId, type Transport } from '@modelcontextprotocol/server';
import type { McpToken } from '#app/people/mcp-tokens';
import { afterClose } from '../after-close.ts';
import type { HttpOptions } from './http-options.ts';
import { RefusedRequest } from './refusal.ts';
import { createSessions } from './sessions.ts';

export const ssePath = '/sse';
export const messagesPath = '/messages';

export interface SseEndpoint {
  /** Opens a stream; resolves once it is open. @throws {RefusedRequest} 503 */
  open(response: ServerResponse, token: McpToken): Promise<void>;
  /** Takes a message for a stream; the answer comes through that stream. @throws {RefusedRequest} 404, 400, 503 */
  post(url: URL, body: unknown, token: McpToken): void;
  sweep(): Promise<void>;
  toolsChanged(): void;
  close(): Promise<void>;
}

type EndpointOptions = Pick<HttpOptions, 'createServer' | 'limits' | 'authentication'>;

export function createSseEndpoint({ createServer, limits, authentication }: EndpointOptions): SseEndpoint {
  const sessions = createSessions<SseTransport>(limits, () => performance.now());
  return {
    open: async (response, token) => {
      if (!(await sessions.hasRoom(token))) throw new RefusedRequest({ status: 503, message: 'too many sessions are open; end one' });
      const id = randomUUID();
      const connection = createSseTransport(response, { sessionId: id, requestsAtOnce: limits.requestsAtOncePerToken });
      const server = createServer({ name: token.name, modelTier: token.modelTier }, 'legacy');
      sessions.add({ id, token, server, connection });
      // An open stream is a session in use: it ends with the stream.
      sessions.use(id);
      await server.connect(connection);
      afterClose(connection, () => sessions.remove(id));
    },
    post: (url, body, token) => {
      const session = sessions.find(url.searchParams.get('sessionId') ?? '', token);
      if (session === undefined) throw new RefusedRequest({ status: 404, message: 'no such stream: open one with GET /sse' });
      const taken = session.connection.receive(body);
      if (taken === 'invalid') throw new RefusedRequest({ status: 400, message: 'not a JSON-RPC message', code: -32_600 });
      if (taken === 'busy') throw new RefusedRequest({ status: 503, message: 'too many requests under way; wait for some to end' });
    },
    sweep: () => sessions.sweep(authentication.isLive),
    toolsChanged: () => sessions.toolsChanged(),
    close: () => sessions.close(),
  };
}

/**
 * The HTTP+SSE transport of protocol 2024-11-05: one long GET carries everything to the client, which posts to an address that the first
 * event names. Deprecated since 2025-03-26; for older clients only. The format is that page's:
 * https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
interface SseTransport extends Transport {
  /** Takes a posted message. `invalid`: it is no JSON-RPC message; `busy`: too many requests wait for their answers. */
  receive(body: unknown): 'taken' | 'invalid' | 'busy';
}

interface SseTransportOptions {
  readonly sessionId: string;
  readonly requestsAtOnce: number;
}

/** Proxies close a stream that is silent for a minute. */
const keepAliveMs = 15_000;

function createSseTransport(response: ServerResponse, { sessionId, requestsAtOnce }: SseTransportOptions): SseTransport {
  const unanswered = new Set<RequestId>();
  let keepAlive: NodeJS.Timeout | undefined;
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    clearInterval(keepAlive);
    response.end();
    transport.onclose?.();
  };
  const transport: SseTransport = {
    sessionId,
    start: () => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform', connection: 'keep-alive' });
      response.write(`event: endpoint\ndata: ${messagesPath}?sessionId=${sessionId}\n\n`);
      keepAlive = setInterval(() => response.write(': keepalive\n\n'), keepAliveMs);
      response.once('close', end);
      return Promise.resolve();
    },
    send: (message: JSONRPCMessage) => {
      if (over) return Promise.reject(new Error('the stream has ended'));
      if (!('method' in message) && message.id !== undefined) unanswered.delete(message.id);
      response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      return Promise.resolve();
    },
    receive: (body) => {
      const message = messageOf(body);
      if (message === undefined) return 'invalid';
      if (isJSONRPCRequest(message)) {
        if (unanswered.size >= requestsAtOnce) return 'busy';
        unanswered.add(message.id);
      } else if ('method' in message && message.method === 'notifications/cancelled') {
        // A cancelled request gets no answer.
        unanswered.delete(message.params?.['requestId'] as RequestId);
      }
      transport.onmessage?.(message);
      return 'taken';
    },
    close: () => {
      end();
      return Promise.resolve();
    },
  };
  return transport;
}

function messageOf(body: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(body);
  } catch {
    return undefined;
  }
}
