/** What listens where sinks tell: real servers on this machine that keep what they got. */
import { createSocket } from 'node:dgram';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer as createStream, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { JsonObject } from '#kernel/json';

export interface Posted {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

export interface Collector {
  readonly endpoint: string;
  readonly posted: Posted[];
  /** What it answers from now on; undefined: 200. */
  answer: ((posted: Posted) => { readonly status: number; readonly body?: object } | undefined) | undefined;
  /** Of all log records: an attribute's text. */
  logged(attribute: string): readonly string[];
  close(): Promise<void>;
}

/** @param port the one of an earlier collector that was closed */
export async function startCollector(port = 0): Promise<Collector> {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes).toString('utf8') : bytes.toString('utf8');
      const one: Posted = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text) };
      const { status = 200, body = {} } = collector.answer?.(one) ?? {};
      if (status === 200) posted.push(one);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const collector: Collector = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posted,
    answer: undefined,
    logged: (attribute) =>
      posted.flatMap(({ path, body }) =>
        path === '/v1/logs' ? found(body, 'logRecords').map((record) => attributeOf(record, attribute)) : [],
      ),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

/** Every entry of lists of that name, however deep. */
export function found(value: unknown, key: string): readonly JsonObject[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => (name === key && Array.isArray(item) ? (item as JsonObject[]) : found(item, key)));
}

export function attributeOf({ attributes }: JsonObject, key: string): string {
  const pair = (attributes as readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]).find(
    (entry) => entry.key === key,
  );
  return String(Object.values(pair?.value ?? {})[0]);
}

export interface StreamReceiver {
  readonly port: number;
  text(): string;
  /** Ends the connections that there are. */
  drop(): void;
  close(): Promise<void>;
}

/** @param where a port of this machine, or a socket's path */
export async function startStream(where: number | string = 0): Promise<StreamReceiver> {
  const sockets = new Set<Socket>();
  let text = '';
  const server = createStream((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) =>
    typeof where === 'string' ? server.listen(where, resolve) : server.listen(where, '127.0.0.1', resolve),
  );
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof where === 'string' ? 0 : (server.address() as AddressInfo).port,
    text: () => text,
    drop,
    close: async () => {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export async function startDatagrams(): Promise<{ readonly port: number; readonly got: string[]; close(): void }> {
  const got: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message) => void got.push(message.toString('utf8')));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { port: socket.address().port, got, close: () => socket.close() };
}
