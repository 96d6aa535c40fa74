/** One protocol server over the App. Both eras of the protocol are served from here. */
import { Server } from '@modelcontextprotocol/server';
import type { App } from '#app/app';
import { type Caller, callTool } from './call-tool.ts';
import type { CallTracker } from './call-tracker.ts';
import { serveGuide } from './guide.ts';
import { instructions } from './instructions.ts';
import { toolList } from './tool-list.ts';

export interface McpServerParts {
  readonly app: App;
  readonly version: string;
  readonly calls: CallTracker;
}

/** All of these change only with the program. */
const kept = { ttlMs: 300_000, cacheScope: 'private' } as const;
const cacheHints = {
  'tools/list': kept,
  'resources/list': kept,
  'resources/templates/list': kept,
  'resources/read': kept,
  'prompts/list': kept,
};

/**
 * INVARIANT: a new one per connection, session or request, never shared: a server that is reused can hand one client's answer to another
 * (CVE-2026-25536). Arguments are not checked here; the pipeline does that, strictly, and says what is allowed.
 */
export function createMcpServer(parts: McpServerParts, caller: Caller, era: 'legacy' | 'modern'): Server {
  const server = new Server(
    { name: 'banksman', title: 'Banksman', version: parts.version },
    {
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
      instructions,
      cacheHints,
    },
  );
  const tools = toolList(parts.app.tools);
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }, ctx) =>
    parts.calls.track(callTool(params, ctx, { app: parts.app, server, caller, era })),
  );
  serveGuide(server, parts.app.tools);
  return server;
}
