/** What the server or the connection said, as a fault that names the remedy. */

import { Fault, type FaultOptions } from '#kernel/errors';
import { type Message, say } from '#kernel/text/message';

export interface FaultPlace {
  readonly location: string;
  /** The role's user on the server. */
  readonly user: string;
  /** Another server may have taken over, and is found at the next attempt. */
  readonly several?: boolean;
}

type Say = (place: FaultPlace, detail: string) => readonly [code: string, message: Message, options: FaultOptions];

const wrongPassword: Say = ({ location, user }) => [
  'store_auth_failed',
  say`the store \`${location}\` refused the user \`${user}\`: wrong password, or the user is switched off`,
  { next: say`check the credentials file and the server’s ACL file` },
];
const denied: Say = ({ location, user }, detail) => [
  'store_denied',
  say`the store \`${location}\` does not allow the user \`${user}\` what its role needs (${detail})`,
  { next: say`check that the URL’s \`prefix\` is the one in the ACL file, and that the ACL file is the documented one` },
];
const full: Say = ({ location }) => [
  'store_full',
  say`the store \`${location}\` has no memory left`,
  { retryable: true, next: say`raise \`maxmemory\` on the server (and keep \`maxmemory-policy noeviction\`)` },
];
const readOnly: Say = ({ location, several }, detail) => [
  'store_read_only',
  say`the store \`${location}\` takes no changes (${detail})`,
  several ? anotherTookOver : { next: say`name the primary in the store URL` },
];
const moved: Say = ({ location, several }, detail) => [
  'store_moved',
  several
    ? say`the keys of the store \`${location}\` are being moved (${detail})`
    : say`the keys are on another node of the cluster than \`${location}\` (${detail})`,
  several ? anotherTookOver : { next: say`use \`valkey+cluster://\` in the store URL, and put the prefix in braces` },
];
/** The server refused, so nothing was done. */
const anotherTookOver: FaultOptions = { retryable: true, next: say`another server has taken over: try again` };
const notNow: Say = ({ location }, detail) => [
  'store_unavailable',
  say`the store \`${location}\` cannot answer now (${detail})`,
  { retryable: true, next: say`try again; look at the server’s log if it goes on` },
];

/** OpenSSL's and Node's codes for a certificate that does not hold. */
const badCertificate = /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_|CERT_|ERR_TLS_CERT_|HOSTNAME_MISMATCH)/;

/** By the first word of the server's error. */
const saidByServer: Readonly<Record<string, Say>> = {
  WRONGPASS: wrongPassword,
  NOAUTH: wrongPassword,
  NOPERM: denied,
  OOM: full,
  READONLY: readOnly,
  MOVED: moved,
  ASK: moved,
  CROSSSLOT: moved,
  TRYAGAIN: moved,
};

/** A `Fault` stays what it is. `sent`: whether a change may have been made although no answer came. */
export function valkeyFault(thrown: unknown, place: FaultPlace, sent = false): Fault {
  if (thrown instanceof Fault) return thrown;
  const text = saidBy(thrown);
  const sayIt = saidByServer[text.split(' ', 1)[0] ?? ''] ?? (isReply(thrown) ? notNow : undefined);
  if (!sayIt) return unavailableFault(place, text, sent);
  const [code, message, options] = sayIt(place, text);
  return new Fault(code, message, { ...options, cause: thrown });
}

export function unavailableFault({ location }: FaultPlace, detail: string, sent = false): Fault {
  if (badCertificate.test(detail))
    return new Fault('store_unavailable', say`the certificate of the store \`${location}\` cannot be verified (${detail})`, {
      next: 'name its authority’s certificates with `ca=FILE` in the store URL, and the host as its certificate does; verification cannot be switched off',
    });
  const unknown = sent ? say`; if this was a change, whether it was made is not known` : '';
  return new Fault('store_unavailable', say`the store \`${location}\` cannot be reached (${detail})${unknown}`, {
    retryable: true,
    next: sent ? 'look at the request before you try again' : 'check the address, the network and the server, then try again',
  });
}

/** An error that the server gave as its answer: whatever it was about has not been done. */
export function isReply(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'ReplyError';
}

/** A node of a cluster that does not have the keys, or not all of them: nothing was done. */
export function isRedirected(thrown: unknown): boolean {
  return isReply(thrown) && /^(?:ASK|MOVED|TRYAGAIN) /.test((thrown as Error).message);
}

/** In a refused transaction the reason stands in the first refused command, not in the `EXECABORT`. */
function saidBy(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const [first] = 'previousErrors' in thrown && Array.isArray(thrown.previousErrors) ? (thrown.previousErrors as unknown[]) : [];
  const text = first instanceof Error ? first.message : thrown.message;
  const code = 'code' in thrown && typeof thrown.code === 'string' && !text.includes(thrown.code) ? `${thrown.code}: ` : '';
  return `${code}${text}`.split('\n', 1)[0] ?? '';
}
