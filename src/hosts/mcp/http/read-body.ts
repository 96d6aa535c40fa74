/** The JSON body of a POST, within limits. */
import type { IncomingMessage } from 'node:http';
import type { HttpLimits } from './http-options.ts';
import { RefusedRequest } from './refusal.ts';

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
