/** Who asks: a token, or a ticket with its CSRF token. Refusals are 401 with an empty body (`PVE/HTTPServer.pm` auth_handler). */
import type { IncomingMessage } from 'node:http';
import type { Cluster } from './cluster.ts';
import { HttpError, percentDecode } from './http-request.ts';

export interface Identity {
  /** Undefined where the method needs no login. */
  readonly user: string | undefined;
  readonly byToken: boolean;
}

/** @throws {HttpError} 401 */
export function authenticate(cluster: Cluster, request: IncomingMessage, path: string): Identity {
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
