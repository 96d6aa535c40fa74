/** MCP over stdin and stdout: one client, which is whoever started this process. */
import { userInfo } from 'node:os';
import process from 'node:process';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { App } from '#app/app';
import type { Log } from '#kernel/ports/log';
import { afterClose } from './after-close.ts';
import { createCallTracker } from './call-tracker.ts';
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

/** Serves until stdin ends or `signal` aborts. Calls under way are cancelled; when it resolves, none is left. */
export async function serveMcpOverStdio({ app, version, log, signal }: StdioOptions): Promise<void> {
  const calls = createCallTracker();
  const caller = { name: userInfo().username, modelTier: app.config.defaultModelTier };
  const transport = new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: maxMessageBytes });
  // Each answer that waits for the pipe to drain adds a listener; a slow client is no leak.
  process.stdout.setMaxListeners(0);
  const createServer = mcpServerFactory({ app, version, calls });
  const handle = serveStdio(({ era }) => createServer(caller, era), {
    transport,
    onerror: (error) => log.warn(`mcp: ${error.message}`),
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
  }
}
