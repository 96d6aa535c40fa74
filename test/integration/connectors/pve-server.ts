/** Small real HTTPS servers in the place of a Proxmox VE node, for what the emulator cannot do: count, hang, reset and lie. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createProxmoxClient, type ProxmoxClient, type ProxmoxClientOptions } from '#connectors/proxmox/create-proxmox-client';
import { type Certificate, createAuthority } from '#demo/certificate';
import { systemClock } from '#execution/deadline';
import type { Log } from '#kernel/ports/log';

export const authority = createAuthority('Test CA', Date.now());
export const tokenId = 'jarvis@pve!ops';
export const secret = '0b1f6b0e-5a52-4c34-9f0a-3c1a3f1d7a11';
export const never = new AbortController().signal;

export interface SeenRequest {
  readonly method: string;
  /** With query, `/api2/json` included. */
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

export interface PveServer {
  readonly url: string;
  readonly certificate: Certificate;
  readonly seen: SeenRequest[];
  /** Sockets that are open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** Handshakes completed so far. */
  connections(): number;
  readonly server: Server;
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, seen: SeenRequest) => void;

export interface ServerOptions {
  readonly host?: string;
  readonly port?: number;
  readonly certificate?: Certificate;
}

export async function startPve(handler: Handler, options: ServerOptions = {}): Promise<PveServer> {
  const host = options.host ?? '127.0.0.1';
  const certificate = options.certificate ?? authority.issue('pve', ['localhost'], [host]);
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let total = 0;
  const server = createServer({ cert: certificate.certificatePem, key: certificate.privateKeyPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = {
        method: request.method ?? '',
        path: request.url ?? '',
        authorization: request.headers.authorization,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      seen.push(one);
      handler(request, response, one);
    });
  });
  server.on('secureConnection', (socket: Socket) => {
    total++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://${host}:${port}`,
    certificate,
    seen,
    sockets,
    connections: () => total,
    server,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Speaks TLS and counts what it is sent after the handshake; never answers. */
export async function startTlsCounter(certificate: Certificate, host = '127.0.0.1') {
  let bytes = 0;
  const server = createTlsServer({ cert: certificate.certificatePem, key: certificate.privateKeyPem }, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.on('error', () => undefined);
  });
  let connections = 0;
  server.on('connection', () => {
    connections++;
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    connections: () => connections,
    /** Once every connection has ended: all that was sent has been seen by then. */
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** A success as the API writes it. */
export function data(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json;charset=UTF-8' });
  response.end(JSON.stringify({ data: value }));
}

/** An error as the API writes it: the text in the status line, too. */
export function failure(response: ServerResponse, status: number, text: string, errors?: Record<string, string>): void {
  response.writeHead(status, text, { 'content-type': 'application/json;charset=UTF-8', connection: 'close' });
  response.end(status === 401 || status >= 595 ? '' : JSON.stringify({ data: null, message: `${text}\n`, ...(errors ? { errors } : {}) }));
}

/** A port that nothing listens on. */
export async function closedPort(host = '127.0.0.1'): Promise<string> {
  const server = await startPve(() => undefined, { host });
  await server.close();
  return server.url;
}

export function memoryLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const add = (line: string) => void lines.push(line);
  return { lines, debug: add, info: add, warn: add, error: add };
}

export function clientOf(servers: readonly { readonly url: string }[], options: Partial<ProxmoxClientOptions> = {}): ProxmoxClient {
  return createProxmoxClient({
    name: 'lab',
    endpoints: servers.map((server) => server.url),
    tokenId,
    token: () => Promise.resolve(secret),
    tls: { kind: 'ca', pem: authority.certificatePem },
    timeoutMs: 15_000,
    clock: systemClock,
    log: memoryLog(),
    ...options,
  });
}
