/** Failures below HTTP as faults that say who must do what. */

import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import type { TransportFailure } from './transport-failure.ts';

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
