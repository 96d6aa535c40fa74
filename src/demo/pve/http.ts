import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { ApiError, ProxyError } from './api-error.ts';
import { isPage } from './api-method.ts';

/** A refusal by the HTTP layer: its text is the status line and the body, with no JSON around it. */
export class HttpError extends Error {
  readonly status: number;
  /** Undefined: the message is the body. */
  readonly body: string | undefined;

  constructor(status: number, message: string, body?: string) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

const maxBodyBytes = 512 * 1024;
const knownVerbs = ['GET', 'POST', 'PUT', 'DELETE'];

/** The part of the path below `/api2/json`, decoded. An encoded slash separates from here on. @throws {HttpError} */
export function apiPath(request: IncomingMessage): string {
  checkHeader(request);
  const path = percentDecode((request.url ?? '').split('?', 1)[0] ?? '');
  if (!path.startsWith('/api2')) throw new HttpError(500, `no such file '${path}'`);
  const [, format, rest] = /^\/api2\/+([a-z][a-z0-9]+)(\/.*)?$/s.exec(path) ?? [];
  if (format === undefined) throw new HttpError(501, 'no such uri');
  if (format !== 'json') throw new HttpError(501, `no formatter for uri ${rest ?? '/'}, ${format}`);
  return rest ?? '/';
}

function checkHeader(request: IncomingMessage): void {
  const verb = request.method ?? '';
  if (!knownVerbs.includes(verb)) throw new HttpError(501, `method '${verb}' not available`, '');
  if (request.headers['transfer-encoding'] !== undefined) throw new HttpError(501, 'chunked transfer encoding not supported');
}

/** The parameters of query and body; the query wins. Reads the body to its end. @throws {HttpError} */
export async function requestParameters(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = await readBody(request);
  const query = (request.url ?? '').split('?').slice(1).join('?');
  const parameters = { ...parseBody(request, body), ...parseForm(query) };
  delete parameters['_dc'];
  return parameters;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const length = Number(request.headers['content-length'] ?? 0);
  if (length === 0) return '';
  checkBody(request, length);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const bodyTypes = ['', 'application/x-www-form-urlencoded', 'application/json'];

function checkBody(request: IncomingMessage, length: number): void {
  const verb = request.method ?? '';
  if (verb !== 'POST' && verb !== 'PUT') throw new HttpError(501, `Unexpected content for method '${verb}'`);
  if (length > maxBodyBytes) throw new HttpError(501, 'for data too large');
  if (!bodyTypes.includes(contentType(request))) {
    throw new HttpError(506, `upload 'Content-Type '${request.headers['content-type']}' not implemented`);
  }
}

function contentType(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function parseBody(request: IncomingMessage, body: string): Record<string, unknown> {
  if (body === '') return {};
  if (contentType(request) !== 'application/json') return parseForm(body);
  const parsed = parseJson(body);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new ApiError(500, 'Not a HASH reference\n');
  return { ...parsed };
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new HttpError(
      500,
      `malformed JSON string, neither tag, array, object, number, string or atom, at character offset 0 (before "${body.slice(0, 20)}")`,
    );
  }
}

/** `a=1&b=2`; a name that comes twice becomes a list. A name with no `=` has no value, as if it were not given. */
function parseForm(form: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const pair of form.split(/[&;]/).filter((one) => one !== '')) {
    const [rawName = '', rawValue] = pair.split('=');
    const name = formDecode(rawName);
    if (rawValue === undefined) result[name] ??= null;
    else result[name] = joined(result[name], formDecode(rawValue));
  }
  return result;
}

function joined(old: unknown, value: string): unknown {
  if (old === undefined || old === null) return value;
  return Array.isArray(old) ? [...old, value] : [old, value];
}

function formDecode(text: string): string {
  return percentDecode(text.replace(/\+/g, ' '));
}

/** Percent-decoding that leaves alone what is no valid escape, as Perl's does. */
export function percentDecode(text: string): string {
  const bytes = text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

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

const requestsPerConnection = 100;
const answered = new WeakMap<Socket, number>();

/** Of its connection (`max_requests` of `AnyEvent.pm`). */
function isLast({ socket }: IncomingMessage): boolean {
  const count = (answered.get(socket) ?? 0) + 1;
  answered.set(socket, count);
  return count >= requestsPerConnection;
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
    Connection: status >= 400 || isLast(request) ? 'close' : 'Keep-Alive',
    ...(gzip ? { 'Content-Encoding': 'gzip' } : {}),
    ...(bytes.length > 0 ? { 'Content-Length': String(bytes.length) } : {}),
    ...(reply.contentType === undefined ? {} : { 'Content-Type': reply.contentType }),
  });
  response.end(bytes);
}
