/**
 * The `/etc` that a command sees: a few harmless files of the host's and the names of its one user, copied into one directory that is mounted.
 * A mount of its own for each would take 0.3 ms, for bubblewrap reads the list of all mounts anew every time.
 */

import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Fault, toFault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { type SandboxUser, userName } from './clean-environment.ts';
import { entriesOf, isInside, statsOf } from './entries.ts';
import { fallbackHome } from './home.ts';

export interface Etc {
  /** Stands for `/etc`. */
  readonly directory: string;
  /** Names of the host's directories that are mounted into it: too much to copy. */
  readonly mounts: readonly string[];
}

interface Entry {
  /** Below `/etc`. */
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link';
  /** Absolute: what a link leads to where it does not stay one. */
  readonly source: string;
  /** Of a link that stays one. */
  readonly target: string;
  readonly size: number;
  readonly stamp: string;
}

// Not `/etc/ssl` and `/etc/pki` whole: they hold private keys that root could read.
const names = [
  ...[
    'ld.so.cache',
    'alternatives',
    'localtime',
    'os-release',
    'debian_version',
    'mime.types',
    'protocols',
    'services',
    'fonts',
    'crypto-policies',
  ],
  ...['ssl/certs', 'ssl/openssl.cnf', 'pki/ca-trust/extracted', 'pki/tls/certs', 'pki/tls/cert.pem', 'pki/tls/openssl.cnf'],
];

/** Configuration of what is installed below `/usr` and reads it through links (Debian's JDKs and Maven): copied, small, file by file. */
const trees = /^(?:java-[\w.-]+|maven|ant|gradle|perl|python3[\w.]*|R|xml|sgml|ImageMagick-\d+|texmf|groff|terminfo)$/;
const largestTreeFile = 1_048_576;
/** Hidden where one is not for everybody to read: root could. */
const worldReadable = 0o004;

/** Longer than any run: nobody uses a directory any more that was replaced so long ago. */
const keptMs = 86_400_000;

export interface EtcOptions {
  /** The command's home directory, as its `passwd` names it. */
  readonly home?: string;
  /** The directory that is copied from. */
  readonly host?: string;
  /** For so long, in ms, what was found counts: to look takes a tenth of a short command. Left out: it is looked at each time. */
  readonly freshMs?: number;
}

/**
 * @param stateDir where it is kept, for all processes of this user
 * @returns gives it, made anew when one of the host's files has changed; throws a Fault `sandbox_failed` where it cannot be kept
 */
export function followEtc(
  stateDir: string,
  user: SandboxUser,
  { home = fallbackHome, host = '/etc', freshMs = 0 }: EtcOptions = {},
): () => Etc {
  const folder = path.join(stateDir, 'sandbox');
  const own = identityFiles(user, home);
  let last: { readonly stamps: string; readonly etc: Etc } | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (last !== undefined && performance.now() - lookedAt < freshMs && statsOf(last.etc.directory) !== undefined) return last.etc;
    lookedAt = performance.now();
    const treeFiles = treesIn(host);
    const stamps = [...names.map((name) => stampOfTarget(path.join(host, name))), ...treeFiles.map(({ stamp }) => stamp)].join();
    if (last?.stamps !== stamps || statsOf(last.etc.directory) === undefined) {
      const entries = [...names.flatMap((name) => entryOf(host, name)), ...treeFiles];
      const mounts = entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
      last = { stamps, etc: { directory: keepOrSay(folder, entries, own), mounts } };
    }
    return last.etc;
  };
}

function entryOf(host: string, name: string): readonly Entry[] {
  const file = path.join(host, name);
  try {
    const target = statsOf(file)?.isSymbolicLink() ? readlinkSync(file) : '';
    // A link into `/usr` stays one; any other comes as what it leads to.
    if (target !== '' && isInside(path.resolve(path.dirname(file), target), '/usr'))
      return [{ name, kind: 'link', source: file, target, size: 0, stamp: '' }];
    const source = realpathSync(file);
    const stats = statsOf(source);
    if (stats?.isDirectory()) return [{ name, kind: 'directory', source, target: '', size: 0, stamp: '' }];
    return stats?.isFile() ? [{ name, kind: 'file', source, target: '', size: stats.size, stamp: stampOf(stats) }] : [];
  } catch {
    // It is not there, or leads nowhere.
    return [];
  }
}

/** The readable files of the trees, links that stay within `/usr` or their own tree included. */
function treesIn(host: string): readonly Entry[] {
  const tops = entriesOf(host).filter((entry) => entry.isDirectory() && trees.test(entry.name));
  return tops.flatMap(({ name }) => filesBelow(host, name));
}

function filesBelow(host: string, name: string): readonly Entry[] {
  return entriesOf(path.join(host, name)).flatMap((entry) => {
    const below = path.join(name, entry.name);
    return entry.isDirectory() ? filesBelow(host, below) : treeFile(host, below);
  });
}

function treeFile(host: string, name: string): readonly Entry[] {
  const source = path.join(host, name);
  const stats = statsOf(source);
  if (stats === undefined) return [];
  if (stats.isSymbolicLink()) return [{ name, kind: 'link', source, target: readlinkSync(source), size: 0, stamp: stampOf(stats) }];
  const shown = stats.isFile() && stats.size <= largestTreeFile && (stats.mode & worldReadable) !== 0;
  return shown ? [{ name, kind: 'file', source, target: '', size: stats.size, stamp: stampOf(stats) }] : [];
}

function keepOrSay(folder: string, entries: readonly Entry[], own: Readonly<Record<string, string>>): string {
  try {
    return keep(folder, entries, own);
  } catch (thrown) {
    const why = toFault(thrown).message;
    throw new Fault('sandbox_failed', say`the sandbox did not start: its /etc could not be made (${why})`, {
      next: say`make room and leave to write in \`${folder}\``,
      cause: thrown,
    });
  }
}

/** The name says what is in it, so that a directory is never changed while somebody uses it. */
function keep(folder: string, entries: readonly Entry[], own: Readonly<Record<string, string>>): string {
  const key = createHash('sha256')
    .update(JSON.stringify([entries, own]))
    .digest('hex')
    .slice(0, 32);
  const directory = path.join(folder, `etc-${key}`);
  if (isWhole(directory, entries, own)) return directory;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  removeOld(folder);
  const made = mkdtempSync(path.join(folder, 'etc-new-'));
  for (const entry of entries) put(made, entry);
  for (const [name, text] of Object.entries(own)) writeFileSync(path.join(made, name), text, { mode: 0o444 });
  chmodSync(made, 0o755);
  try {
    rmSync(directory, { recursive: true, force: true });
    renameSync(made, directory);
  } catch (thrown) {
    rmSync(made, { recursive: true, force: true });
    // Another process was faster.
    if (!isWhole(directory, entries, own)) throw thrown;
  }
  return directory;
}

function put(directory: string, { name, kind, source, target }: Entry): void {
  const file = path.join(directory, name);
  mkdirSync(path.dirname(file), { recursive: true });
  if (kind === 'directory') mkdirSync(file);
  if (kind === 'link') symlinkSync(target, file);
  if (kind === 'file') copyFileSync(source, file);
}

/** A power failure may have left empty files under the right names. */
function isWhole(directory: string, entries: readonly Entry[], own: Readonly<Record<string, string>>): boolean {
  const has = (name: string, size?: number) => {
    const stats = statsOf(path.join(directory, name));
    return stats !== undefined && (size === undefined || stats.size === size);
  };
  return (
    entries.every(({ name, kind, size }) => has(name, kind === 'file' ? size : undefined)) &&
    Object.entries(own).every(([name, text]) => has(name, text.length))
  );
}

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const old = path.join(folder, name);
    const changedAt = statsOf(old)?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (name.startsWith('etc-') && Date.now() - changedAt > keptMs) rmSync(old, { recursive: true, force: true });
  }
}

/** Who the one user is, without naming the host's others; on `resolv.conf` and `hosts` the host's are mounted when the network is granted. */
function identityFiles({ uid, gid }: SandboxUser, home: string): Readonly<Record<string, string>> {
  const name = userName();
  const user = uid === 0 ? '' : `${name}:x:${uid}:${gid}::${home}:/bin/bash\n`;
  const group = gid === 0 ? '' : `${name}:x:${gid}:\n`;
  return {
    passwd: `root:x:0:0::/root:/bin/sh\n${user}nobody:x:65534:65534::/nonexistent:/bin/false\n`,
    group: `root:x:0:\n${group}nogroup:x:65534:\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    hostname: `${os.hostname()}\n`,
    hosts: `127.0.0.1 localhost\n127.0.1.1 ${os.hostname()}\n::1 localhost ip6-localhost\n`,
    // For documentation only (RFC 5737): asking for a name finds no way out, at once, and counts as a try. Without a server it would be asked of loopback.
    'resolv.conf': 'nameserver 192.0.2.1\noptions timeout:1 attempts:1\n',
  };
}

function stampOfTarget(file: string): string {
  try {
    return stampOf(statSync(file, { throwIfNoEntry: false }));
  } catch {
    return '';
  }
}

function stampOf(stats: Stats | undefined): string {
  return stats === undefined ? '' : [stats.dev, stats.ino, stats.ctimeMs, stats.size].join(':');
}
