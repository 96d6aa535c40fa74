/** Requests as no browser makes them: every header as the test says. */
import { type IncomingHttpHeaders, request } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  /** Replaced one by one; undefined: left out. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: string;
}

/** As this page's own script asks, except for what is given. */
export function ask(
  origin: string,
  { method = 'POST', path = '/api/nonce', headers = {}, body = '{}' }: RawRequest = {},
): Promise<RawAnswer> {
  const { port, host } = new URL(origin);
  const usual = method === 'POST' ? { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' } : {};
  const wanted = Object.entries({ host, ...usual, ...headers }).filter(([, value]) => value !== undefined);
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const sent = request({ host: '127.0.0.1', port, method, path, setHost: false, headers: Object.fromEntries(wanted) }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    response.on('error', reject);
  });
  sent.on('error', reject).end(method === 'POST' ? body : undefined);
  return promise;
}
