/** MCP over stdin and stdout: one client, which is whoever started this process. */
import { userInfo } from 'node:os';
import process from 'node:process';
import { pipeline } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { App } from '#app/app';
import { reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { afterClose } from './after-close.ts';
import { type CallTracker, createCallTracker } from './call-tracker.ts';
import { limitLines } from './limit-lines.ts';
import { mcpServerFactory } from './mcp-server-factory.ts';

export interface StdioOptions {
  readonly app: App;
  readonly version: string;
  readonly log: Log;
  /** Ends it, as the end of stdin does. */
  readonly signal: AbortSignal;
}

/** The longest message taken in, in bytes. */
const maxMessageBytes = 4 * 1024 * 1024;

/** How long calls may go on after the end of stdin, in ms: who pipes messages in gets their answers, and a client that died leaves nothing. */
const lastCallsMs = 2_000;

/** Serves until stdin ends or `signal` aborts. Calls under way are cancelled, and answered; when it resolves, none is left. */
export async function serveMcpOverStdio({ app, version, log, signal }: StdioOptions): Promise<void> {
  const calls = createCallTracker();
  const caller = { name: userInfo().username, modelTier: app.config.defaultModelTier };
  const tooLong = (id: string | number | undefined) => {
    log.warn(`mcp: ${tooLongWords}`);
    if (id !== undefined) refuse(transport, tooLongWords, id);
  };
  const input = limitLines(maxMessageBytes, tooLong, () => endCalls(calls));
  // The package's own limit ends the connection with everything under way; it is never met.
  const transport = new StdioServerTransport(input, process.stdout, { maxBufferSize: 2 * maxMessageBytes });
  // An error of standard input is the transport's to hear.
  pipeline(process.stdin, input, () => undefined);
  // Each answer that waits for the pipe to drain adds a listener; a slow client is no leak.
  process.stdout.setMaxListeners(0);
  const createServer = mcpServerFactory({ app, version, calls });
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
