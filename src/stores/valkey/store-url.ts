/** `valkey://host:port/0?prefix=molis`: where the shared store is, and what counts as written. It never carries credentials. */

import { type FileHandle, open } from 'node:fs/promises';
import * as z from 'zod';
import { Fault } from '#kernel/errors';
import { issueWords } from '#kernel/text/issue-words';
import { type Message, say } from '#kernel/text/message';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** `sentinel`: the nodes are Sentinels; `cluster`: some nodes of a cluster. */
export type Topology = 'single' | 'sentinel' | 'cluster';

export interface ValkeyAddress extends Endpoint {
  readonly topology: Topology;
  /** At least one; `host` and `port` are the first's. */
  readonly nodes: readonly [Endpoint, ...Endpoint[]];
  /** `master=NAME`: what the Sentinels call the primary. */
  readonly master?: string;
  /** `replicas=N`: how many replicas must have a change before it counts. */
  readonly replicas: number;
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

const allowedParameters = ['prefix', 'credentials', 'ca', 'replicas', 'master'];
/** No glob characters, so that the prefix means the same in a key and in an ACL pattern; no `{` in the middle, which would split slots. */
const prefixPattern = /^(?:\{[A-Za-z0-9_.-]{1,64}\}|[A-Za-z0-9_.-]{1,64})$/;
/** What a Sentinel takes as a name. */
const masterPattern = /^[A-Za-z0-9_.-]{1,64}$/;
const urlPattern = /^(valkeys?)(?:\+(sentinel|cluster))?:\/\/([^/?#]*)(.*)$/s;
const example =
  '`valkey://host:6379/0?prefix=molis` (`valkeys://` for TLS, `valkey+sentinel://` and `valkey+cluster://` for several servers)';

/** @throws {Fault} `bad_store_url`, which never repeats a password */
export function parseStoreUrl(text: string): ValkeyAddress {
  const match = urlPattern.exec(text);
  if (!match) throw badUrl(URL.canParse(text) ? say`must start with \`valkey://\` or \`valkeys://\`` : say`is not a URL`);
  const [, scheme = '', topology = 'single', authority = '', rest = ''] = match;
  const [first, ...others] = authority.split(',').map((node) => nodeUrl(`valkey://${node}${rest}`));
  if (!first) throw badUrl(say`names no host`);
  if (!['', '/', '/0'].includes(first.pathname)) throw badUrl(say`must name database 0: the access rules allow no other`);
  requireParameters(first.searchParams);
  return addressOf({ tls: scheme === 'valkeys', topology: topology as Topology }, first, others);
}

function nodeUrl(text: string): URL {
  if (!URL.canParse(text)) throw badUrl(say`is not a URL`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    throw badUrl(say`must hold no user name or password: each role has its own in the credentials file`);
  }
  if (url.hostname === '') throw badUrl(say`names no host`);
  return url;
}

/** Which one of two counts would be a guess. */
function requireParameters(given: URLSearchParams): void {
  for (const name of given.keys()) {
    if (!allowedParameters.includes(name))
      throw badUrl(say`has the unknown parameter \`${name}\`; allowed: ${allowedParameters.join(', ')}`);
    if (given.getAll(name).length > 1) throw badUrl(say`has \`${name}\` more than once`);
  }
}

function addressOf({ tls, topology }: Pick<ValkeyAddress, 'tls' | 'topology'>, first: URL, others: readonly URL[]): ValkeyAddress {
  const given = first.searchParams;
  if (topology === 'single' && others.length > 0)
    throw badUrl(say`names several servers: \`valkey+sentinel://\` and \`valkey+cluster://\` take them`);
  const [caFile, credentials] = [given.get('ca'), given.get('credentials')];
  if (caFile !== null && !tls) throw badUrl(say`has a \`ca\` but no TLS: use \`valkeys://\``);
  const nodes = [endpointOf(first, topology), ...others.map((url) => endpointOf(url, topology))] as const;
  const [prefix, replicas, master] = [prefixIn(given, topology), replicasIn(given), masterIn(given, topology)];
  const address = { ...nodes[0], topology, nodes, tls, prefix, replicas, ...(master === undefined ? {} : { master }) };
  return {
    ...address,
    location: locationOf(address),
    ...(credentials === null ? {} : { credentialsFile: credentials }),
    ...(caFile === null ? {} : { caFile }),
  };
}

function locationOf({ nodes, topology, tls, prefix, replicas, master }: Omit<ValkeyAddress, 'location'>): string {
  const scheme = `${tls ? 'valkeys' : 'valkey'}${topology === 'single' ? '' : `+${topology}`}`;
  const servers = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
  const options = `${master === undefined ? '' : `&master=${master}`}${replicas === 0 ? '' : `&replicas=${replicas}`}`;
  return `${scheme}://${servers}/0?prefix=${prefix}${options}`;
}

function endpointOf(url: URL, topology: Topology): Endpoint {
  const usual = topology === 'sentinel' ? 26_379 : 6379;
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port === '' ? usual : Number(url.port) };
}

function prefixIn(given: URLSearchParams, topology: Topology): string {
  const prefix = given.get('prefix') ?? (topology === 'cluster' ? '{molis}' : 'molis');
  if (!prefixPattern.test(prefix))
    throw badUrl(say`has a bad \`prefix\`: letters, digits, \`_\`, \`.\` and \`-\`, all of it in braces for a cluster`);
  if (topology === 'cluster' && !prefix.startsWith('{'))
    throw badUrl(say`has a \`prefix\` without braces: on a cluster all keys must share a slot`);
  return prefix;
}

function replicasIn(given: URLSearchParams): number {
  const text = given.get('replicas') ?? '0';
  if (!/^[0-9]$/.test(text)) throw badUrl(say`has a bad \`replicas\`: how many replicas must have a change before it counts, 0 to 9`);
  return Number(text);
}

function masterIn(given: URLSearchParams, topology: Topology): string | undefined {
  const master = given.get('master');
  if (topology !== 'sentinel') {
    if (master !== null) throw badUrl(say`has a \`master\`, which only \`valkey+sentinel://\` takes`);
    return undefined;
  }
  if (master === null || !masterPattern.test(master)) throw badUrl(say`needs \`master=NAME\`, as the Sentinels call it`);
  return master;
}

function badUrl(what: Message): Fault {
  return new Fault('bad_store_url', say`the store URL ${what}`, { next: say`write it like ${example}` });
}

// The credentials of the roles that this machine's user may take, in a file of their own.

// Who a connection is: each role has a user of its own on the server, so that what a process may do is the server's decision.

export const valkeyRoles = ['agent', 'exec', 'admin', 'log-writer', 'log-trimmer'] as const;
/**
 * `agent` asks and looks; `exec` consumes and writes down what became of a request; `admin` answers for a person; `log-writer` adds to the
 * trail; `log-trimmer` drops what is older than a day.
 */
export type ValkeyRole = (typeof valkeyRoles)[number];

export interface Credential {
  readonly user: string;
  readonly password: string;
}

/** `sentinel`: for the Sentinels, which have users of their own; without it nobody logs in there. */
export const credentialNames = [...valkeyRoles, 'sentinel'] as const;
export type CredentialName = (typeof credentialNames)[number];

/** Gives a role's credential; undefined where this process has none for it. Asked anew at every connection. */
export type CredentialSource = (name: CredentialName) => Promise<Credential | undefined>;

/** The users of the ACL file that comes with the documentation. */
export const defaultUsers: Readonly<Record<CredentialName, string>> = {
  agent: 'mcp-agent',
  exec: 'mcp-exec',
  admin: 'mcp-admin',
  'log-writer': 'log-writer',
  'log-trimmer': 'log-trimmer',
  sentinel: 'banksman',
};

const entry = z.strictObject({ user: z.string().min(1).optional(), password: z.string().min(1) });
const schema = z.strictObject(
  Object.fromEntries(credentialNames.map((name) => [name, entry.optional()])) as Record<CredentialName, z.ZodOptional<typeof entry>>,
);

/**
 * Reads `{ "agent": { "user": "mcp-agent", "password": "…" }, … }`; `user` may be left out, and so may roles. Read anew at every
 * connection, so that a changed password needs no restart.
 * @throws {Fault} (the source, when it is asked) `bad_credentials` where the file is missing, open to others, or not like that
 */
export function credentialsFile(file: string): CredentialSource {
  return async (role) => {
    const found = (await readCredentials(file))[role];
    return found && { user: found.user ?? defaultUsers[role], password: found.password };
  };
}

async function readCredentials(file: string): Promise<z.output<typeof schema>> {
  const text = await readPrivate(file);
  const parsed = schema.safeParse(parseJson(text, file), { error: issueWords });
  if (parsed.success) return parsed.data;
  // SECURITY: the issue's own text is not shown where it could quote a value; keys are names of roles or typing errors.
  const issue = parsed.error.issues[0];
  throw bad(
    file,
    `\`${issue?.path.join('.') || '(top level)'}\`: ${issue?.message ?? 'not as expected'}; allowed: ${credentialNames.join(', ')}`,
  );
}

/** Checked on the open file, so that it cannot be swapped in between. */
async function readPrivate(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { mode } = await handle.stat();
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Fault('bad_credentials', say`the store's credentials file \`${file}\` is open to other users`, {
        next: say`chmod 600 ${file}`,
      });
    }
    return await handle.readFile('utf8');
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    throw bad(file, `it cannot be read (${thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error'})`);
  } finally {
    await handle?.close();
  }
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the place, which may be a password.
    throw bad(file, 'it is not valid JSON');
  }
}

function bad(file: string, what: string): Fault {
  return new Fault('bad_credentials', say`the store's credentials file \`${file}\` cannot be used: ${what}`, {
    next: 'write it like `{ "agent": { "password": "…" }, "exec": { "password": "…" }, "log-writer": { "password": "…" } }`, mode 0600',
  });
}
