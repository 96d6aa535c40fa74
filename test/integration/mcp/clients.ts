/** Clients of both protocol eras. The older one is another code base than what the server is built on. */
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Outcome } from '#kernel/outcome';
import { type Machine, program } from './support.ts';

/** What a test needs of a client, whichever it is. */
export interface TestClient {
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<{ readonly [key: string]: unknown }>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  close(): Promise<void>;
}

export interface CallAnswer {
  readonly outcome: Outcome;
  readonly isError: boolean;
  readonly text: string;
}

/** Calls a tool and checks the forms of its answer: one whole text, and the same as structure unless it is an error. */
export async function callTool(client: TestClient, name: string, input: Record<string, unknown> = {}): Promise<CallAnswer> {
  const { content, structuredContent, isError = false } = await client.callTool({ name, arguments: input });
  const [{ text } = { text: '' }, ...more] = content as { text: string }[];
  const same = isError === true ? undefined : text;
  if (more.length > 0 || JSON.stringify(structuredContent) !== same)
    throw new Error(`text and structure: ${text}, ${JSON.stringify(structuredContent)}`);
  return { outcome: JSON.parse(text) as Outcome, isError: isError === true, text };
}

export interface StdioConnection<Client> {
  readonly client: Client;
  readonly pid: number;
  /** Everything on stderr so far. */
  said(): string;
}

interface StdioParameters {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly stderr: 'pipe';
}

function stdioParameters(machine: Pick<Machine, 'env' | 'config'>): StdioParameters {
  const env = Object.fromEntries(Object.entries(machine.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
  return { command: process.execPath, args: [program, 'mcp', ...machine.config], env, stderr: 'pipe' };
}

type OldOptions = ConstructorParameters<typeof OldClient>[1];
type NewOptions = ConstructorParameters<typeof NewClient>[1];

/** 2025-11-25 over stdio. `prepare` may register handlers before the client connects. */
export async function oldOverStdio(
  machine: Pick<Machine, 'env' | 'config'>,
  options: OldOptions = {},
  prepare: (client: OldClient) => void = () => undefined,
): Promise<StdioConnection<OldClient>> {
  const client = new OldClient({ name: 'old-client', version: '1.2.3' }, options);
  prepare(client);
  const transport = new OldStdio(stdioParameters(machine));
  const said = collect(transport.stderr);
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0, said };
}

/** 2026-07-28 over stdio. */
export async function newOverStdio(
  machine: Pick<Machine, 'env' | 'config'>,
  options: NewOptions = {},
  prepare: (client: NewClient) => void = () => undefined,
): Promise<StdioConnection<NewClient>> {
  const client = new NewClient({ name: 'new-client', version: '2.0.0' }, { ...options, versionNegotiation: { mode: 'auto' } });
  prepare(client);
  const transport = new NewStdio(stdioParameters(machine));
  const said = collect(transport.stderr);
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0, said };
}

function collect(stream: unknown): () => string {
  let said = '';
  (stream as NodeJS.ReadableStream).on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  return () => said;
}

export async function oldOverHttp(url: string, token: string, options: OldOptions = {}): Promise<OldClient> {
  const client = new OldClient({ name: 'old-client', version: '1.2.3' }, options);
  await client.connect(new OldHttp(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
  return client;
}

export async function oldOverSse(url: string, token: string): Promise<OldClient> {
  const client = new OldClient({ name: 'old-client', version: '1.2.3' });
  const headers = { authorization: `Bearer ${token}` };
  const withToken: typeof fetch = (input, init) => {
    const all = new Headers(init?.headers);
    all.set('authorization', headers.authorization);
    return fetch(input, { ...init, headers: all });
  };
  await client.connect(new SSEClientTransport(new URL(url), { requestInit: { headers }, eventSourceInit: { fetch: withToken } }));
  return client;
}

export async function newOverHttp(url: string, token: string, options: NewOptions = {}): Promise<NewClient> {
  const client = new NewClient({ name: 'new-client', version: '2.0.0' }, { ...options, versionNegotiation: { mode: 'auto' } });
  await client.connect(new NewHttp(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
  return client;
}
