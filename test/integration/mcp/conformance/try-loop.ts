import { InMemoryServerEventBus } from '@modelcontextprotocol/server';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { serveHttp } from '../../../../src/hosts/mcp/http/serve-http.ts';
import { defaultLimits } from '../../../../src/hosts/mcp/http/http-options.ts';
import { createFixtureServer } from './fixture-server.ts';
import { startTokenProxy } from './token-proxy.ts';
const bus = new InMemoryServerEventBus();
const token = { name: 'conf', modelTier: 'basic', createdAt: '', expiresAt: null } as const;
const log = { debug: () => {}, info: console.log, warn: console.log, error: console.log };
const ep = await serveHttp({ host: '127.0.0.1', port: 0, sse: false, allowedHosts: [], allowedOrigins: [], limits: { ...defaultLimits, messagesPerSecond: 1000 , messageBurst: 10000 , sessionsPerToken: 256},
  authentication: { check: async (b) => (b === 'secret' ? token : undefined), isLive: async () => true }, createServer: (_c, era) => createFixtureServer(bus, era), bus, log });
const viaProxy = process.argv[2] === 'proxy';
const proxy = await startTokenProxy(ep.origin + ep.mcpPath, 'secret');
const url = viaProxy ? proxy.url : ep.origin + ep.mcpPath;
let bad = 0; const t0 = Date.now();
for (let i = 0; i < 150; i++) {
  const client = new Client({ name: 'x', version: '1' }, { capabilities: { sampling: {}, elicitation: {} } });
  client.setRequestHandler(CreateMessageRequestSchema, async () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: 'Bearer secret' } } }));
  try { await client.callTool({ name: 'test_sampling', arguments: { prompt: 'p' } }, undefined, { timeout: 5000 }); } catch (e) { bad++; console.log(i, String(e)); }
  await client.close();
}
console.log('bad', bad, Date.now() - t0, 'ms');
await proxy.close(); await ep.close();
