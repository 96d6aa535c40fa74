/** Between Node's requests and the web-standard ones that the protocol's package takes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { McpToken } from '#app/people/mcp-tokens';
import type { HttpLimits } from './http-options.ts';
import { RefusedRequest } from './refusal.ts';

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

/** The HTTP requests being answered, with the token that each came with: what a token began ends with it. */
export interface Exchanges {
  /** One that is being answered, until the returned function is called. */
  add(response: ServerResponse, token: McpToken): () => void;
  /** Cuts off those whose token no longer counts: their calls are cancelled, as when a client goes away. */
  sweep(isLive: (token: McpToken) => Promise<boolean>): Promise<void>;
}

export function createExchanges(): Exchanges {
  const open = new Map<ServerResponse, McpToken>();
  return {
    add: (response, token) => {
      open.set(response, token);
      return () => void open.delete(response);
    },
    sweep: async (isLive) => {
      for (const [response, token] of [...open]) if (!(await isLive(token))) response.destroy();
    },
  };
}

/** @throws {RefusedRequest} 415, 413, 400 */
export async function readBody(request: IncomingMessage, limits: Pick<HttpLimits, 'bodyBytes' | 'batchMessages'>): Promise<unknown> {
  if (!isJson(request.headers['content-type'])) {
    throw new RefusedRequest({ status: 415, message: 'the content type must be application/json', close: true });
  }
  const value = parse(await readBytes(request, limits.bodyBytes));
  if (Array.isArray(value) && value.length > limits.batchMessages) {
    throw new RefusedRequest({ status: 400, message: `a batch may hold at most ${limits.batchMessages} messages`, code: -32_600 });
  }
  return value;
}

/** How many messages a body holds. */
export function messageCount(body: unknown): number {
  return Array.isArray(body) ? Math.max(1, body.length) : 1;
}

/** Whether anything in it wants an answer; notifications and answers of the client's do not. */
export function holdsRequest(body: unknown): boolean {
  return [body].flat().some((message) => typeof message === 'object' && message !== null && 'method' in message && 'id' in message);
}

function isJson(header: string | undefined): boolean {
  return /^application\/json\s*(?:;|$)/i.test(header ?? '');
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = new RefusedRequest({ status: 413, message: `the body may have at most ${limit} bytes`, close: true });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  // Without destroying it on the way out: the refusal is still to be written.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new RefusedRequest({ status: 400, message: 'the body is not valid JSON', code: -32_700 });
  }
}
