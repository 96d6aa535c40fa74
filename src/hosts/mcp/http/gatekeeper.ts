/** Who may come in, and how much: everything before a request reaches the protocol. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { McpToken } from '#app/people/mcp-tokens';
import { createRateLimit, createSlots } from '#kernel/rate-limit';
import { type AddressGuard, createAddressGuard, isPrivateAddress } from './address-guard.ts';
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
