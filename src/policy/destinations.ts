/**
 * Destination patterns, as `report_block` and the auto-approve rules use them. A pattern that starts with a dot (`.slack.com`) stands for
 * the domain and everything below it; without a dot it stands for exactly that host. Labels are compared whole, so neither
 * `notslack.com` nor `api.slack.com.attacker.net` falls under `.slack.com`.
 */

export interface Destination {
  /** ASCII (punycode), lower case, no trailing dot; an IP address in its canonical form. */
  readonly host: string;
  readonly port?: number;
}

/**
 * A host, `host:port` or URL as a destination; undefined for what is none, or is not plainly one: user names, spaces, empty labels,
 * addresses in odd number formats. IDN is mapped by UTS #46 as browsers do (WHATWG URL).
 */
export function parseDestination(text: string): Destination | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 2_000 || /[\s\\@]/.test(hostPart(trimmed))) return undefined;
  const url = tryUrl(scheme.test(trimmed) ? trimmed : `http://${bracketed(trimmed)}`);
  const host = url === undefined ? undefined : hostOf(url);
  if (url === undefined || host === undefined) return undefined;
  return url.port === '' ? { host } : { host, port: Number(url.port) };
}

const scheme = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Whether the destination falls under the pattern. A pattern with a port asks for that port. */
export function matchesDestination(pattern: string, destination: Destination): boolean {
  const isSuffix = pattern.startsWith('.');
  const wanted = parseDestination(isSuffix ? pattern.slice(1) : pattern);
  if (wanted === undefined || (wanted.port !== undefined && wanted.port !== destination.port)) return false;
  if (destination.host === wanted.host) return true;
  // An address has no domains below it.
  return isSuffix && !isAddress(wanted.host) && destination.host.endsWith(`.${wanted.host}`);
}

function hostPart(text: string): string {
  return text.replace(scheme, '').split(/[/?#]/, 1)[0] ?? '';
}

/** A bare IPv6 address needs brackets in a URL. */
function bracketed(text: string): string {
  return /^[0-9a-f:.]+$/i.test(text) && (text.match(/:/g) ?? []).length > 1 ? `[${text}]` : text;
}

function tryUrl(text: string): URL | undefined {
  try {
    // Only the rules of http map and check the host.
    return new URL(text.replace(scheme, 'http://'));
  } catch {
    return undefined;
  }
}

function hostOf(url: URL): string | undefined {
  const host = url.hostname.toLowerCase().replace(/\.$/, '');
  if (isAddress(host)) return host;
  const labels = host.split('.');
  return labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label)) ? host : undefined;
}

function isAddress(host: string): boolean {
  return host.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host);
}
