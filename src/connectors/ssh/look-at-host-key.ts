/** The host key that an ssh server shows, for a person to compare with the node's own before anything trusts it. */

import ssh2 from 'ssh2';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { type HostAddress, hostKeyAlgorithms, hostKeyFingerprint } from './host-key-check.ts';
import { hostKeyType, knownHostName } from './known-hosts.ts';
import { connectFault } from './ssh-fault.ts';

export interface SeenHostKey {
  /** As `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
  /** `ssh-ed25519`, … */
  readonly type: string;
  /** For a known hosts file. */
  readonly line: string;
}

/** Prints the fingerprint on the node itself; of an ed25519 key, which is asked for first. */
export const showHostKey = 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub';

/** SECURITY: the key is refused, whatever it is, so no user and no key of this side is ever named to the server. @throws {Fault} `ssh_unreachable`, `ssh_timeout` */
export async function lookAtHostKey(at: HostAddress & { readonly node: string }, signal: AbortSignal): Promise<SeenHostKey> {
  const client = new ssh2.Client();
  const { promise, resolve, reject } = Promise.withResolvers<SeenHostKey>();
  const nobody = { methods: [], encrypted: [], unusable: [] };
  const abandon = () =>
    reject(new Fault('ssh_timeout', say`\`${knownHostName(at.host, at.port)}\` showed no ssh host key in time`, { retryable: true }));
  signal.addEventListener('abort', abandon, { once: true });
  client.on('error', (error) => reject(connectFault(error, at, nobody)));
  client.on('close', () => reject(connectFault(new Error('the connection was closed before a host key was shown'), at, nobody)));
  client.connect({
    host: at.host,
    port: at.port,
    username: 'nobody',
    algorithms: { serverHostKey: hostKeyAlgorithms({ trusted: [], revoked: [], hasAuthority: false }) },
    hostVerifier: (key: Buffer) => {
      const type = hostKeyType(key) ?? 'unknown';
      resolve({ fingerprint: hostKeyFingerprint(key), type, line: `${knownHostName(at.host, at.port)} ${type} ${key.toString('base64')}` });
      return false;
    },
  });
  try {
    if (signal.aborted) abandon();
    return await promise;
  } finally {
    signal.removeEventListener('abort', abandon);
    client.destroy();
  }
}
