/** Wake-on-LAN by somebody else's HTTP service, such as `http://192.168.1.65:3005/wake/{node}`. */
import { Client } from 'undici';

export interface WakeApiAnswer {
  readonly method: 'POST' | 'GET';
  readonly status: number;
}

/**
 * The address of the call: `{node}` of the template replaced, percent-encoded so that a name stays one segment.
 * A template may come with its braces encoded already, as `URL` writes them.
 */
export function wakeApiUrl(template: string, node: string): URL {
  return new URL(template.replaceAll(/\{node\}|%7Bnode%7D/gi, encodeURIComponent(node)));
}

/**
 * POST, and GET where the service says that it takes no POST (405). Redirects are not followed: only the configured host is called.
 * @throws {Error} of undici when there is no answer
 */
export async function callWakeApi(url: URL, signal: AbortSignal): Promise<WakeApiAnswer> {
  const client = new Client(url.origin, { pipelining: 0, allowH2: false, connectTimeout: 5_000 });
  try {
    const first = await call(client, url, 'POST', signal);
    return first.status === 405 ? await call(client, url, 'GET', signal) : first;
  } finally {
    await client.destroy();
  }
}

async function call(client: Client, url: URL, method: 'POST' | 'GET', signal: AbortSignal): Promise<WakeApiAnswer> {
  const response = await client.request({ path: url.pathname + url.search, method, signal });
  // What the service says is of no use to us; it is read so that the connection ends in order, and only a little of it.
  await response.body.dump({ limit: 64 * 1024, signal });
  return { method, status: response.statusCode };
}
