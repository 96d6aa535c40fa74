/** Where every contender for ssh runs its commands: a real OpenSSH server, since the demo cluster's nodes take no shells, which peers open. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Sshd, startSshd } from '../integration/connectors/sshd.ts';

export interface SshTarget extends Pick<Sshd, 'host' | 'port' | 'user' | 'identityFile' | 'close'> {
  /** The cluster with this server as its node `pve`. */
  asNode<Cluster extends object>(cluster: Cluster): Cluster;
}

/** @throws where there is no OpenSSH server on this machine, with the remedy */
export async function startSshTarget(): Promise<SshTarget> {
  // An empty home: what this machine's user has in `.bashrc` would be most of what is measured.
  const home = mkdtempSync(path.join(tmpdir(), 'banksman-bench-home-'));
  // 16 calls at once are a session each, or a connection each, as every contender likes.
  const sshd = await startSshd({ config: ['MaxSessions 64', 'MaxStartups 100', `SetEnv HOME=${home}`] });
  const knownHosts = path.join(sshd.folder, 'known_hosts');
  writeFileSync(knownHosts, sshd.keyscan());
  const { host, port, user, identityFile } = sshd;
  const ssh = { user, knownHosts, identityFiles: [identityFile], agent: false, nodes: { pve: { host, port } } };
  const close = async () => {
    await sshd.close();
    rmSync(home, { recursive: true, force: true });
  };
  // It is in a process group of its own: Ctrl-C does not reach it.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void close().finally(() => process.exit(1)));
  return { host, port, user, identityFile, close, asNode: (cluster) => ({ ...cluster, ssh }) };
}
