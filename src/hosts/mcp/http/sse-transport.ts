/**
 * The HTTP+SSE transport of protocol 2024-11-05: one long GET carries everything to the client, which posts to an address that the first
 * event names. Deprecated since 2025-03-26; for older clients only. The format is that page's:
 * https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import type { ServerResponse } from 'node:http';
import { isJSONRPCRequest, type JSONRPCMessage, parseJSONRPCMessage, type RequestId, type Transport } from '@modelcontextprotocol/server';

export interface SseTransport extends Transport {
  /** Takes a posted message. `invalid`: it is no JSON-RPC message; `busy`: too many requests wait for their answers. */
  receive(body: unknown): 'taken' | 'invalid' | 'busy';
}

export interface SseTransportOptions {
  /** Where the client posts to, with `sessionId` in its query. */
  readonly messagesPath: string;
  readonly sessionId: string;
  readonly requestsAtOnce: number;
}

/** Proxies close a stream that is silent for a minute. */
const keepAliveMs = 15_000;

export function createSseTransport(
  response: ServerResponse,
  { messagesPath, sessionId, requestsAtOnce }: SseTransportOptions,
): SseTransport {
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
