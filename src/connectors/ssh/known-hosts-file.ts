import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '#kernel/errors';
import { type KnownHost, parseKnownHosts } from './known-hosts.ts';

export interface KnownHostsFile {
  readonly path: string;
  /**
   * The entries as the file is now; it is parsed again only after a change. A file that does not exist has none.
   * @throws {Fault} `ssh_known_hosts_unreadable`
   */
  read(): Promise<readonly KnownHost[]>;
}

export function createKnownHostsFile(path: string): KnownHostsFile {
  let version = '';
  let entries: readonly KnownHost[] = [];

  async function refresh(): Promise<readonly KnownHost[]> {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    const current = [mtimeMs, ctimeMs, size, ino].join(' ');
    if (current !== version) {
      entries = parseKnownHosts(await readFile(path, 'utf8'));
      version = current;
    }
    return entries;
  }

  return {
    path,
    async read() {
      try {
        return await refresh();
      } catch (thrown) {
        const code = (thrown as NodeJS.ErrnoException).code;
        if (code === 'ENOENT') return [];
        if (code === 'EISDIR') throw isDirectory(path, thrown);
        throw new Fault('ssh_known_hosts_unreadable', `the known hosts file \`${path}\` cannot be read (${code ?? 'unknown error'})`, {
          next: 'make it readable for this user; no host is trusted without it',
          cause: thrown,
        });
      }
    },
  };
}

function isDirectory(path: string, cause: unknown): Fault {
  return new Fault('ssh_known_hosts_unreadable', `\`ssh.knownHosts\` is \`${path}\`, which is a directory, not a file`, {
    next: `name the file, for example \`${join(path, 'known_hosts')}\`; no host is trusted without it`,
    cause,
  });
}
