/** MCP over stdin and stdout: one client, which is whoever started this process. */

import process from 'node:process';
import { pipeline, Transform, type TransformCallback } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { osUser } from '#app/config/paths';
import type { CallingApp } from '#kernel/app';
import { reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { afterClose } from './after-close.ts';
import { type CallTracker, createCallTracker } from './call-tracker.ts';
import type { ClientFolder } from './client-folder.ts';
import { mcpServerFactory } from './mcp-server-factory.ts';

interface StdioOptions {
  readonly app: CallingApp;
  readonly version: string;
  readonly log: Log;
  readonly allTools: boolean;
  readonly folder: ClientFolder;
  /** Ends it, as the end of stdin does. */
  readonly signal: AbortSignal;
}

/** The longest message taken in, in bytes. */
const maxMessageBytes = 4 * 1024 * 1024;

/** How long calls may go on after the end of stdin, in ms: who pipes messages in gets their answers, and a client that died leaves nothing. */
const lastCallsMs = 2_000;

/** Serves until stdin ends or `signal` aborts. Calls under way are cancelled, and answered; when it resolves, none is left. */
export async function serveMcpOverStdio({ app, version, log, allTools, folder, signal }: StdioOptions): Promise<void> {
  const calls = createCallTracker();
  const caller = { name: osUser().username, modelTier: app.config.defaultModelTier };
  const tooLong = (id: string | number | undefined) => {
    log.warn(`mcp: ${tooLongWords}`);
    if (id !== undefined) refuse(transport, tooLongWords, id);
  };
  const input = limitLines(
    maxMessageBytes,
    tooLong,
    () => endCalls(calls),
    () => roomFor(calls),
  );
  // The package's own limit ends the connection with everything under way; it is never met.
  const transport = new StdioServerTransport(input, process.stdout, { maxBufferSize: 2 * maxMessageBytes });
  // An error of standard input is the transport's to hear.
  pipeline(process.stdin, input, () => undefined);
  // Each answer that waits for the pipe to drain adds a listener; a slow client is no leak.
  process.stdout.setMaxListeners(0);
  const createServer = mcpServerFactory({ app, version, calls, allTools, folder });
  const handle = serveStdio(({ era }) => createServer(caller, era), {
    transport,
    onerror: (error) => {
      log.warn(`mcp: ${isMalformed(error) ? malformed : reasonOf(error)}`);
      if (isMalformed(error)) refuse(transport, malformed);
    },
  });
  const ended = Promise.withResolvers<void>();
  afterClose(transport, () => ended.resolve());
  const stop = () => ended.resolve();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    await ended.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    // While the client still listens: what was under way gets its answer.
    await calls.cancelAll();
    await handle.close();
    // Else the open input would keep the process.
    input.destroy();
  }
}

/** So many bytes of answers may wait for the client to read them. */
const mostUnread = 2 * 1024 * 1024;
/** So many calls may be under way. Beyond that not even a cancellation is read until one has ended, as each does within its limit. */
const mostCalls = 256;

/** Back-pressure: a client that does not read its answers is not read either, and its messages wait where they are, in the pipe. */
async function roomFor(calls: CallTracker): Promise<void> {
  // What was passed on becomes an answer or a call within these turns.
  for (let turns = 0; turns < 2; turns += 1) await setImmediate();
  while (calls.size >= mostCalls) await calls.anyEnds();
  while (process.stdout.writableLength > mostUnread && process.stdout.writable) await drained();
}

/** Or closed: then there is nobody to wait for. */
async function drained(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.stdout.once('drain', resolve).once('close', resolve);
  await promise;
  process.stdout.off('drain', resolve).off('close', resolve);
}

async function endCalls(calls: CallTracker): Promise<void> {
  // What has been read becomes a call within these turns: nothing on the way waits for anything from outside.
  for (let turns = 0; turns < 3; turns += 1) await setImmediate();
  const idle = new AbortController();
  await Promise.race([calls.idle(), setTimeout(lastCallsMs, undefined, { signal: idle.signal }).catch(() => undefined)]);
  idle.abort();
  await calls.cancelAll();
}

const tooLongWords = `a message may have at most ${maxMessageBytes} bytes; send less at once`;
const malformed = 'a message was no JSON-RPC 2.0; batches are not taken over stdio';

/** JSON that is no message; the package says so with the findings of its schema. */
function isMalformed(error: Error): boolean {
  return 'issues' in error;
}

/** JSON-RPC 2.0, invalid request. Without an id where none could be read. */
function refuse(transport: StdioServerTransport, message: string, id?: string | number): void {
  const answer = { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code: -32_600, message } } as const;
  transport.send(answer).catch(() => undefined);
}

/** A JSON-RPC request's id; undefined where it has none or none can be seen. */
type SeenId = string | number | undefined;

/** How much of either end of a dropped line is looked at for its id, in bytes. */
const endBytes = 1024;
const newline = 0x0a;

/** So many lines are passed on at a time: each may become an answer a thousand times its length. */
const linesAtOnce = 16;

/**
 * @param told of each line that was dropped, at its end, with its id if it was a request
 * @param beforeEnd what its end waits for
 * @param room what more lines wait for once some were passed on
 */
export function limitLines(
  maxBytes: number,
  told: (id: SeenId) => void,
  beforeEnd: () => Promise<void> = nothing,
  room: () => Promise<void> = nothing,
): Transform {
  const line = createLine(maxBytes);
  const endLine = (): Buffer | undefined => {
    const { whole, dropped } = line.end();
    if (dropped !== undefined) told(requestIdOf(dropped.head, dropped.tail));
    return whole;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
      const last = chunk.lastIndexOf(newline) + 1;
      // Whole lines pass as they came; only what is cut up is put together.
      const first = last === 0 || line.isEmpty() ? 0 : chunk.indexOf(newline) + 1;
      if (first > 0) {
        line.add(chunk.subarray(0, first));
        const whole = endLine();
        if (whole !== undefined) this.push(whole);
      }
      if (last < chunk.length) line.add(chunk.subarray(last));
      const whole = chunk.subarray(first, Math.max(first, last));
      void passOn(this, whole, room, done);
    },
    flush(done: TransformCallback) {
      // The end of the stream ends a line, too.
      const whole = endLine();
      if (whole !== undefined && whole.length > 0) this.push(Buffer.concat([whole, Buffer.of(newline)]));
      void endAfter(beforeEnd, done);
    },
  });
}

async function nothing(): Promise<void> {}

async function passOn(stream: Transform, lines: Buffer, room: () => Promise<void>, done: TransformCallback): Promise<void> {
  for (let rest = lines; rest.length > 0 && !stream.destroyed; ) {
    const end = endOfLines(rest, linesAtOnce);
    stream.push(rest.subarray(0, end));
    rest = rest.subarray(end);
    await room();
  }
  done();
}

/** Behind the last of the first `count` lines. */
function endOfLines(lines: Buffer, count: number): number {
  let end = 0;
  for (let seen = 0; seen < count && end < lines.length; seen += 1) end = lines.indexOf(newline, end) + 1;
  return end;
}

async function endAfter(wait: () => Promise<void>, done: TransformCallback): Promise<void> {
  await wait();
  done();
}

interface Ends {
  readonly head: string;
  readonly tail: string;
}

/** One line as it comes in: kept whole while it is short enough, its two ends only after that. */
function createLine(maxBytes: number) {
  let parts: Buffer[] = [];
  let size = 0;
  let ends: { readonly head: Buffer; tail: Buffer } | undefined;
  const lastOf = (bytes: Buffer) => Buffer.from(bytes.subarray(-endBytes));
  return {
    isEmpty: () => size === 0,
    add: (part: Buffer): void => {
      size += part.length;
      if (ends !== undefined) {
        ends.tail = lastOf(Buffer.concat([ends.tail, part]));
        return;
      }
      parts.push(part);
      if (size <= maxBytes) return;
      const all = Buffer.concat(parts);
      ends = { head: Buffer.from(all.subarray(0, endBytes)), tail: lastOf(all) };
      parts = [];
    },
    end: (): { readonly whole?: Buffer; readonly dropped?: Ends } => {
      const ended =
        ends === undefined ? { whole: Buffer.concat(parts) } : { dropped: { head: String(ends.head), tail: String(ends.tail) } };
      parts = [];
      size = 0;
      ends = undefined;
      return ended;
    },
  };
}

const value = '("[^"\\\\]{0,200}"|-?\\d{1,15})';
const leading = new RegExp(`\\s*[{,]\\s*"(jsonrpc|id|method)"\\s*:\\s*${value}`, 'y');
/** The one brace at the very end closes the message itself, so what stands before it is the message's own. */
const trailing = new RegExp(`[{,]\\s*"id"\\s*:\\s*${value}\\s*\\}\\s*$`);

/** The id of a request, read from the members before its `params` or after them: clients write it on either side. */
function requestIdOf(head: string, tail: string): SeenId {
  const members = new Map<string, string>();
  leading.lastIndex = 0;
  for (let found = leading.exec(head); found !== null; found = leading.exec(head)) members.set(found[1] ?? '', found[2] ?? '');
  const id = members.get('id') ?? trailing.exec(tail)?.[1];
  // An answer of the client's has an id, too, and no method.
  return id === undefined || !members.has('method') ? undefined : (JSON.parse(id) as string | number);
}
