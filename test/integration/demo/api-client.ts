/** A bare HTTPS client for tests of the emulator: everything that came over the wire, nothing interpreted. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import type { DemoCluster } from '#demo/index';

export interface WireAnswer {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed where it is JSON, the text otherwise. */
  readonly body: unknown;
}

export interface WireRequest {
  readonly method?: string;
  /** Below `/api2/json`, sent as it is. */
  readonly path: string;
  readonly authorization?: string | undefined;
  readonly form?: Readonly<Record<string, string>> | undefined;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as the body, whatever `form` and `json` say. */
  readonly raw?: string;
  readonly endpoint?: string;
  readonly signal?: AbortSignal;
}

/** Sends one request, with the demo's authority trusted and the certificate checked. */
export function call(demo: DemoCluster, asked: WireRequest): Promise<WireAnswer> {
  const body = asked.raw ?? (asked.json === undefined ? formText(asked.form) : JSON.stringify(asked.json));
  const headers = {
    ...(asked.authorization === undefined ? {} : { Authorization: asked.authorization }),
    ...(body === undefined
      ? {}
      : {
          'Content-Type': asked.json === undefined ? 'application/x-www-form-urlencoded' : 'application/json',
          'Content-Length': String(Buffer.byteLength(body)),
        }),
    ...asked.headers,
  };
  return new Promise((resolve, reject) => {
    const url = new URL(asked.endpoint ?? demo.url);
    const outgoing = request(
      {
        host: url.hostname,
        port: url.port,
        path: `/api2/json${asked.path}`,
        method: asked.method ?? 'GET',
        headers,
        ca: readFileSync(demo.caFile),
        agent: false,
        ...(asked.signal === undefined ? {} : { signal: asked.signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: response.statusCode ?? 0,
            statusMessage: response.statusMessage ?? '',
            headers: response.headers,
            body: parsed(text),
          });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function formText(form: Readonly<Record<string, string>> | undefined): string | undefined {
  return form === undefined ? undefined : new URLSearchParams(form).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The `data` of an answer that must be 200. */
export async function data<Value = unknown>(demo: DemoCluster, asked: WireRequest): Promise<Value> {
  const answer = await call(demo, asked);
  if (answer.status !== 200) throw new Error(`${asked.path}: ${answer.status} ${answer.statusMessage}`);
  return (answer.body as { readonly data: Value }).data;
}
