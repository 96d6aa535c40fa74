/**
 * TLS connections to Proxmox VE whose peer is verified before the first byte of HTTP is written.
 * Own connectors rather than `node:https` agents: the editor's proxy layer replaces an `agent` (and with it pins and CAs) for every host
 * but loopback, so that verification would pass in tests and be ignored on real hosts.
 */

import { once } from 'node:events';
import { isIP } from 'node:net';
import * as tls from 'node:tls';
import { buildConnector } from 'undici';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { PinMismatch, readFailure } from './transport-failure.ts';

type Connector = ReturnType<typeof buildConnector>;

/** How the servers of one cluster are recognised. There is no "off". */
export type TlsTrust =
  | { readonly kind: 'system' }
  | { readonly kind: 'ca'; readonly pem: string }
  | {
      readonly kind: 'pin';
      /** SHA-256 of the certificate, 32 hex pairs with colons: one, or one per endpoint URL. */
      readonly fingerprint: string | Readonly<Record<string, string>>;
    };

/** What decides about a presented certificate in `pin` mode. */
export interface PinCheck {
  accepts(origin: string, fingerprint: string): boolean;
  /** What was wanted, for the refusal. */
  expected(origin: string): string;
}

/** Options that keep one request's trust from serving another's: no session reuse, HTTP/1.1 only. */
const isolated = { allowH2: false, maxCachedSessions: 0 } as const;

/** A connector for certificates that a CA vouches for, host name or address included (RFC 9525, by `node:tls`). */
export function caConnector(trust: TlsTrust & { kind: 'system' | 'ca' }, timeoutMs: number): Connector {
  const secureContext = tls.createSecureContext({ ca: trust.kind === 'ca' ? trust.pem : systemCertificates() });
  return buildConnector({ ...isolated, timeout: timeoutMs, secureContext, rejectUnauthorized: true });
}

/** Node's bundled list and what the operating system trusts; `default` alone would leave a company's own CA out. */
function systemCertificates(): string[] {
  return [...new Set([...tls.getCACertificates('default'), ...storeCertificates()])];
}

/** Without a store that can be read, fewer are trusted: that refuses, it never lets in. */
function storeCertificates(): readonly string[] {
  try {
    return tls.getCACertificates('system');
  } catch {
    return [];
  }
}

/** A connector for a certificate known by its fingerprint; who signed it, its name and its dates do not matter. */
export function pinConnector(origin: string, pins: PinCheck, timeoutMs: number): Connector {
  // SECURITY: verification by CA is replaced, not dropped: the socket is handed on only after the comparison below.
  // No CA is asked, so none is loaded: Node's own list alone takes longer than the handshake.
  const secureContext = tls.createSecureContext({ ca: [] });
  const connect = buildConnector({ ...isolated, timeout: timeoutMs, secureContext, rejectUnauthorized: false });
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error) return callback(error, null);
      const got = presentedFingerprint(socket);
      if (got !== undefined && pins.accepts(origin, got)) return callback(null, socket);
      socket.destroy();
      callback(new PinMismatch(pins.expected(origin), got ?? 'none'), null);
    });
}

function presentedFingerprint(socket: unknown): string | undefined {
  return socket instanceof tls.TLSSocket ? socket.getPeerX509Certificate()?.fingerprint256 : undefined;
}

export interface SeenCertificate {
  /** SHA-256, 32 hex pairs with colons. */
  readonly fingerprint: string;
  /** Lines of `CN=…`, as whoever made it wrote them. */
  readonly subject: string;
  readonly issuer: string;
  /** `Nov 27 00:00:00 2027 GMT` */
  readonly validTo: string;
  /** A public authority vouches for it and for this name: a pin would only break when it is renewed. */
  readonly isPublic: boolean;
}

/** By what happened; the port is that of Proxmox VE in the usual case. */
const reachNext: Readonly<Record<string, string>> = {
  'its name cannot be resolved': 'check the spelling, or write the node’s IP address instead of its name',
  'its name cannot be resolved now': 'the name server does not answer: try again, or write the node’s IP address',
  'connection refused': 'something is there, but nothing listens on that port: Proxmox VE’s is 8006, and its service is `pveproxy`',
  'no route to the host': 'check the address, and that this machine has a way there (VPN, VLAN, firewall)',
  'network unreachable': 'check the address, and that this machine has a way there (VPN, VLAN, firewall)',
  'no TLS is spoken there': 'what listens there is no web interface of Proxmox VE: its port is 8006',
};
const usualNext = 'check the address and that Proxmox VE answers there (its port is 8006), and that no firewall is in between';

/**
 * What an endpoint presents, for a person to compare with the node's own.
 * SECURITY: unverified, so nothing is sent and the connection ends here. @throws {Fault} `unreachable`
 */
export async function lookAtCertificate(endpoint: string, signal: AbortSignal): Promise<SeenCertificate> {
  const { hostname, port } = new URL(endpoint);
  const host = hostname.replace(/^\[|\]$/g, '');
  // RFC 6066 §3: an address is no server name.
  const servername = isIP(host) === 0 ? host : '';
  const socket = tls.connect({ host, port: Number(port || 443), servername, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal });
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('no certificate was presented');
    const { fingerprint256: fingerprint, subject, issuer, validTo } = certificate;
    return { fingerprint, subject, issuer, validTo, isPublic: socket.authorized };
  } catch (cause) {
    const why = signal.aborted ? 'no answer in time' : readFailure(cause, false).message;
    const next = reachNext[why] ?? usualNext;
    throw new Fault('unreachable', say`${endpoint} shows no certificate: ${why}`, { audience: 'user', next, cause });
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}
