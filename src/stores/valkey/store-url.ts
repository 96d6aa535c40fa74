/** `valkey://host:port/0?prefix=molis`: where the shared store is. It never carries credentials. */
import { Fault } from '#kernel/errors';

export interface ValkeyAddress {
  readonly host: string;
  readonly port: number;
  /** `valkeys://`: TLS, always verified. */
  readonly tls: boolean;
  /** In front of every key. In braces (`{molis}`) all keys share one cluster slot. */
  readonly prefix: string;
  /** `credentials=FILE`, as it was written. */
  readonly credentialsFile?: string;
  /** `ca=FILE`: certificates to trust instead of the system's, as it was written. */
  readonly caFile?: string;
  /** For people: without the file names. */
  readonly location: string;
}

const allowedParameters = ['prefix', 'credentials', 'ca'];
/** No glob characters, so that the prefix means the same in a key and in an ACL pattern; no `{` in the middle, which would split slots. */
const prefixPattern = /^(?:\{[A-Za-z0-9_.-]{1,64}\}|[A-Za-z0-9_.-]{1,64})$/;
const example = '`valkey://host:6379/0?prefix=molis` (`valkeys://` for TLS)';

/** @throws {Fault} `bad_store_url`, which never repeats a password */
export function parseStoreUrl(text: string): ValkeyAddress {
  if (!URL.canParse(text)) throw badUrl('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'valkey:' && url.protocol !== 'valkeys:') throw badUrl('must start with `valkey://` or `valkeys://`');
  if (url.username !== '' || url.password !== '') {
    throw badUrl('must hold no user name or password: each role has its own in the credentials file');
  }
  if (url.hostname === '') throw badUrl('names no host');
  if (!['', '/', '/0'].includes(url.pathname)) throw badUrl('must name database 0: the access rules allow no other');
  requireParameters(url.searchParams);
  return addressOf(url);
}

/** Which one of two counts would be a guess. */
function requireParameters(given: URLSearchParams): void {
  for (const name of given.keys()) {
    if (!allowedParameters.includes(name)) throw badUrl(`has the unknown parameter \`${name}\`; allowed: ${allowedParameters.join(', ')}`);
    if (given.getAll(name).length > 1) throw badUrl(`has \`${name}\` more than once`);
  }
}

function addressOf(url: URL): ValkeyAddress {
  const [prefix, credentialsFile, caFile] = [
    url.searchParams.get('prefix') ?? 'molis',
    url.searchParams.get('credentials'),
    url.searchParams.get('ca'),
  ];
  if (!prefixPattern.test(prefix)) throw badUrl('has a bad `prefix`: letters, digits, `_`, `.` and `-`, all of it in braces for a cluster');
  const tls = url.protocol === 'valkeys:';
  if (caFile !== null && !tls) throw badUrl('has a `ca` but no TLS: use `valkeys://`');
  const port = url.port === '' ? 6379 : Number(url.port);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    tls,
    prefix,
    location: `${url.protocol}//${url.hostname}:${port}/0?prefix=${prefix}`,
    ...(credentialsFile === null ? {} : { credentialsFile }),
    ...(caFile === null ? {} : { caFile }),
  };
}

function badUrl(what: string): Fault {
  return new Fault('bad_store_url', `the store URL ${what}`, { next: `write it like ${example}` });
}
