/** One protocol server over the App. Both eras of the protocol are served from here. */
import { Server } from '@modelcontextprotocol/server';
import type { App } from '#app/app';
import type { CallTracker } from './call-tracker.ts';
import { type Caller, callTool } from './call-tool.ts';
import { instructions } from './instructions.ts';
import { toolList } from './tool-list.ts';

export interface McpServerParts {
  readonly app: App;
  readonly version: string;
  readonly calls: CallTracker;
}

/** How long a client may keep the tool list, in ms. It changes only with the program. */
const listTtlMs = 300_000;

/**
 * INVARIANT: a new one per connection, session or request, never shared: a server that is reused can hand one client's answer to another
 * (CVE-2026-25536). Arguments are not checked here; the pipeline does that, strictly, and says what is allowed.
 */
export function createMcpServer(parts: McpServerParts, caller: Caller, era: 'legacy' | 'modern'): Server {
  const server = new Server(
    { name: 'banksman', title: 'Banksman', version: parts.version },
    {
      capabilities: { tools: { listChanged: true } },
      instructions,
      cacheHints: { 'tools/list': { ttlMs: listTtlMs, cacheScope: 'private' } },
    },
  );
  const tools = toolList(parts.app.tools);
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }, ctx) =>
    parts.calls.track(callTool(params, ctx, { app: parts.app, server, caller, era })),
  );
  return server;
}
