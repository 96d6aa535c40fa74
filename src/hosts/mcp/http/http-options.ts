/** What the HTTP endpoint is given. */
import type { McpServer, Server, ServerEventBus } from '@modelcontextprotocol/server';
import type { McpToken } from '#app/people/mcp-tokens';
import type { Log } from '#kernel/ports/log';
import type { Caller } from '../call-tool.ts';

/** Ceilings. Each holds by itself; a request that meets one is answered with 413, 429 or 503, never queued. */
export interface HttpLimits {
  /** Longest request body, in bytes. */
  readonly bodyBytes: number;
  /** Most messages in one body (batches exist in 2025-03-26). */
  readonly batchMessages: number;
  /** Requests being answered at once, of all clients and of one token. */
  readonly requestsAtOnce: number;
  readonly requestsAtOncePerToken: number;
  /** Messages a second and at once, per token. */
  readonly messagesPerSecond: number;
  readonly messageBurst: number;
  /** Wrong or missing tokens a minute and at once, per remote address. */
  readonly refusalsPerMinute: number;
  readonly refusalBurst: number;
  readonly sessions: number;
  readonly sessionsPerToken: number;
  /** A session with no request for so long is closed, in ms; one with a stream open is in use. */
  readonly sessionIdleMs: number;
  /** How often idle sessions and revoked tokens are looked for, in ms. */
  readonly sweepMs: number;
}

export const defaultLimits: HttpLimits = {
  bodyBytes: 4 * 1024 * 1024,
  batchMessages: 32,
  requestsAtOnce: 256,
  requestsAtOncePerToken: 32,
  messagesPerSecond: 50,
  messageBurst: 200,
  refusalsPerMinute: 30,
  refusalBurst: 10,
  sessions: 256,
  sessionsPerToken: 16,
  sessionIdleMs: 30 * 60_000,
  sweepMs: 15_000,
};

/** PEM. */
export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface Authentication {
  /** The token behind a bearer string; undefined lets nobody in. */
  check(bearer: string): Promise<McpToken | undefined>;
  /** Whether it still counts. */
  isLive(token: McpToken): Promise<boolean>;
}

/** Either class of the protocol's package; the product uses the lower one. */
export type ProtocolServer = Server | McpServer;

export interface HttpOptions {
  /** An IP address, or `localhost`. Beyond loopback only with `tls` or `privateNetwork`. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly tls?: TlsFiles;
  /** Without TLS beyond loopback: whoever is on that network is trusted to read along. Peers with a public address are refused. */
  readonly privateNetwork?: boolean;
  /** The legacy transport of 2024-11-05 at `/sse` and `/messages`. */
  readonly sse: boolean;
  /** Names that clients may use for this server besides its own address and the loopback names. */
  readonly allowedHosts: readonly string[];
  /** Web origins that may call, whole (`https://tool.example`). Empty: only pages of this very server, of which there are none. */
  readonly allowedOrigins: readonly string[];
  readonly limits: HttpLimits;
  readonly authentication: Authentication;
  /** A new protocol server for one session or request. */
  createServer(caller: Caller, era: 'legacy' | 'modern'): ProtocolServer;
  /** Where 2026-07-28 clients' subscriptions hear of changes; absent: one of its own. */
  readonly bus?: ServerEventBus;
  readonly log: Log;
}
