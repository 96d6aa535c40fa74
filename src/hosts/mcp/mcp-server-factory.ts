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

export type CreateMcpServer = (caller: Caller, era: 'legacy' | 'modern') => Server;

/** All of these change only with the program. */
const kept = { ttlMs: 300_000, cacheScope: 'private' } as const;
const options = {
  capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
  instructions,
  cacheHints: {
    'tools/list': kept,
    'resources/list': kept,
    'resources/templates/list': kept,
    'resources/read': kept,
    'prompts/list': kept,
  },
};

/**
 * INVARIANT: a new server per connection, session or request, never shared: a server that is reused can hand one client's answer to another
 * (CVE-2026-25536). Only the list of tools, which is the same for everybody, is made once. Arguments are not checked here; the pipeline
 * does that, strictly, and says what is allowed.
 */
export function mcpServerFactory({ app, version, calls }: McpServerParts): CreateMcpServer {
  const listed = { tools: toolList(app.tools) };
  return (caller, era) => {
    const server = new Server({ name: 'banksman', title: 'Banksman', version }, options);
    server.setRequestHandler('tools/list', () => listed);
    server.setRequestHandler('tools/call', ({ params }, ctx) =>
      calls.track(ctx.mcpReq.signal, (signal) => callTool(params, ctx, { app, server, caller, era, signal })),
    );
    serveGuide(server, app.tools);
    return server;
  };
}
