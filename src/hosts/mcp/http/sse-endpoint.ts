/** `/sse` and `/messages`: the legacy transport, with the same sessions and guards as everything else. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { McpToken } from '#app/mcp-tokens';
import { afterClose } from '../after-close.ts';
import type { HttpOptions } from './http-options.ts';
import { RefusedRequest } from './refusal.ts';
import { createSessions } from './sessions.ts';
import { createSseTransport, type SseTransport } from './sse-transport.ts';

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
      const connection = createSseTransport(response, { messagesPath, sessionId: id, requestsAtOnce: limits.requestsAtOncePerToken });
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
