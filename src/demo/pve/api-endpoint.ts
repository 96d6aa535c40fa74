/** The HTTPS server of one node: `pveproxy`. It can go away and come back on the same port, and change its certificate. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Certificate } from '../certificate.ts';
import { startListener } from '../listener.ts';
import { type Cluster, setProxyUp } from './cluster.ts';
import { dispatch } from './dispatch.ts';
import { type ApiEffect, type ApiFaults, replaced, sendSpoiled } from './faults.ts';
import { apiPath, errorReply, HttpError, okReply, percentDecode, type Reply, requestParameters, send } from './http.ts';

export interface ApiEndpoint {
  readonly node: string;
  readonly url: string;
  /** Stops listening and drops all connections. Doing it twice is no error. */
  close(): Promise<void>;
  /** Listens again on the same port. */
  open(): Promise<void>;
  /** New connections get this certificate; open ones are dropped. */
  useCertificate(certificate: Certificate): void;
}

export interface EndpointOptions {
  readonly cluster: Cluster;
  readonly node: string;
  readonly certificate: Certificate;
  readonly faults: ApiFaults;
  /** Tried in turn where the machine does not have one (macOS has no 127.0.0.2). */
  readonly addresses: readonly string[];
  /** 0: any free one. */
  readonly port: number;
}

const idleMs = 5000;

/** Starts the endpoint. Rejects with `EADDRINUSE` when the port is taken. */
export async function startApiEndpoint(options: EndpointOptions): Promise<ApiEndpoint> {
  const { node, certificate } = options;
  const server = createServer(
    { key: certificate.privateKeyPem, cert: certificate.certificatePem, ALPNProtocols: ['http/1.1'] },
    (request, response) => {
      answer(options, request, response).catch(() => response.destroy());
    },
  );
  server.keepAliveTimeout = idleMs;
  const { addresses, port } = options;
  const listener = await startListener(server, { addresses, port, dropConnections: () => server.closeAllConnections() });
  return {
    node,
    url: `https://${listener.address}:${listener.port}`,
    close: listener.close,
    open: listener.open,
    useCertificate(next) {
      server.setSecureContext({ key: next.privateKeyPem, cert: next.certificatePem });
      server.closeAllConnections();
    },
  };
}

async function answer(options: EndpointOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.once('error', () => response.destroy());
  const path = safePath(request);
  const effect = options.faults.strike(request.method ?? '', path, options.node);
  if (effect !== undefined && changesWorld(options, request, effect)) return void response.destroy();
  const instead = replaced(effect);
  if (instead === 'hang') return;
  if (instead !== undefined) return send(request, response, instead);
  const reply = await handle(options, request);
  if (effect !== undefined) return sendSpoiled(request, response, reply, effect);
  send(request, response, reply);
}

/** Lets a proxy die or a token go before the request is looked at. @returns whether it was the asked proxy that died */
function changesWorld({ cluster, node }: EndpointOptions, request: IncomingMessage, effect: ApiEffect): boolean {
  if (effect.kind === 'token-revoked') revoke(cluster, request);
  if (effect.kind !== 'proxy-dies') return false;
  setProxyUp(cluster, effect.node ?? node, false);
  return (effect.node ?? node) === node;
}

function revoke(cluster: Cluster, request: IncomingMessage): void {
  const { user } = authenticate(cluster, request, safePath(request));
  if (user !== undefined) cluster.access.revokeToken(user);
}

function safePath(request: IncomingMessage): string {
  try {
    return apiPath(request);
  } catch {
    return request.url ?? '';
  }
}

async function handle({ cluster, node }: EndpointOptions, request: IncomingMessage): Promise<Reply> {
  try {
    const path = apiPath(request);
    const identity = authenticate(cluster, request, path);
    const parameters = await requestParameters(request);
    return okReply(dispatch(cluster, { verb: request.method ?? '', path, parameters, node, ...identity }));
  } catch (thrown) {
    return knownOrBug(thrown);
  }
}

/** A bug of the emulator is answered as PVE would answer one of its own, and never ends the process that hosts the demo. */
function knownOrBug(thrown: unknown): Reply {
  try {
    return errorReply(thrown);
  } catch {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    return errorReply(new HttpError(500, `internal error: ${text}`));
  }
}

interface Identity {
  /** Undefined where the method needs no login. */
  readonly user: string | undefined;
  readonly byToken: boolean;
}

/** @throws {HttpError} 401 */
function authenticate(cluster: Cluster, request: IncomingMessage, path: string): Identity {
  const ticket = ticketOf(request);
  const token = ticket === undefined ? tokenOf(request) : undefined;
  if (path === '/access/ticket' && request.method === 'POST') return { user: undefined, byToken: token !== undefined };
  if (ticket !== undefined) return byTicket(cluster, request, ticket);
  if (token === undefined) throw new HttpError(401, 'No ticket', '');
  const user = cluster.access.verifyToken(token, cluster.clock.now());
  if (user === undefined) throw new HttpError(401, 'Authentication failed!', '');
  return { user, byToken: true };
}

function ticketOf(request: IncomingMessage): string | undefined {
  const value = /(?:^|;\s*)PVEAuthCookie=([^;]*)/.exec(request.headers.cookie ?? '')?.[1];
  return value === undefined || value === '' ? undefined : percentDecode(value);
}

function tokenOf(request: IncomingMessage): string | undefined {
  const value = /(?:^|\s)PVEAPIToken=([^;\s]*)/.exec(request.headers.authorization ?? '')?.[1];
  return value === undefined || value === '' ? undefined : percentDecode(value);
}

function byTicket(cluster: Cluster, request: IncomingMessage, ticket: string): Identity {
  const user = cluster.tickets.userOf(ticket);
  if (user === undefined) throw new HttpError(401, 'Authentication failed!', '');
  const csrfToken = request.headers['csrfpreventiontoken'];
  if (request.method !== 'GET' && !cluster.tickets.csrfTokenFits(ticket, typeof csrfToken === 'string' ? csrfToken : undefined)) {
    throw new HttpError(401, 'Permission denied - invalid csrf token', '');
  }
  return { user, byToken: false };
}
