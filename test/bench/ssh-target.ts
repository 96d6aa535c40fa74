/** Where every contender for ssh runs its commands: a real OpenSSH server, since the demo cluster's nodes take no shells, which peers open. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Sshd, startSshd } from '../integration/connectors/sshd.ts';

export interface SshTarget extends Pick<Sshd, 'host' | 'port' | 'user' | 'identityFile' | 'close'> {
  /** The cluster with this server as its node `pve`. */
  asNode<Cluster extends object>(cluster: Cluster): Cluster;
}

/** @throws where there is no OpenSSH server on this machine, with the remedy */
export async function startSshTarget(): Promise<SshTarget> {
  // 16 calls at once are a session each, or a connection each, as every contender likes.
  const sshd = await startSshd({ config: ['MaxSessions 64', 'MaxStartups 100'] });
  const knownHosts = path.join(sshd.folder, 'known_hosts');
  writeFileSync(knownHosts, sshd.keyscan());
  const { host, port, user, identityFile } = sshd;
  const ssh = { user, knownHosts, identityFiles: [identityFile], agent: false, nodes: { pve: { host, port } } };
  return { host, port, user, identityFile, close: () => sshd.close(), asNode: (cluster) => ({ ...cluster, ssh }) };
}
