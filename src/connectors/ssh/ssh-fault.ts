/** ssh2's errors, and the ends a command can come to, as faults that say who must do what. */

import { Fault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import { asIs, joined, type Message, say } from '#kernel/text/message';
import { formatDuration } from '#kernel/text/text';
import { phraseOf } from '../proxmox/transport-failure.ts';
import type { HostAddress } from './host-key-check.ts';
import type { Identities } from './identities.ts';

/** The reason of `NodeConnection.lost`: the connection ended before the command did. */
export class ConnectionLost extends Error {
  constructor() {
    super('the connection ended before the command did');
    this.name = 'ConnectionLost';
  }
}

/** Which node, as configured, and where it was looked for. */
export interface NodeAt extends HostAddress {
  readonly node: string;
  readonly user: string;
}

/** Nobody logs in who only looks at a host key. */
type Place = Omit<NodeAt, 'user'> & Partial<Pick<NodeAt, 'user'>>;

/** `level` as ssh2 sets it on its errors (README, "Client events", `error`). `code`: the system's; a number is why the server hung up (RFC 4253 §11.1). */
interface Ssh2Error extends Error {
  readonly level?: string;
  readonly code?: string | number;
}

/** An error before the connection was ready. A refused host key is told from the check itself, not from here. */
export function connectFault(thrown: unknown, at: Place, identities: Identities): Fault {
  const error: Ssh2Error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error.level === 'client-authentication') return authFault(at, identities);
  if (error.level === 'client-timeout') return timeoutFault(at, say`the handshake was not done in time`);
  const reason = error.code ?? firstLine(error.message);
  if (error.level === 'handshake' || error.level === 'protocol') {
    const next = 'check that it is an ssh server with current algorithms (OpenSSH 7.4 or later)';
    return new Fault('ssh_unreachable', say`no ssh connection to ${where(at)}: the handshake failed (${reason})`, { next });
  }
  const next = 'check that the node is up (get_cluster_status), that sshd runs there, and its `host` and `port` in the `ssh` settings';
  return new Fault('ssh_unreachable', say`no ssh connection to ${where(at)}: ${failureIn(error)}`, { next, retryable: true });
}

/** SECURITY: without the words of a server that hangs up, which nobody has recognized yet. */
function failureIn({ code, message }: Ssh2Error): Message {
  if (typeof code === 'number') return say`the server ended the connection (reason ${code})`;
  return asIs(code === undefined ? firstLine(message) : phraseOf(code));
}

/** The server took none of our keys, or there was none to show. */
export function authFault(at: Place, { methods, encrypted, unusable }: Identities): Fault {
  if (methods.length === 0 && encrypted[0] !== undefined) {
    const message = say`the key \`${encrypted.join('`, `')}\` for ${where(at)} is encrypted and there is no agent that holds it`;
    return new Fault('ssh_key_encrypted', message, {
      next: say`load it into an agent (\`ssh-add ${encrypted[0]}\`) and set \`ssh.agent\`, or use a key of its own for Banksman`,
    });
  }
  const left = [...encrypted.map((path) => say`\`${path}\` (encrypted)`), ...unusable];
  const note = left.length > 0 ? say`; left out: ${joined(left)}` : '';
  const message =
    methods.length === 0
      ? say`there is no usable key to log in to ${where(at)} with${note}`
      : say`${where(at)} did not accept any key${note}`;
  const next = `check \`ssh.user\`, \`ssh.identityFiles\` and the agent, and that the public key stands in that user's authorized_keys on the node`;
  return new Fault('ssh_auth_failed', message, { next });
}

export function timeoutFault(at: Place, what: Message): Fault {
  return new Fault('ssh_timeout', say`${where(at)}: ${what}`, {
    retryable: true,
    next: 'try again, or ask for something that takes less time',
  });
}

/** The node's own `timeout` ended the command: nothing of it is left, unless it detached itself on purpose. */
export function stoppedOnNodeFault(at: NodeAt, seconds: number): Fault {
  return timeoutFault(at, say`the command was stopped on the node after its limit of ${seconds} s`);
}

/** We stopped listening; the node stops the command by itself. */
export function leftRunningFault(at: NodeAt, seconds: number, limitMs: number): Fault {
  return timeoutFault(
    at,
    say`no end within ${formatDuration(limitMs)}; if the command still runs, the node's own \`timeout\` ends it ${seconds} s after its start`,
  );
}

export function cancelledOnNodeFault(at: NodeAt, seconds: number): Fault {
  const message = say`cancelled by the caller; a stop was sent to ${where(at)}, and the node's own \`timeout\` ends the command at the latest ${seconds} s after its start`;
  return new Fault('cancelled', message, { audience: 'user', next: 'what the command did until then stays done' });
}

export function lostFault(at: NodeAt, seconds: number): Fault {
  const message = say`the ssh connection to ${where(at)} was lost in the middle of the command; if it still runs, the node's own \`timeout\` ends it at the latest ${seconds} s after its start`;
  return new Fault('ssh_connection_lost', message, {
    next: 'look at the node (get_node_status) before repeating a command that changes something',
    retryable: true,
  });
}

/** The kept connection had ended already. */
export function goneFault(at: NodeAt): Fault {
  return new Fault('ssh_unreachable', say`the ssh connection to ${where(at)} has just ended; nothing was run`, {
    next: 'try again',
    retryable: true,
    effect: notSent,
  });
}

/** The command was not run. Retryable when the server had no room, not when it will not have it at all. */
export function channelFault(at: NodeAt, error: Error): Fault {
  // RFC 4254 §5.1: 1 is "administratively prohibited"; a refused exec request has no reason.
  const reason = (error as { reason?: unknown }).reason;
  const retryable = typeof reason === 'number' && reason !== 1;
  const next = retryable
    ? 'try again; if it stays so, check `MaxSessions` of sshd on the node'
    : 'check that the account may run commands on the node (no forced command, a valid shell)';
  return new Fault('ssh_channel_failed', say`${where(at)} opened no channel for the command: ${firstLine(error.message)}`, {
    next,
    retryable,
    effect: notSent,
  });
}

export function notConfiguredFault(node: string, cluster: string): Fault {
  const message = say`no ssh address is known for the node \`${node}\` of cluster \`${cluster}\``;
  return new Fault('ssh_not_configured', message, { next: say`add it: \`"ssh": { "nodes": { "${node}": { "host": "…" } } }\`` });
}

function where({ node, user, host, port }: Place): Message {
  return say`node \`${node}\` (${user === undefined ? '' : `${user}@`}${host.includes(':') ? `[${host}]` : host}:${port})`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.slice(0, 200) ?? '';
}
