/** IP addresses in one canonical form, so that a protected address holds whatever way it is spelled. */

const ipv6Brackets = /^\[([0-9a-f:.]+)\]$/;
const mappedIpv4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;
const dottedIpv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * The canonical text of an IP address, or undefined where `text` is not one.
 * Goes through the WHATWG URL host parser, which knows every IPv4 spelling that resolvers accept (`0xC0A8013D`, `3232235837`,
 * `192.168.1.075` as octal) and RFC 5952 for IPv6; an IPv4-mapped IPv6 address becomes the IPv4 one. Zone ids and prefix lengths are cut off.
 */
export function canonicalAddress(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[|\]$/g, '')
    .replace(/%.*$/, '')
    .replace(/\/\d{1,3}$/, '')
    .replace(/\.$/, '');
  if (!/^[0-9a-fx:.]+$/i.test(bare)) return undefined;
  const host = parseHost(bare.includes(':') ? `[${bare}]` : bare);
  if (host === undefined) return undefined;
  const ipv6 = ipv6Brackets.exec(host)?.[1];
  if (ipv6 === undefined) return dottedIpv4.test(host) ? host : undefined;
  return unmapIpv4(ipv6);
}

function parseHost(host: string): string | undefined {
  return URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : undefined;
}

function unmapIpv4(ipv6: string): string {
  const match = mappedIpv4.exec(ipv6);
  if (!match) return ipv6;
  const [high, low] = [Number.parseInt(match[1] ?? '', 16), Number.parseInt(match[2] ?? '', 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
