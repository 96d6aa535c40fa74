/** An HTTP answer that refuses, in the form that MCP clients read: a JSON-RPC error without an id. */
import type { ServerResponse } from 'node:http';

export interface Refusal {
  readonly status: number;
  readonly message: string;
  /** JSON-RPC error code; -32000 is the transport's own. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The rest of the request was not read: the connection cannot be used again. */
  readonly close?: boolean;
}

export class RefusedRequest extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.name = 'RefusedRequest';
    this.refusal = refusal;
  }
}

export function sendRefusal(response: ServerResponse, { status, message, code, headers, close }: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: code ?? -32_000, message }, id: null });
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    ...(close ? { connection: 'close' } : {}),
    ...headers,
  });
  response.end(body);
}
