/**
 * Whether a request means this server, and whether a web page sent it. Against DNS rebinding: a page whose name was pointed at
 * 127.0.0.1 still sends its own name as `Host` and its own origin (MCP 2025-11-25, transports, security warning).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { canonicalAddress } from '#kernel/address';

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
