import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { demoScript, type ModelAnswer, type ModelMessage, type ModelScript, type ModelTurn, type OfferedTool } from './scripted-agent.ts';

/**
 * A language model that is a script: an OpenAI-compatible chat-completions server on loopback, so that an
 * agent's own loop can be shown and tested with no account and no network. It is part of the demo and of
 * the tests, never of the product, and every text that it gives says what it is.
 *
 * Wire format: https://platform.openai.com/docs/api-reference/chat (completions, streaming and models).
 */

export interface ScriptedModelOptions {
  /** 0 (default) takes a free one. */
  readonly port?: number;
  /** Default: the demo's phrases. */
  readonly script?: ModelScript;
}

export interface ScriptedModel {
  /** Base address for an OpenAI client, with `/v1`. */
  readonly url: string;
  /** The turns that were asked for, oldest first; the last 500 are kept. */
  readonly requests: readonly ModelTurn[];
  close(): Promise<void>;
}

const MODEL_ID = 'scripted-demo';
/** An agent's turn with 60 tool schemas is about 100 kB; this leaves room for a long conversation. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const MAX_REQUESTS = 500;

/** Starts the model. Rejects when the port is taken. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const requests: ModelTurn[] = [];
  const script = options.script ?? demoScript;
  const answer = (turn: ModelTurn): ModelAnswer => {
    requests.push(turn);
    if (requests.length > MAX_REQUESTS) requests.shift();
    return script(turn);
  };
  const server = createServer((request, response) => {
    handle(request, response, answer).catch((error: unknown) => fail(response, 500, messageOf(error)));
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

async function handle(request: IncomingMessage, response: ServerResponse, answer: ModelScript): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const route = `${request.method} ${pathname}`;
  if (route === 'GET /v1/models') return sendJson(response, 200, modelList());
  if (route !== 'POST /v1/chat/completions') return fail(response, 404, `there is no \`${route}\` here`);
  const body = await readBody(request);
  if (body === undefined) return fail(response, 413, `the request is larger than ${MAX_BODY_BYTES} bytes`);
  const parsed = parseTurn(body);
  if (typeof parsed === 'string') return fail(response, 400, parsed);
  const said = offeredOnly(parsed.turn, answer(parsed.turn));
  if (parsed.stream) return sendStream(response, said);
  sendJson(response, 200, completion(said));
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

type Fields = Readonly<Record<string, unknown>>;

function parseTurn(body: string): { turn: ModelTurn; stream: boolean } | string {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return 'the request is not JSON';
  }
  const fields = fieldsOf(json);
  if (!Array.isArray(fields.messages)) return '`messages` must be a list';
  const turn = {
    ...(typeof fields.model === 'string' ? { model: fields.model } : {}),
    tools: listOf(fields.tools)
      .map(toTool)
      .filter((tool) => tool.name !== ''),
    messages: listOf(fields.messages).map(toMessage),
  };
  return { turn, stream: fields.stream === true };
}

function toTool(value: unknown): OfferedTool {
  const declared = fieldsOf(fieldsOf(value).function);
  const schema = fieldsOf(declared.parameters);
  return {
    name: textOf(declared.name),
    parameters: Object.keys(fieldsOf(schema.properties)),
    required: listOf(schema.required).map(textOf),
  };
}

function toMessage(value: unknown): ModelMessage {
  const fields = fieldsOf(value);
  const calls = listOf(fields.tool_calls).map((call) => textOf(fieldsOf(fieldsOf(call).function).name));
  return { role: textOf(fields.role), content: contentOf(fields.content), calls };
}

/** Content is a string, or a list of parts of which only the text ones count. */
function contentOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return listOf(value)
    .map((part) => textOf(fieldsOf(part).text))
    .join('\n');
}

/** A model may only call what it was offered: anything else would be an error of the caller's that looks like ours. */
function offeredOnly(turn: ModelTurn, answer: ModelAnswer): ModelAnswer {
  if ('text' in answer || turn.tools.some((tool) => tool.name === answer.tool)) return answer;
  return {
    text: `I am a scripted demo model. I would call the tool \`${answer.tool}\` now, but this chat does not offer it to me. Is the Banksman extension enabled, and are its tools switched on in the tool picker?`,
  };
}

function sendStream(response: ServerResponse, answer: ModelAnswer): void {
  const id = completionId();
  const send = (fields: Fields): boolean =>
    response.write(`data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: now(), model: MODEL_ID, ...fields })}\n\n`);
  const delta = (content: Fields, reason: string | null): boolean =>
    send({ choices: [{ index: 0, delta: content, finish_reason: reason }] });
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  delta({ role: 'assistant', content: '' }, null);
  if ('text' in answer) delta({ content: answer.text }, null);
  else delta({ tool_calls: [{ index: 0, ...toolCall(answer) }] }, null);
  delta({}, finishReason(answer));
  send({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

function completion(answer: ModelAnswer): Fields {
  const message =
    'text' in answer ? { role: 'assistant', content: answer.text } : { role: 'assistant', content: null, tool_calls: [toolCall(answer)] };
  const choice = { index: 0, message, finish_reason: finishReason(answer) };
  return { id: completionId(), object: 'chat.completion', created: now(), model: MODEL_ID, choices: [choice], usage: USAGE };
}

/** Nothing is counted: no client of the demo pays by the token. */
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function toolCall(answer: { tool: string; args: Fields }): Fields {
  return { id: `call_${randomHex()}`, type: 'function', function: { name: answer.tool, arguments: JSON.stringify(answer.args) } };
}

function finishReason(answer: ModelAnswer): string {
  return 'text' in answer ? 'stop' : 'tool_calls';
}

function modelList(): Fields {
  return { object: 'list', data: [{ id: MODEL_ID, object: 'model', created: 0, owned_by: 'banksman-demo' }] };
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

function completionId(): string {
  return `chatcmpl-${randomHex()}`;
}

function randomHex(): string {
  return globalThis.crypto.randomUUID().replaceAll('-', '').slice(0, 12);
}

/** Seconds, as the format wants. */
function now(): number {
  return Math.floor(Date.now() / 1000);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
