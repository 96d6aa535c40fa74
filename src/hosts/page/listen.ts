/** Where the page is served, and that nobody else can be there. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer, type Server as HttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { PageConfig } from '#app/config/config';
import { expandPath } from '#app/config/paths';
import { Fault, reasonOf } from '#kernel/errors';

export interface PageAddress {
  /** The one origin that counts: `http://localhost:443`, `https://banksman.lan`. */
  readonly origin: string;
  /** What `Host` must be, to the letter. */
  readonly host: string;
}

export interface PageListener {
  /** Of every connection, before anything of it is read. */
  readonly connection: (socket: IncomingMessage['socket']) => void;
  readonly request: RequestListener;
}

export interface PageListeners {
  readonly address: PageAddress;
  close(): Promise<void>;
}

/** A client that dawdles is not waited for. In ms. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 15_000;
const drainMs = 1_000;
/** More than all that are let in (`createClients`): those of a flood are looked at before they are ended. */
const mostConnections = 2_048;
/** Tries to find a port that is free on both addresses. */
const tries = 20;

/** @throws {Fault} `bad_port`, `port_taken`, `bad_tls`, `listen_failed` */
export async function listenForPage(page: PageConfig, baseDir: string, listener: PageListener): Promise<PageListeners> {
  if ('certFile' in page) return listenOnName(page, baseDir, listener);
  const port = portOf(page.origin);
  if (page.demo !== true) checkPrivileged(port);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listenOnBoth(port, listener);
    } catch (thrown) {
      // Any free port of the one address may be taken on the other.
      if (port !== 0 || attempt === tries) throw thrown;
    }
  }
}

function portOf(origin: string): number {
  const { port, protocol } = new URL(origin);
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** SECURITY: above it any user can take the port while the service restarts, and show a page of their own there. */
function checkPrivileged(port: number): void {
  const first = firstUnprivileged();
  if (port > 0 && port < first) return;
  const why =
    first < 1024
      ? `this system lets any user take ports from ${first} on (net.ipv4.ip_unprivileged_port_start)`
      : 'any user of this machine can take a port from 1024 on';
  throw new Fault('bad_port', `the page cannot be served on port ${port}: ${why}, and show a page of its own there`, {
    next: `give it a port below ${Math.min(first, 1024)}, or an https name with a certificate`,
  });
}

function firstUnprivileged(): number {
  try {
    return Math.min(1024, Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')));
  } catch {
    return 1024;
  }
}

/** SECURITY: `localhost` is either address. Who holds one alone leaves the other, and with it the page's name, to whoever comes. */
async function listenOnBoth(wanted: number, { connection, request }: PageListener): Promise<PageListeners> {
  const servers: HttpServer[] = [];
  try {
    const first = prepare(createHttpServer(timeouts, request), connection);
    servers.push(first);
    const port = await listening(first, '127.0.0.1', wanted);
    const second = prepare(createHttpServer(timeouts, request), connection);
    servers.push(second);
    await listening(second, '::1', port).catch(unlessNoIpv6);
    const host = port === 80 ? 'localhost' : `localhost:${port}`;
    return { address: { origin: `http://${host}`, host }, close: () => closeAll(servers) };
  } catch (thrown) {
    await closeAll(servers);
    throw thrown;
  }
}

/** Where the system has no ::1, nobody else can have it either. */
function unlessNoIpv6(thrown: unknown): void {
  const cause = thrown instanceof Fault ? thrown.cause : undefined;
  if (!['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(codeOf(cause))) throw thrown;
}

type NamedPage = Extract<PageConfig, { readonly certFile: string }>;

async function listenOnName(
  { origin, host, certFile, keyFile }: NamedPage,
  baseDir: string,
  { connection, request }: PageListener,
): Promise<PageListeners> {
  const [cert, key] = [await readPem(certFile, baseDir), await readPem(keyFile, baseDir)];
  const server = prepare(httpsServer(cert, key, request), connection);
  await listening(server, host, portOf(origin));
  return { address: { origin, host: new URL(origin).host }, close: () => closeAll([server]) };
}

async function readPem(file: string, baseDir: string): Promise<Buffer> {
  try {
    return await readFile(expandPath(file, baseDir));
  } catch (cause) {
    throw new Fault('bad_tls', `the page’s \`${file}\` cannot be read: ${reasonOf(cause)}`, { cause });
  }
}

const timeouts = { headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs, maxHeaderSize: 8_192 };

function prepare<Server extends HttpServer>(server: Server, onConnection: PageListener['connection']): Server {
  server.on('connection', onConnection);
  server.maxConnections = mostConnections;
  server.keepAliveTimeout = 5_000;
  return server;
}

function httpsServer(cert: Buffer, key: Buffer, listener: RequestListener): HttpServer {
  try {
    return createHttpsServer({ ...timeouts, cert, key, minVersion: 'TLSv1.2' }, listener);
  } catch (cause) {
    throw new Fault('bad_tls', `the page's certificate and key must both be PEM and belong together: ${reasonOf(cause)}`, { cause });
  }
}

async function listening(server: HttpServer, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen({ host, port, ipv6Only: host === '::1' }, resolve);
  try {
    await promise;
  } catch (cause) {
    throw listenFault(cause, host, port);
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function listenFault(cause: unknown, host: string, port: number): Fault {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (codeOf(cause) === 'EADDRINUSE') {
    const next = `see who has it (\`ss -ltnp sport = :${port}\`): a page there would look like this one`;
    return new Fault('port_taken', `${place} is taken, and the page is served on both loopback addresses or not at all`, { next, cause });
  }
  const next =
    codeOf(cause) === 'EACCES'
      ? 'start it as the service of systemd, which may, or give it an https name and a port from 1024 on'
      : undefined;
  return new Fault('listen_failed', `cannot listen on ${place}: ${reasonOf(cause)}`, { cause, ...(next === undefined ? {} : { next }) });
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

async function closeAll(servers: readonly HttpServer[]): Promise<void> {
  const closed = servers.map((server) => new Promise<void>((resolve) => void server.close(() => resolve())));
  const limit = setTimeout(() => {
    for (const server of servers) server.closeAllConnections();
  }, drainMs);
  for (const server of servers) server.closeIdleConnections();
  await Promise.all(closed).finally(() => clearTimeout(limit));
}
