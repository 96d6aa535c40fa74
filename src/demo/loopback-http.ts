/** A plain HTTP server on 127.0.0.1, for the demo's small helpers. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LoopbackAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface LoopbackServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Answers every request with JSON; what `handle` throws becomes 400 with its message. */
export async function startLoopbackServer(
  handle: (request: IncomingMessage, body: string) => Promise<LoopbackAnswer> | LoopbackAnswer,
): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    // `answer` turns every failure into an answer.
    void answer(handle, request).then(({ status, body }) => {
      response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  handle: (request: IncomingMessage, body: string) => Promise<LoopbackAnswer> | LoopbackAnswer,
  request: IncomingMessage,
): Promise<LoopbackAnswer> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return await handle(request, Buffer.concat(chunks).toString('utf8'));
  } catch (thrown) {
    return { status: 400, body: { error: thrown instanceof Error ? thrown.message : String(thrown) } };
  }
}
