/** What went wrong below HTTP, in words, and whether the request can have been acted on. */
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';

/** The peer's certificate is not the pinned one. Nothing was sent to it. */
export class PinMismatch extends Error {
  readonly expected: string;
  readonly got: string;

  constructor(expected: string, got: string) {
    super(`certificate fingerprint ${got} is not the pinned ${expected}`);
    this.name = 'PinMismatch';
    this.expected = expected;
    this.got = got;
  }
}

export type FailureKind =
  /** The peer could not be recognised; never a reason to try elsewhere in silence. */
  | 'pin'
  | 'untrusted'
  /** No answer in time. */
  | 'timeout'
  | 'unreachable'
  /** The connection ended before the answer was complete: also what a kept-alive one does that was closing already. */
  | 'closed'
  /** The answer was larger than we read. */
  | 'too_large'
  /** The caller's signal. */
  | 'cancelled';

/** A request that got no complete answer from one endpoint. */
export class TransportFailure extends Error {
  readonly kind: FailureKind;
  /** False only when provably no byte of the request left. */
  readonly sent: boolean;
  readonly pin: PinMismatch | undefined;

  constructor(kind: FailureKind, message: string, sent: boolean, pin?: PinMismatch) {
    super(message);
    this.name = 'TransportFailure';
    this.kind = kind;
    this.sent = sent;
    this.pin = pin;
  }
}

/** Names of X.509 verification results (OpenSSL `X509_V_ERR_*` without the prefix) and Node's own for a wrong host name. */
const untrustedCodes = [
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

const kinds: ReadonlyMap<string, FailureKind> = new Map<string, FailureKind>([
  ...untrustedCodes.map((code): [string, FailureKind] => [code, 'untrusted']),
  ['ECONNRESET', 'closed'],
  ['EPIPE', 'closed'],
  ['UND_ERR_SOCKET', 'closed'],
  ['ETIMEDOUT', 'timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
  ['UND_ERR_BODY_TIMEOUT', 'timeout'],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'too_large'],
]);

const phrases: Readonly<Record<string, string>> = {
  EAI_AGAIN: 'its name cannot be resolved now',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'its name cannot be resolved',
  EPROTO: 'no TLS is spoken there',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no TLS is spoken there',
  EPIPE: 'connection closed before the request was complete',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped in the middle',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'the answer is larger than what is read',
  UND_ERR_SOCKET: 'connection closed before the answer was complete',
};

/** Any error of undici or the sockets below it, read as a `TransportFailure`. */
export function readFailure(thrown: unknown, sent: boolean): TransportFailure {
  if (thrown instanceof TransportFailure) return thrown;
  if (thrown instanceof PinMismatch) return new TransportFailure('pin', thrown.message, false, thrown);
  const code = errorCode(thrown);
  const kind = kinds.get(code) ?? 'unreachable';
  // An untrusted peer is left before anything is written.
  return kind === 'untrusted' ? new TransportFailure(kind, code, false) : new TransportFailure(kind, phraseOf(code), sent);
}

/** SECURITY: never the error's own text, which may quote what was sent. */
export function phraseOf(code: string): string {
  if (code.startsWith('HPE_')) return 'what came back is not HTTP';
  return phrases[code] ?? `connection failed (${code})`;
}

function errorCode(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  const code = (thrown as NodeJS.ErrnoException).code;
  if (typeof code === 'string') return code;
  return thrown.cause instanceof Error ? errorCode(thrown.cause) : thrown.name;
}

// Failures below HTTP as faults that say who must do what.

export interface EndpointFailure {
  readonly origin: string;
  readonly failure: TransportFailure;
}

/** How a person learns the true fingerprint without trusting the connection that is in question. */
export const showFingerprint =
  '`openssl x509 -noout -fingerprint -sha256 -in /etc/pve/local/pve-ssl.pem` (or `pveproxy-ssl.pem`, if there is one)';

/** No node has the pinned certificate any more. @param until ms since the epoch: then the other nodes are not believed any longer */
export function outdatedPin(until: number): { readonly message: string; readonly remedy: string } {
  const day = new Date(until).toISOString().slice(0, 10);
  return {
    message: `no node of the cluster has the certificate of \`tls.fingerprint\` any more: the node that had it got a new one; the others vouch for each other until ${day}, and then no node is trusted`,
    remedy: `renew the pin: run ${showFingerprint} on a node in \`endpoints\`, and set \`tls.fingerprint\` to what it prints`,
  };
}

const newPinHint = 'the same value: the node got a new certificate, so set `tls.fingerprint` to it';
const learnHint =
  'the same value: no node that is known has vouched for it. The node with the configured `tls.fingerprint` has to be reached once, then the others are learned from it; or write `tls.fingerprint` as a map with the fingerprint of every endpoint; or, where that node itself got a new certificate, set `tls.fingerprint` to what the command prints there';

/**
 * The peer at `origin` was not recognised; undefined for failures of any other kind.
 * @param onePin whether one fingerprint is configured for several endpoints
 */
export function trustFault({ origin, failure }: EndpointFailure, onePin: boolean): Fault | undefined {
  if (failure.pin) {
    const message = say`the certificate of \`${origin}\` is not the pinned one: expected ${failure.pin.expected}, got ${failure.pin.got}; nothing was sent`;
    const next = say`compare with ${showFingerprint}, run on that node: another value means that somebody is in between; ${onePin ? learnHint : newPinHint}`;
    return new Fault('pve_tls_fingerprint', message, { next });
  }
  if (failure.kind !== 'untrusted') return undefined;
  const message = say`the certificate of \`${origin}\` is not trusted (${failure.message}); nothing was sent`;
  const next = say`pin it: set \`tls.fingerprint\` to what ${showFingerprint} prints on that node; or set \`tls.caFile\` to a copy of /etc/pve/pve-root-ca.pem`;
  return new Fault('pve_tls_untrusted', message, { next });
}

/** No endpoint gave an answer. */
export function unreachableFault(cluster: string, failures: readonly EndpointFailure[]): Fault {
  const reasons = failures.map(({ origin, failure }) => `\`${origin}\`: ${failure.message}`).join('; ');
  if (failures.some(({ failure }) => failure.kind === 'too_large')) {
    return new Fault('pve_bad_answer', say`Proxmox VE (\`${cluster}\`) sent too much: ${reasons}`, {
      next: 'ask for less, or report this',
    });
  }
  if (failures.length > 0 && failures.every(({ failure }) => failure.kind === 'timeout')) {
    const next = 'try again; if it stays so, check the network and the load of the cluster (`pveproxy`, `pvestatd`)';
    return new Fault('pve_timeout', say`Proxmox VE (\`${cluster}\`) did not answer in time: ${reasons}`, { next, retryable: true });
  }
  const next = 'check that a node of the cluster is up and that its address and port 8006 in `endpoints` are right';
  return new Fault('pve_unreachable', say`Proxmox VE (\`${cluster}\`) cannot be reached: ${reasons}`, { next, retryable: true });
}
