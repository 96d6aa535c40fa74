/** Between Node's requests and the web-standard ones that the protocol's package takes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';

/** Without a body: it has been read and parsed already. `signal` aborts when the client is gone. */
export function webRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    for (const item of Array.isArray(value) ? value : [value ?? '']) headers.append(name, item);
  }
  return new Request(`http://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`, {
    method: request.method ?? 'GET',
    headers,
    signal,
  });
}

/** Writes it through, a stream with its back pressure. A client that left meanwhile is no error. */
export async function writeWebResponse(target: ServerResponse, response: Response): Promise<void> {
  target.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    target.end();
    return;
  }
  // A stream may stay silent for long; the client waits for the headers.
  target.flushHeaders();
  await pipeline(Readable.fromWeb(response.body as ReadableStream<Uint8Array>), target).catch(() => target.destroy());
}

/** Aborts when the connection ends before the answer has been written. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('the client is gone'));
  });
  if (response.destroyed) gone.abort(new Error('the client is gone'));
  return gone.signal;
}
