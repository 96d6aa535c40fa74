/** `GET /metrics` for Prometheus: counts by tool, tier and outcome, and nothing that names a person, an agent or a guest. */
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '#app/config/config';
import { reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';

export interface MetricsParts {
  readonly sinks: Config['sinks'];
  readonly baseDir: string;
  readonly metrics: () => Promise<string>;
  readonly log: Log;
}

type Place = Extract<Config['sinks'][number], { readonly type: 'prometheus' }>;

/** Of Prometheus' text format. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';
/** In ms. */
const againMs = 10_000;
/** In ms. Whoever says nothing is looked for each second. */
const serverLimits = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 } as const;
const mostConnections = 16;

/** One for each `prometheus` of the configuration. A port that is taken is no reason not to start: it is tried again, and said. */
export function serveMetrics({ sinks, baseDir, metrics, log }: MetricsParts): { close(): Promise<void> } {
  const closing = new AbortController();
  const places = sinks.filter((sink) => sink.type === 'prometheus');
  const servers = places.map((place) => {
    const server = createServer(serverLimits, (request, response) => {
      void answer(request, response, { metrics, isAllowed: () => isAllowed(request, place, baseDir) });
    });
    server.maxConnections = mostConnections;
    return { server, done: listenUntil(server, place, { log, signal: closing.signal }) };
  });
  return {
    close: async () => {
      closing.abort();
      for (const { server } of servers) {
        server.close();
        server.closeAllConnections();
      }
      await Promise.all(servers.map(({ done }) => done));
    },
  };
}

async function listenUntil(
  server: Server,
  { address, port }: Place,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  for (let tries = 1; !signal.aborted; tries += 1) {
    try {
      await listening(server, address, port);
      log.info(`metrics are answered at ${address} port ${port}`);
      return;
    } catch (thrown) {
      if (tries === 1) log.error(`metrics cannot be answered at ${address} port ${port}: ${reasonOf(thrown)}; it is tried again`);
      await sleep(againMs, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }
}

function listening(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, () => {
    server.off('error', reject);
    server.on('error', () => undefined);
    resolve();
  });
  return promise;
}

interface Answering {
  readonly metrics: () => Promise<string>;
  isAllowed(): boolean;
}

async function answer(request: IncomingMessage, response: ServerResponse, { metrics, isAllowed: allowed }: Answering): Promise<void> {
  const { method = '', url = '' } = request;
  const refusal = !isAddressed(request)
    ? 421
    : !allowed()
      ? 401
      : url.split('?')[0] !== '/metrics'
        ? 404
        : method !== 'GET' && method !== 'HEAD'
          ? 405
          : undefined;
  if (refusal !== undefined) {
    response.writeHead(refusal, { 'content-type': 'text/plain', connection: 'close' }).end();
    return;
  }
  try {
    const text = await metrics();
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
  } catch {
    response.writeHead(503, { connection: 'close' }).end();
  }
}

/** SECURITY: a page in a browser can give a name of its own this address (DNS rebinding), and no other way to read what is answered. */
function isAddressed({ headers: { host = '' } }: IncomingMessage): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name === 'localhost' || isIP(name) !== 0;
}

/** Read each time: a token that was changed counts at once. One that cannot be read lets nobody in. */
function isAllowed({ headers: { authorization = '' } }: IncomingMessage, { tokenFile }: Place, baseDir: string): boolean {
  if (tokenFile === undefined) return true;
  try {
    const wanted = Buffer.from(`Bearer ${readFileSync(path.resolve(baseDir, tokenFile), 'utf8').trim()}`);
    const given = Buffer.from(authorization);
    return wanted.length > 'Bearer '.length && wanted.length === given.length && timingSafeEqual(wanted, given);
  } catch {
    return false;
  }
}
