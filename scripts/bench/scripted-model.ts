import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Fields, fieldsOf, type ModelDialect } from './model-dialect.ts';
import { chatCompletions } from './model-dialect-chat.ts';
import { demoScript, type ModelAnswer, type ModelScript, type ModelTurn } from './scripted-agent.ts';

/**
 * A language model that is a script: a server on loopback, so that an agent's own loop can be shown and tested
 * with no account and no network. It is part of the demo and of the tests, never of the product, and every text
 * that it gives says what it is.
 */

export interface ScriptedModelOptions {
  /** 0 (default) takes a free one. */
  readonly port?: number;
  /** Default: the demo's phrases. */
  readonly script?: ModelScript;
  /** Wire formats that it speaks; default: OpenAI's chat completions. */
  readonly dialects?: readonly ModelDialect[];
}

export interface ScriptedModel {
  /** Base address for an OpenAI client, with `/v1`. */
  readonly url: string;
  /** The turns that were asked for, oldest first; the last 500 are kept. */
  readonly requests: readonly ModelTurn[];
  close(): Promise<void>;
}

/** An agent's turn with 60 tool schemas is about 100 kB; this leaves room for a long conversation. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const MAX_REQUESTS = 500;

/** Starts the model. Rejects when the port is taken. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const requests: ModelTurn[] = [];
  const script = options.script ?? demoScript;
  const answer: ModelScript = (turn) => {
    requests.push(turn);
    if (requests.length > MAX_REQUESTS) requests.shift();
    return script(turn);
  };
  const dialects = options.dialects ?? [chatCompletions];
  const server = createServer((request, response) => {
    handle(request, response, { dialects, answer }).catch((error: unknown) => fail(response, 500, messageOf(error)));
  });
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, close: () => close(server) };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

interface Speaker {
  readonly dialects: readonly ModelDialect[];
  readonly answer: ModelScript;
}

async function handle(request: IncomingMessage, response: ServerResponse, { dialects, answer }: Speaker): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const route = `${request.method} ${pathname}`;
  const models = dialects.find((dialect) => dialect.models !== undefined)?.models;
  if (route === 'GET /v1/models' && models !== undefined) return sendJson(response, 200, models);
  const dialect = request.method === 'POST' ? dialects.find(({ path }) => path.test(pathname)) : undefined;
  if (dialect === undefined) return fail(response, 404, `there is no \`${route}\` here`);
  const text = await readBody(request);
  if (text === undefined) return fail(response, 413, `the request is larger than ${MAX_BODY_BYTES} bytes`);
  const asked = parsed(text, dialect);
  if (typeof asked === 'string') return fail(response, 400, asked);
  const said = offeredOnly(asked.turn, await answer(asked.turn));
  if (dialect.streams(asked.body, pathname)) return sendStream(response, dialect.events(said, asked.body));
  sendJson(response, 200, dialect.whole(said, asked.body));
}

/** A text: why it cannot be understood. */
function parsed(text: string, dialect: ModelDialect): { readonly body: Fields; readonly turn: ModelTurn } | string {
  let body: Fields;
  try {
    body = fieldsOf(JSON.parse(text));
  } catch {
    return 'the request is not JSON';
  }
  const turn = dialect.turn(body);
  return typeof turn === 'string' ? turn : { body, turn };
}

/** Undefined when the body is too large; the rest of it is read and thrown away, so that the answer gets through. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks).toString('utf8');
}

/** A model may only call what it was offered: anything else would be an error of the caller's that looks like ours. */
function offeredOnly(turn: ModelTurn, answer: ModelAnswer): ModelAnswer {
  if ('text' in answer || turn.tools.some((tool) => tool.name === answer.tool)) return answer;
  return {
    text: `I am a scripted demo model. I would call the tool \`${answer.tool}\` now, but this chat does not offer it to me. Is the Banksman extension enabled, and are its tools switched on in the tool picker?`,
  };
}

/** Server-sent events; one that has a `type` is named by it, as the formats want that have one. */
function sendStream(response: ServerResponse, events: readonly (Fields | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  for (const event of events) {
    const name = typeof event === 'object' && typeof event.type === 'string' ? `event: ${event.type}\n` : '';
    response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}

function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  sendJson(response, status, { error: { message, type: 'invalid_request_error' } });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
