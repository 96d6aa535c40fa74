/** MCP over HTTP for the App. */
import type { App } from '#app/app';
import { checkMcpToken, isMcpTokenLive } from '#app/mcp-tokens';
import type { Log } from '#kernel/ports/log';
import { createCallTracker } from './call-tracker.ts';
import { defaultLimits, type HttpOptions } from './http/http-options.ts';
import { type HttpEndpoint, serveHttp } from './http/serve-http.ts';
import { mcpServerFactory } from './mcp-server-factory.ts';

export interface AppHttpOptions extends Pick<HttpOptions, 'host' | 'port' | 'sse' | 'allowedHosts' | 'allowedOrigins' | 'tls'> {
  readonly app: App;
  readonly version: string;
  /** Where the tokens are. */
  readonly stateDir: string;
  readonly log: Log;
}

/** `close` cancels the calls under way and has them answered. @throws {Fault} as `serveHttp` */
export async function serveAppOverHttp({ app, version, stateDir, ...options }: AppHttpOptions): Promise<HttpEndpoint> {
  const calls = createCallTracker();
  const endpoint = await serveHttp({
    ...options,
    limits: defaultLimits,
    authentication: {
      check: (bearer) => checkMcpToken(stateDir, bearer),
      isLive: (token) => isMcpTokenLive(stateDir, token),
    },
    createServer: mcpServerFactory({ app, version, calls }),
  });
  return {
    ...endpoint,
    close: async () => {
      // While the clients still listen: what was under way gets its answer.
      await calls.cancelAll();
      await endpoint.close();
    },
  };
}
