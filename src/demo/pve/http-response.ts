/** Writing an answer: the message's first line is the reason phrase, and any status from 400 closes the connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { gzipSync } from 'node:zlib';
import { ApiError, ProxyError } from './api-error.ts';
import { isPage } from './api-method.ts';
import { HttpError } from './http-request.ts';

export interface Reply {
  readonly status: number;
  readonly reason: string;
  /** Undefined: no content type header. */
  readonly contentType: string | undefined;
  readonly body: string;
}

const json = 'application/json;charset=UTF-8';
const compressFrom = 1024;

export function okReply(result: unknown): Reply {
  return { status: 200, reason: 'OK', contentType: json, body: JSON.stringify(envelope(result)) };
}

function envelope(result: unknown): object {
  if (!isPage(result)) return { data: result ?? null };
  // PVE's check is for truth, so a total of 0 is left out.
  return result.total > 0 ? { data: result.page, total: result.total } : { data: result.page };
}

/** An answer for whatever was thrown. @throws what is none of the emulator's own errors: a bug */
export function errorReply(thrown: unknown): Reply {
  if (thrown instanceof ApiError) {
    const body = { data: null, message: thrown.message, ...(thrown.errors === undefined ? {} : { errors: thrown.errors }) };
    return { status: thrown.status, reason: thrown.message, contentType: json, body: JSON.stringify(body) };
  }
  if (thrown instanceof ProxyError) return emptyReply(thrown.status, thrown.message);
  if (thrown instanceof HttpError) return { ...emptyReply(thrown.status, thrown.message), body: thrown.body ?? thrown.message };
  throw thrown;
}

export function emptyReply(status: number, reason: string): Reply {
  return { status, reason, contentType: undefined, body: '' };
}

/** The reason phrase as it goes over the wire: one line; what has a carriage return is answered 400 (`AnyEvent.pm` response). */
function statusLine(reply: Reply): { readonly status: number; readonly reason: string; readonly body: string } {
  const [line = ''] = reply.reason.split('\n', 1);
  if (line.includes('\r')) return { status: 400, reason: 'Bad Request', body: '' };
  const reason = (line === '' ? (STATUS_CODES[reply.status] ?? 'Unknown') : line).replace(/[^\t\x20-\x7e\x80-\xff]/g, '?');
  return { status: reply.status, reason, body: reply.body };
}

/** Sends the answer. */
export function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  const { status, reason, body } = statusLine(reply);
  const gzip = body.length > compressFrom && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  const bytes = gzip ? gzipSync(body) : Buffer.from(body, 'utf8');
  const date = new Date().toUTCString();
  response.writeHead(status, reason, {
    'Cache-Control': 'max-age=0',
    Date: date,
    Expires: date,
    Pragma: 'no-cache',
    Server: 'pve-api-daemon/3.0',
    Connection: status >= 400 ? 'close' : 'Keep-Alive',
    ...(gzip ? { 'Content-Encoding': 'gzip' } : {}),
    ...(bytes.length > 0 ? { 'Content-Length': String(bytes.length) } : {}),
    ...(reply.contentType === undefined ? {} : { 'Content-Type': reply.contentType }),
  });
  response.end(bytes);
}
