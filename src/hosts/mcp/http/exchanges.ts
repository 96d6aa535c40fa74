/** The HTTP requests being answered, with the token that each came with: what a token began ends with it. */
import type { ServerResponse } from 'node:http';
import type { McpToken } from '#app/mcp-tokens';

export interface Exchanges {
  /** One that is being answered, until the returned function is called. */
  add(response: ServerResponse, token: McpToken): () => void;
  /** Cuts off those whose token no longer counts: their calls are cancelled, as when a client goes away. */
  sweep(isLive: (token: McpToken) => Promise<boolean>): Promise<void>;
}

export function createExchanges(): Exchanges {
  const open = new Map<ServerResponse, McpToken>();
  return {
    add: (response, token) => {
      open.set(response, token);
      return () => void open.delete(response);
    },
    sweep: async (isLive) => {
      for (const [response, token] of [...open]) if (!(await isLive(token))) response.destroy();
    },
  };
}
