/** Who may come in, and how much: everything before a request reaches the protocol. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { McpToken } from '#app/people/mcp-tokens';
import { canonicalAddress } from '#kernel/address';
import { createRateLimit, createSlots } from '#kernel/rate-limit';
import type { HttpOptions } from './http-options.ts';
import { RefusedRequest } from './refusal.ts';

type Phase = 'reading' | 'answering';

export interface Gatekeeper {
  /** Who is at the other end, host and origin. @throws {RefusedRequest} 403 */
  checkAddress(request: IncomingMessage): void;
  /** @throws {RefusedRequest} 401, or 429 for an address that keeps presenting wrong tokens */
  identify(request: IncomingMessage): Promise<McpToken>;
  /** Counts `messages` against the token. @throws {RefusedRequest} 429 */
  countMessages(token: McpToken, messages: number): void;
  /**
   * A slot for a request whose body is being read, or that is being answered; returns its release. Counted apart, so that who has all
   * answers pending can still cancel. @throws {RefusedRequest} 503
   */
  enter(token: McpToken, phase: Phase): () => void;
  sweep(): void;
}

export function createGatekeeper(options: HttpOptions): Gatekeeper {
  const { limits } = options;
  const guard = createAddressGuard({ boundHost: options.host, ...options });
  const scheme = options.tls === undefined ? 'http' : 'https';
  const refusals = createRateLimit(limits.refusalsPerMinute / 60, limits.refusalBurst);
  const messages = createRateLimit(limits.messagesPerSecond, limits.messageBurst);
  const newSlots = () => createSlots(limits.requestsAtOnce, limits.requestsAtOncePerToken);
  const slots = { reading: newSlots(), answering: newSlots() };
  return {
    checkAddress: (request) => {
      if (options.privateNetwork === true && !isPrivateAddress(request.socket.remoteAddress)) throw fromOutside();
      checkAddress(request, guard, scheme);
    },
    identify: async (request) => {
      const address = request.socket.remoteAddress ?? 'unknown';
      const bearer = bearerOf(request.headers);
      const token = bearer === undefined ? undefined : await options.authentication.check(bearer);
      // A right token always gets in: whoever shares its address with an attacker (a tunnel, the same machine) is not locked out.
      if (token !== undefined) return token;
      const seconds = refusals.take(address, 1);
      if (seconds > 0) throw tooMany('too many requests without a valid token from this address', seconds);
      throw new RefusedRequest({
        status: 401,
        message: 'a valid bearer token is needed: a person makes one with `banksman tokens create NAME`',
        headers: { 'www-authenticate': 'Bearer realm="banksman"' },
        close: true,
      });
    },
    countMessages: (token, count) => {
      const seconds = messages.take(token.name, count);
      if (seconds > 0) throw tooMany('too many messages: slow down', seconds);
    },
    enter: (token, phase) => {
      const release = slots[phase].take(token.name);
      if (release !== undefined) return release;
      throw new RefusedRequest({
        status: 503,
        message: 'too many requests under way; wait for some to end',
        headers: { 'retry-after': '1' },
      });
    },
    sweep: () => {
      refusals.sweep();
      messages.sweep();
    },
  };
}

function checkAddress(request: IncomingMessage, guard: AddressGuard, scheme: 'http' | 'https'): void {
  if (!guard.isOwnHost(request.rawHeaders)) {
    throw new RefusedRequest({
      status: 403,
      message: 'the `Host` header names another server; allow a name with --allow-host',
      close: true,
    });
  }
  if (!guard.isAllowedOrigin(request.headers, scheme)) {
    throw new RefusedRequest({
      status: 403,
      message: 'requests from this web origin are refused; allow one with --allow-origin',
      close: true,
    });
  }
}

function fromOutside(): RefusedRequest {
  return new RefusedRequest({ status: 403, message: 'only addresses of a private network are answered here without TLS', close: true });
}

function tooMany(message: string, seconds: number): RefusedRequest {
  return new RefusedRequest({ status: 429, message, headers: { 'retry-after': String(seconds) }, close: true });
}

/** The bearer token of a request (RFC 6750 §2.1). Never from the query: addresses end up in logs and histories. */
function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer ([A-Za-z0-9._~+/-]{1,200}=*)$/i.exec(authorization ?? '')?.[1];
}

// Whether a request means this server, and whether a web page sent it. Against DNS rebinding: a page whose name was pointed at
// 127.0.0.1 still sends its own name as `Host` and its own origin (MCP 2025-11-25, transports, security warning).

export interface AddressGuard {
  /** Exactly one `Host` header, with a name of this server; any port, since a tunnel may end elsewhere. */
  isOwnHost(rawHeaders: readonly string[]): boolean;
  /** No `Origin` (no browser), the server's own, or an allowed one. */
  isAllowedOrigin(headers: IncomingHttpHeaders, scheme: 'http' | 'https'): boolean;
}

export interface AddressGuardOptions {
  readonly boundHost: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

export function createAddressGuard({ boundHost, allowedHosts, allowedOrigins }: AddressGuardOptions): AddressGuard {
  const bound = hostName(boundHost.includes(':') && !boundHost.startsWith('[') ? `[${boundHost}]` : boundHost);
  // An unspecified address is no name of a server.
  const own = bound === undefined || ['0.0.0.0', '[::]'].includes(bound) ? [] : [bound];
  const hosts = new Set([...loopbackNames, ...own, ...allowedHosts.map((name) => name.toLowerCase())]);
  const origins = new Set(allowedOrigins);
  return {
    isOwnHost: (rawHeaders) => {
      const values = valuesOf(rawHeaders, 'host');
      const name = values.length === 1 ? hostName(values[0] ?? '') : undefined;
      return name !== undefined && hosts.has(name);
    },
    isAllowedOrigin: ({ origin, host }, scheme) =>
      origin === undefined || origins.has(origin) || (host !== undefined && origin === `${scheme}://${host}`),
  };
}

/** `name[:port]` without its port, lower case; undefined for anything else (user info, path, another spelling of an address). */
function hostName(value: string): string | undefined {
  const name = /^([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.exec(value)?.[1]?.toLowerCase();
  if (name === undefined) return undefined;
  // `2130706433` and `0x7f.1` are 127.0.0.1 to a resolver. Nobody writes them in good faith.
  const address = canonicalAddress(name);
  return address === undefined || address === name || `[${address}]` === name ? name : undefined;
}

function valuesOf(rawHeaders: readonly string[], wanted: string): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted);
}

/** What no router of the Internet forwards (RFC 1918, 4193, 3927, 6598), and loopback. */
const privateAddress =
  /^(?:10|127|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.|^f[cd]|^fe[89ab]|^::1$/;

export function isPrivateAddress(address: string | undefined): boolean {
  return privateAddress.test(canonicalAddress(address ?? '') ?? '');
}

/** 127.0.0.0/8, ::1 and `localhost`. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const address = canonicalAddress(host);
  return address === '::1' || (address?.startsWith('127.') ?? false);
}
