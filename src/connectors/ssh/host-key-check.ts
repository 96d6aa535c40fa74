/** Whether a server's host key is the one that was written down for it. There is no way to accept another. */

import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerHostKeyAlgorithm } from 'ssh2';
import { Fault } from '#kernel/errors';
import { type Message, say } from '#kernel/text/message';
import { hostKeyType, type KnownHost, type KnownKeys, knownHostName, parseKnownHosts } from './known-hosts.ts';
import { quoteShell } from './remote-command.ts';

export interface HostAddress {
  readonly host: string;
  readonly port: number;
}

/** SHA-1 signatures (`ssh-rsa`) and DSA are left out. */
const algorithmsOf: Readonly<Record<string, readonly ServerHostKeyAlgorithm[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
};

/** What to offer: the kinds of key that are known for this host first, else a server with several would show one we cannot compare. */
export function hostKeyAlgorithms(known: KnownKeys): ServerHostKeyAlgorithm[] {
  const first = known.trusted.flatMap(({ keyType }) => algorithmsOf[keyType] ?? []);
  return [...new Set([...first, ...Object.values(algorithmsOf).flat()])];
}

/** As `ssh-keygen -l` prints it: `SHA256:` and base64 without padding. */
export function hostKeyFingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

/**
 * Why `key` is refused, or undefined when it is the known one.
 * `ssh_host_unknown` when nothing is known about the host, `ssh_host_changed` when something else is, or the key is revoked.
 */
export function refuseHostKey(key: Buffer, known: KnownKeys, at: HostAddress, file: string): Fault | undefined {
  if (known.revoked.some((entry) => entry.key.equals(key))) return changed(key, at, say`it is marked @revoked in \`${file}\``);
  if (known.trusted.some((entry) => entry.key.equals(key))) return undefined;
  if (known.trusted.length === 0) return unknown(key, known, at, file);
  const types = [...new Set(known.trusted.map((entry) => entry.keyType))].join(', ');
  const fingerprints = known.trusted.map((entry) => hostKeyFingerprint(entry.key)).join(', ');
  return changed(key, at, say`\`${file}\` has another one for it (${types}: ${fingerprints})`);
}

function unknown(key: Buffer, known: KnownKeys, at: HostAddress, file: string): Fault {
  const kind = shortType(key);
  const authority = known.hasAuthority ? say` (a @cert-authority line matches, but host certificates are not supported)` : '';
  const message = say`the ssh host key of \`${knownHostName(at.host, at.port)}\` is not known${authority}: it shows ${kind} ${hostKeyFingerprint(key)}`;
  const scan = `ssh-keyscan -p ${at.port} -t ${kind} ${wordOf(at.host)} >> ${wordOf(file)}`;
  const next = say`a person must first compare that fingerprint with \`ssh-keygen -lf /etc/ssh/ssh_host_${kind}_key.pub\`, run on the node's own console; if it is the same, \`${scan}\` adds it`;
  return new Fault('ssh_host_unknown', message, { next });
}

function changed(key: Buffer, at: HostAddress, why: Message): Fault {
  const name = knownHostName(at.host, at.port);
  const message = say`the ssh host key of \`${name}\` is refused: it shows ${shortType(key)} ${hostKeyFingerprint(key)}, but ${why}; somebody may be in between`;
  const next =
    'do not work around this; a person must find out on the node itself why its key is another one, and correct the file by hand';
  return new Fault('ssh_host_changed', message, { next });
}

/** The name that `ssh-keyscan -t` and the files in /etc/ssh use: `ed25519`, `ecdsa`, `rsa`. */
function shortType(key: Buffer): string {
  const type = hostKeyType(key) ?? 'unknown';
  if (type.startsWith('ecdsa-')) return 'ecdsa';
  return type.replace(/^ssh-/, '').replace(/[^a-z0-9-]/gi, '?');
}

function wordOf(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoteShell(text);
}

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
        throw new Fault('ssh_known_hosts_unreadable', say`the known hosts file \`${path}\` cannot be read (${code ?? 'unknown error'})`, {
          next: 'make it readable for this user; no host is trusted without it',
          cause: thrown,
        });
      }
    },
  };
}

function isDirectory(path: string, cause: unknown): Fault {
  return new Fault('ssh_known_hosts_unreadable', say`\`ssh.knownHosts\` is \`${path}\`, which is a directory, not a file`, {
    next: say`name the file, for example \`${join(path, 'known_hosts')}\`; no host is trusted without it`,
    cause,
  });
}
