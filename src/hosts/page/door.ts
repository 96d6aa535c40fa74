/** Who may come in, and how much: everything before a request reaches the page. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { createRateLimit, createSlots } from '#kernel/rate-limit';
import { english, type Language, type Message, say } from '#kernel/text/message';
import type { PageAddress } from './listen.ts';

/** An answer that refuses; what it says is shown to a person. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly words: Message;

  constructor(status: number, code: string, words: Message) {
    super(english(words));
    this.name = 'Refused';
    this.status = status;
    this.code = code;
    this.words = words;
  }
}

export interface Door {
  /** Host, origin, and what the browser says the request is for. @throws {Refused} */
  check(request: IncomingMessage): void;
  /** Counts one request of its client. @throws {Refused} 429 */
  count(client: string): void;
  /** A slot for a client that listens for changes. @throws {Refused} 429 */
  listen(client: string): () => void;
  sweep(): void;
}

const perSecond = 20;
const burst = 80;
const listeners = 128;
const listenersEach = 8;

export function createDoor({ origin, host }: PageAddress): Door {
  const requests = createRateLimit(perSecond, burst);
  const slots = createSlots(listeners, listenersEach);
  return {
    check: (request) => {
      // SECURITY: against DNS rebinding. A page whose name was pointed at us still sends its own name.
      if (valuesOf(request, 'host').join() !== host) {
        throw new Refused(421, 'other_host', say`this page is at ${origin} and answers under no other name`);
      }
      if (request.method === 'GET' || request.method === 'HEAD') return checkLook(request);
      if (request.method !== 'POST') throw new Refused(405, 'bad_method', say`only GET and POST are answered here`);
      checkAct(request, origin);
    },
    count: (client) => {
      const seconds = requests.take(client, 1);
      if (seconds > 0) throw new Refused(429, 'too_many', say`too many requests: wait ${seconds} s`);
    },
    listen: (client) => {
      const release = slots.take(client);
      if (release === undefined) throw new Refused(429, 'too_many', say`too many windows show this page: close some`);
      return release;
    },
    sweep: () => requests.sweep(),
  };
}

/** Any page may link to this one: what GET gives holds nothing of anybody. But it is no part of another page. */
function checkLook(request: IncomingMessage): void {
  const [site = 'none', mode = 'navigate', dest = 'document'] = ['site', 'mode', 'dest'].map((name) =>
    headerOf(request, `sec-fetch-${name}`),
  );
  if (site === 'same-origin' || site === 'none' || (mode === 'navigate' && dest === 'document')) return;
  throw new Refused(403, 'other_site', say`this page is not shown inside other pages`);
}

/** SECURITY: what acts or reads comes from this very origin, says so twice, and in a form that no form of another page can send. */
function checkAct(request: IncomingMessage, origin: string): void {
  const isOwn = valuesOf(request, 'origin').join() === origin && headerOf(request, 'sec-fetch-site') === 'same-origin';
  if (!isOwn) throw new Refused(403, 'other_origin', say`only ${origin} itself may ask this`);
  if (headerOf(request, 'content-type') !== 'application/json') throw new Refused(415, 'bad_type', say`this takes JSON`);
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const values = valuesOf(request, name);
  return values.length === 0 ? undefined : values.join();
}

/** As sent: Node joins or drops what comes twice. */
function valuesOf({ rawHeaders }: IncomingMessage, wanted: string): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted);
}

const mostBytes = 64 * 1024;

/** @throws {Refused} 400, 408, 413 */
export async function bodyOf(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) throw new Refused(413, 'too_long', say`at most ${mostBytes} bytes are read`);
    chunks.push(chunk);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (isJsonObject(body)) return body;
  } catch {
    // Said below.
  }
  throw new Refused(400, 'bad_json', say`the body must be a JSON object`);
}

/** A text of the body. @throws {Refused} 400 */
export function textIn(body: JsonObject, name: string, longest = 4_000): string {
  const value = body[name];
  if (typeof value === 'string' && value.length <= longest) return value;
  throw new Refused(400, 'bad_body', say`\`${name}\` must be a text of at most ${longest} characters`);
}

/** The same for every answer. SECURITY: nothing is kept, framed, read by or linked with another origin. */
const always = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'permissions-policy':
    'publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=(), usb=(), payment=()',
} as const;

const nothingElse = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** @param nonce of this one document: it allows its style sheet and its script, and nothing else */
export function documentPolicy(nonce: string): string {
  return [
    nothingElse,
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self'",
    "require-trusted-types-for 'script'",
    'trusted-types banksman',
  ].join('; ');
}

export interface Reply {
  readonly status?: number;
  readonly type: string;
  readonly body: string;
  readonly policy?: string;
  /** Of what is in the reader's language. */
  readonly language?: Language;
}

export function send(response: ServerResponse, { status = 200, type, body, policy = nothingElse, language }: Reply): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(status, {
    ...always,
    'content-security-policy': policy,
    'content-type': `${type}; charset=utf-8`,
    'content-length': String(Buffer.byteLength(body)),
    ...(language === undefined ? {} : { 'content-language': language.tag, vary: 'Accept-Language' }),
    // The rest of a refused request is not read.
    ...(status >= 400 ? { connection: 'close' } : {}),
  });
  response.end(body);
}

/** A stream that stays open: one line for each change. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { ...always, 'content-security-policy': nothingElse, 'content-type': 'text/plain; charset=utf-8' });
  response.flushHeaders();
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
