/** A server with what the conformance suite looks for; the product's own tools are none of it. */
import { randomBytes } from 'node:crypto';
import { createRequestStateCodec, McpServer, type ServerEventBus } from '@modelcontextprotocol/server';
import { registerAskingTools } from './asking-tools.ts';
import { registerContentTools } from './content-tools.ts';
import { registerPrompts, registerResources } from './resources-and-prompts.ts';
import { registerRoundTools } from './round-tools.ts';

const codec = createRequestStateCodec({ key: randomBytes(32) });
const cached = { ttlMs: 1000, cacheScope: 'private' as const };

export function createFixtureServer(bus: ServerEventBus, era: 'legacy' | 'modern'): McpServer {
  const server = new McpServer(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: codec.verify },
      cacheHints: { 'tools/list': cached, 'prompts/list': cached, 'resources/list': cached },
    },
  );
  registerContentTools(server, bus);
  registerAskingTools(server);
  registerRoundTools(server, codec);
  registerResources(server);
  registerPrompts(server);
  if (era === 'legacy') {
    server.server.setRequestHandler('resources/subscribe', () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', () => ({}));
  }
  return server;
}
