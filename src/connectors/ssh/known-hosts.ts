/**
 * OpenSSH's known_hosts format (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): plain and hashed names, `[host]:port`, wildcards, negation,
 * `@revoked`. `@cert-authority` lines are read but never trusted: host certificates are not supported, and the refusal says so.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export type Marker = 'cert-authority' | 'revoked';

/** One line that names a key. */
export interface KnownHost {
  readonly marker?: Marker;
  /** The comma list of the first field, as written; a hashed name is a list of one. */
  readonly patterns: readonly string[];
  /** `ssh-ed25519`, `ecdsa-sha2-nistp256`, `ssh-rsa`, … */
  readonly keyType: string;
  /** The public key in SSH wire form (RFC 4253 §6.6). */
  readonly key: Buffer;
}

/** Everything the file says about one host. */
export interface KnownKeys {
  readonly trusted: readonly KnownHost[];
  readonly revoked: readonly KnownHost[];
  /** A certificate authority is named for this host. */
  readonly hasAuthority: boolean;
}

/** Lines that are empty, comments or malformed are left out, as OpenSSH does: what cannot be read vouches for nothing. */
export function parseKnownHosts(text: string): readonly KnownHost[] {
  return text
    .split(/\r?\n/)
    .map(parseLine)
    .filter((line) => line !== undefined);
}

/** A file's answer about `host` at `port`. The port counts: a key for one port says nothing about another. */
export function lookUpHost(entries: readonly KnownHost[], host: string, port: number): KnownKeys {
  const name = knownHostName(host, port);
  const matching = entries.filter((entry) => matchesList(entry.patterns, name));
  return {
    trusted: matching.filter((entry) => entry.marker === undefined),
    // For the hosts that the line names; `*` stands for all.
    revoked: matching.filter((entry) => entry.marker === 'revoked'),
    hasAuthority: matching.some((entry) => entry.marker === 'cert-authority'),
  };
}

/** How a host is written in the file: `host`, or `[host]:port` away from port 22; lower case. */
export function knownHostName(host: string, port: number): string {
  const name = host.toLowerCase();
  return port === 22 ? name : `[${name}]:${port}`;
}

function parseLine(line: string): KnownHost | undefined {
  const fields = line.trim().split(/[ \t]+/);
  const marker = readMarker(fields[0]);
  if (marker === 'unknown') return undefined;
  const [names, keyType, encoded] = marker ? fields.slice(1) : fields;
  if (!names || !keyType || !encoded || names.startsWith('#')) return undefined;
  const key = readKey(encoded, keyType);
  if (!key) return undefined;
  return { ...(marker ? { marker } : {}), patterns: names.split(','), keyType, key };
}

function readMarker(field: string | undefined): Marker | 'unknown' | undefined {
  if (!field?.startsWith('@')) return undefined;
  if (field === '@revoked') return 'revoked';
  return field === '@cert-authority' ? 'cert-authority' : 'unknown';
}

/** The key's own type must be the one the line claims; otherwise the line is malformed. */
function readKey(encoded: string, keyType: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined;
  const key = Buffer.from(encoded, 'base64');
  return hostKeyType(key) === keyType ? key : undefined;
}

/** The type name a key starts with in wire form: a 32-bit length and that many bytes. undefined for anything else. */
export function hostKeyType(key: Buffer): string | undefined {
  if (key.length < 4) return undefined;
  const length = key.readUInt32BE(0);
  return length > 0 && length <= 64 && key.length > 4 + length ? key.toString('latin1', 4, 4 + length) : undefined;
}

/** A negated match wins over every other pattern of the line. */
function matchesList(patterns: readonly string[], name: string): boolean {
  const negated = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  if (negated.some((pattern) => matches(pattern, name))) return false;
  return patterns.some((pattern) => !pattern.startsWith('!') && matches(pattern, name));
}

function matches(pattern: string, name: string): boolean {
  return pattern.startsWith('|') ? matchesHash(pattern, name) : matchesGlob(pattern.toLowerCase(), name);
}

/** `|1|salt|HMAC-SHA1(salt, name)`, both in base64; other versions match nothing. */
function matchesHash(pattern: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([A-Za-z0-9+/]+={0,2})\|([A-Za-z0-9+/]+={0,2})$/.exec(pattern) ?? [];
  if (salt === undefined || hash === undefined) return false;
  const expected = Buffer.from(hash, 'base64');
  const actual = createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest();
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

/** `*` is any run of characters, `?` any one; linear but for one step back, so that no pattern can take long. */
function matchesGlob(pattern: string, name: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (from < name.length) {
    if (pattern[at] === '*') {
      star = at++;
      mark = from;
    } else if (pattern[at] === '?' || pattern[at] === name[from]) {
      at++;
      from++;
    } else if (star >= 0) {
      at = star + 1;
      from = ++mark;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
