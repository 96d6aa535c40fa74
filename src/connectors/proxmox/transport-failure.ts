/** What went wrong below HTTP, in words, and whether the request can have been acted on. */

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
