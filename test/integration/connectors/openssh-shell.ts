/** Our shell for a real OpenSSH server that is the node `pve`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClosableNodeShell, createNodeShell, type NodeShellOptions } from '#connectors/ssh/create-node-shell';
import { systemClock } from '#execution/deadline';
import { memoryLog } from './pve-server.ts';
import type { Sshd } from './sshd.ts';

export function openShell(server: Sshd, options: Partial<NodeShellOptions> & { knownHosts: string }): ClosableNodeShell {
  return createNodeShell({
    cluster: 'lab',
    user: server.user,
    identityFiles: [server.identityFile],
    agent: false,
    nodes: { pve: { host: server.host, port: server.port } },
    timeoutMs: 120_000,
    clock: systemClock,
    log: memoryLog(),
    ...options,
  });
}

let files = 0;
/** A known_hosts file with `text`. */
export function knownHosts(server: Sshd, text: string): string {
  const path = join(server.folder, `known_hosts_${files++}`);
  writeFileSync(path, text);
  return path;
}

const scanned = new WeakMap<Sshd, string>();
/** What `ssh-keyscan` says about `server`, asked once. */
export function trusted(server: Sshd): { knownHosts: string } {
  const text = scanned.get(server) ?? server.keyscan();
  scanned.set(server, text);
  return { knownHosts: knownHosts(server, text) };
}
