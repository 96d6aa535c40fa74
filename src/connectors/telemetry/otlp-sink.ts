/** OTLP over HTTP, as JSON: logs, traces and metrics for any OpenTelemetry collector. */

import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault, reasonMessage } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { MeasuredSink } from '#kernel/ports/sink';
import { say } from '#kernel/text/message';
import { type AskedAt, logsRequest, metricsRequest, type Resource, tracesRequest } from './otlp-json.ts';

export type OtlpSignal = 'logs' | 'traces' | 'metrics';

export interface OtlpOptions {
  /** The collector's address, without `/v1/…`. */
  readonly endpoint: string;
  /** Values, or the files that hold them: those are read each time, so that a secret can be changed while this runs. */
  readonly headers: Readonly<Record<string, string | { readonly file: string }>>;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly signals: readonly OtlpSignal[];
  readonly gzip: boolean;
  readonly timeoutMs: number;
  readonly metricsMs: number;
  readonly resource: Resource;
}

/** @throws {Error} where a file of the TLS options cannot be read */
export function openOtlpSink(options: OtlpOptions): MeasuredSink {
  const { signals, resource, metricsMs } = options;
  const { caFile, certFile, keyFile, timeoutMs } = options;
  const tls = {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  };
  const agent = new Agent({ connections: 2, connect: { ...tls, timeout: timeoutMs }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const post = createPost(options, agent);
  const asked = rememberQuestions();
  return {
    metricsMs: signals.includes('metrics') ? metricsMs : 0,
    send: async (records, signal) => {
      asked.learn(records);
      const logs = signals.includes('logs') ? await post('logs', logsRequest(records, resource, Date.now()), signal) : 0;
      const spans = signals.includes('traces') ? tracesRequest(records, asked.at, resource) : undefined;
      // Where both went out and one is refused in part, the larger number is the records' own.
      return Math.max(logs, spans === undefined ? 0 : Math.min(records.length, await post('traces', spans, signal)));
    },
    measure: async (measures, signal) => void (await post('metrics', metricsRequest(measures, resource, Date.now()), signal)),
    close: () => agent.destroy(),
  };
}

type Post = (signal: OtlpSignal, body: JsonObject, abort: AbortSignal) => Promise<number>;

const compress = promisify(gzip);
/** More than this of an answer is not read. */
const longestAnswer = 65_536;

function createPost(options: OtlpOptions, agent: Agent): Post {
  const { origin, pathname } = new URL(options.endpoint);
  const base = pathname.replace(/\/+$/, '');
  return async (signal, message, abort) => {
    const text = JSON.stringify(message);
    const body = options.gzip ? await compress(text) : text;
    // Redirects are not followed: what is told would go where nobody configured it.
    const answer = await agent.request({
      origin,
      path: `${base}/v1/${signal}`,
      method: 'POST',
      headers: headersOf(options),
      body,
      signal: AbortSignal.any([abort, AbortSignal.timeout(options.timeoutMs)]),
    });
    return judge(signal, answer.statusCode, await readAnswer(answer.body));
  };
}

function headersOf({ headers, gzip: zipped }: OtlpOptions): Record<string, string> {
  const own = Object.entries(headers).map(([key, value]) => [
    key.toLowerCase(),
    typeof value === 'string' ? value : readSecret(value.file),
  ]);
  return {
    ...(Object.fromEntries(own) as Record<string, string>),
    'content-type': 'application/json',
    ...(zipped ? { 'content-encoding': 'gzip' } : {}),
  };
}

/** SECURITY: its text is in no message. */
function readSecret(file: string): string {
  try {
    const value = readFileSync(file, 'utf8').trim();
    if (/^[\x20-\x7e]+$/.test(value)) return value;
  } catch (cause) {
    throw new Fault('sink_secret', say`the header's file ${file} cannot be read: ${reasonMessage(cause)}`, { cause });
  }
  throw new Fault('sink_secret', say`the header's file ${file} must hold one line of ASCII text`);
}

async function readAnswer(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > longestAnswer) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Which of them mean that the very same message will never be taken (OTLP specification, § Failures); the rest may be the collector's, or the way's. */
const never: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** @returns what was taken in part: how many were not */
function judge(signal: OtlpSignal, status: number, text: string): number {
  if (status >= 200 && status < 300) return rejectedIn(signal, text);
  const message = say`the collector answered ${status} to ${signal}${messageIn(text)}`;
  throw new Fault(never.has(status) ? 'sink_refused' : 'sink_failed', message, { retryable: !never.has(status) });
}

const rejectedKeys = { logs: 'rejectedLogRecords', traces: 'rejectedSpans', metrics: 'rejectedDataPoints' } as const;

function rejectedIn(signal: OtlpSignal, text: string): number {
  const answer = parsed(text);
  const partial = isJsonObject(answer) ? answer['partialSuccess'] : undefined;
  const count = isJsonObject(partial) ? Number(partial[rejectedKeys[signal]] ?? 0) : 0;
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

function messageIn(text: string): string {
  const answer = parsed(text);
  const message = isJsonObject(answer) ? answer['message'] : undefined;
  return typeof message === 'string' && message !== '' ? `: ${message}` : '';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Requests that may still be answered live an hour; so many at a time are remembered. */
const mostQuestions = 2_000;

function rememberQuestions(): { learn(records: readonly AuditRecord[]): void; readonly at: AskedAt } {
  const times = new Map<string, number>();
  return {
    learn: (records) => {
      for (const { name, time, attributes } of records) {
        const id = attributes['request_id'];
        if (name === 'approval.requested' && typeof id === 'string') times.set(id, Date.parse(time));
      }
      for (const id of times.keys()) {
        if (times.size <= mostQuestions) break;
        times.delete(id);
      }
    },
    at: (id) => times.get(id),
  };
}
