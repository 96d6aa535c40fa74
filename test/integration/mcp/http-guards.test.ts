/** The endpoint's guards, each alone, with real sockets and limits small enough to meet. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { Server } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it } from 'vitest';
import type { McpToken } from '#app/people/mcp-tokens';
import { isPrivateAddress } from '#hosts/mcp/http/gatekeeper';
import { defaultLimits, type HttpLimits, type HttpOptions } from '#hosts/mcp/http/http-options';
import { type HttpEndpoint, serveHttp } from '#hosts/mcp/http/serve-http';
import { oldOverHttp, oldOverSse } from './clients.ts';

const endpoints: HttpEndpoint[] = [];
afterEach(async () => {
  await Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close()));
});

/** Tokens `a`, `b`, …; revoked ones are taken out. */
let live = new Set(['a', 'b']);

function tokenNamed(name: string): McpToken {
  return { name, modelTier: 'basic', createdAt: '2026-01-01T00:00:00.000Z', expiresAt: null };
}

interface Gate {
  /** Called by the tool; it answers when the promise does. */
  wait(signal: AbortSignal): Promise<void>;
}

async function start(limits: Partial<HttpLimits> = {}, more: Partial<HttpOptions> = {}, gate?: Gate): Promise<HttpEndpoint> {
  live = new Set(['a', 'b']);
  const quiet = () => undefined;
  const endpoint = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    sse: true,
    allowedHosts: [],
    allowedOrigins: [],
    limits: { ...defaultLimits, ...limits },
    authentication: {
      check: (bearer) => Promise.resolve(live.has(bearer) ? tokenNamed(bearer) : undefined),
      isLive: ({ name }) => Promise.resolve(live.has(name)),
    },
    createServer: (caller) => createServer(caller.name, gate),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    ...more,
  });
  endpoints.push(endpoint);
  return endpoint;
}

/** One tool that says who calls. */
function createServer(name: string, gate?: Gate): Server {
  const server = new Server({ name: 'guarded', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'who', inputSchema: { type: 'object' } }] }));
  server.setRequestHandler('tools/call', async (_request, ctx) => {
    await gate?.wait(ctx.mcpReq.signal);
    return { content: [{ type: 'text', text: name }] };
  });
  return server;
}

interface Sent {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
});
const plain = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: 'Bearer a' };

interface Request {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

/** Raw, so that every header can be wrong. A header that is undefined is left out. */
async function send(
  endpoint: HttpEndpoint,
  { path: at = '/mcp', method = 'POST', headers = {}, body = initialize }: Request = {},
): Promise<Sent> {
  const all = Object.fromEntries(Object.entries({ ...plain, ...headers }).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = httpRequest(`${endpoint.origin}${at}`, { method, headers: all, agent: false }, resolve).on('error', reject);
  outgoing.end(method === 'POST' ? body : undefined);
  const answer = await promise;
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}

describe('against DNS rebinding', () => {
  it.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.nip.io',
    'localhost.evil.example',
    'localhost@evil.example',
    '2130706433',
    '0x7f.0.0.1',
    '127.1',
    '0.0.0.0',
    '[::]',
    'localhost:80/',
    ' ',
  ])('Host `%s` is refused', async (host) => {
    const endpoint = await start();
    expect((await send(endpoint, { headers: { host } })).status).toBeGreaterThanOrEqual(400);
    expect((await send(endpoint, { path: '/health', method: 'GET', headers: { host } })).body).not.toContain('ok');
  });

  it.each(['localhost', '127.0.0.1', '[::1]', 'localhost:9', 'LOCALHOST'])('Host `%s` is this machine', async (host) => {
    expect((await send(await start(), { headers: { host } })).status).toBe(200);
  });

  it('two Host headers are refused', async () => {
    const endpoint = await start();
    const { port } = new URL(endpoint.origin);
    const socket = connect(Number(port), '127.0.0.1');
    socket.end('GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  it.each(['https://evil.example', 'null', 'http://localhost:1', 'https://localhost', 'http://127.0.0.1.evil.example', 'file://'])(
    'Origin `%s` is refused',
    async (origin) => {
      expect((await send(await start(), { headers: { origin } })).status).toBe(403);
    },
  );

  it('its own origin and an allowed one are not', async () => {
    const endpoint = await start({}, { allowedOrigins: ['https://tool.example'] });
    expect((await send(endpoint, { headers: { origin: endpoint.origin } })).status).toBe(200);
    expect((await send(endpoint, { headers: { origin: 'https://tool.example' } })).status).toBe(200);
    expect((await send(endpoint, { headers: { origin: 'https://tool.example.evil' } })).status).toBe(403);
    const { headers } = await send(endpoint, { headers: { origin: 'https://tool.example' } });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('a name can be allowed', async () => {
    const endpoint = await start({}, { allowedHosts: ['Banksman.Example'] });
    expect((await send(endpoint, { headers: { host: 'banksman.example:8443' } })).status).toBe(200);
  });
});

describe('without a valid token', () => {
  it.each([undefined, '', 'Bearer', 'Bearer ', 'Bearer c', 'Basic a', 'a', 'Bearer a b', `Bearer ${'a'.repeat(5000)}`])(
    'Authorization `%s` gets 401 everywhere but at /health',
    async (authorization) => {
      const endpoint = await start();
      const headers = { authorization };
      const answers = [
        await send(endpoint, { headers }),
        await send(endpoint, { headers, method: 'GET' }),
        await send(endpoint, { headers, method: 'DELETE' }),
        await send(endpoint, { headers, method: 'GET', path: '/sse' }),
        await send(endpoint, { headers, path: '/messages?sessionId=1' }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
      expect(answers[0]?.headers['www-authenticate']).toBe('Bearer realm="banksman"');
      expect(await send(endpoint, { headers, method: 'GET', path: '/health' })).toMatchObject({ status: 200, body: '{"status":"ok"}' });
    },
  );

  it('a token in the address does not count', async () => {
    const endpoint = await start();
    const headers = { authorization: undefined };
    for (const at of ['/mcp?token=a', '/mcp?access_token=a']) expect((await send(endpoint, { headers, path: at })).status).toBe(401);
  });

  it('guessing is slowed down; a right token still gets in from the same address', async () => {
    const endpoint = await start({ refusalBurst: 3, refusalsPerMinute: 1 });
    const guess = async () => (await send(endpoint, { headers: { authorization: 'Bearer wrong' } })).status;
    expect([await guess(), await guess(), await guess(), await guess()]).toEqual([401, 401, 401, 429]);
    expect((await send(endpoint)).status).toBe(200);
  });
});

describe('limits', () => {
  it('a body that is too long is refused, whether it says so or not', async () => {
    const endpoint = await start({ bodyBytes: 1000 });
    const long = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'x'.repeat(2000)}"}}`;
    expect((await send(endpoint, { body: long })).status).toBe(413);
    expect((await send(endpoint, { body: long, headers: { 'transfer-encoding': 'chunked' } })).status).toBe(413);
    expect((await send(endpoint)).status).toBe(200);
  });

  it.each([
    ['not JSON', 'not json', 400],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('latin1'), 400],
    ['an empty body', '', 400],
    ['a batch that is too long', JSON.stringify(Array.from({ length: 33 }, () => ({ jsonrpc: '2.0', method: 'x' }))), 400],
    ['a number', '1', 400],
  ])('%s gets an error', async (_what, body, status) => {
    expect((await send(await start(), { body })).status).toBe(status);
  });

  it('another content type gets 415', async () => {
    const endpoint = await start();
    for (const type of ['text/plain', 'application/jsonx', undefined]) {
      expect((await send(endpoint, { headers: { 'content-type': type } })).status).toBe(415);
    }
  });

  it('messages per token, each of a batch counted; another token is not touched', async () => {
    const endpoint = await start({ messageBurst: 4, messagesPerSecond: 0.01 });
    const batch = JSON.stringify(Array.from({ length: 4 }, () => ({ jsonrpc: '2.0', method: 'notifications/initialized' })));
    expect((await send(endpoint, { body: batch })).status).toBe(400);
    const slowed = await send(endpoint);
    expect(slowed.status).toBe(429);
    expect(Number(slowed.headers['retry-after'])).toBeGreaterThan(0);
    expect((await send(endpoint, { headers: { authorization: 'Bearer b' } })).status).toBe(200);
  });

  it('requests under way per token, over both transports', async () => {
    const entered: (() => void)[] = [];
    const full = Promise.withResolvers<void>();
    const gate: Gate = {
      wait: () =>
        new Promise((resolve) => {
          entered.push(resolve);
          if (entered.length === 2) full.resolve();
        }),
    };
    const endpoint = await start({ requestsAtOncePerToken: 2 }, {}, gate);
    const client = await oldOverHttp(`${endpoint.origin}/mcp`, 'a');
    const calls = [1, 2].map(() => client.callTool({ name: 'who', arguments: {} }));
    await full.promise;
    await expect(client.callTool({ name: 'who', arguments: {} })).rejects.toThrow(/too many requests under way/);
    expect((await send(endpoint, { headers: { authorization: 'Bearer b' } })).status).toBe(200);
    for (const answer of entered.splice(0)) answer();
    expect(await Promise.all(calls)).toHaveLength(2);
    const stream = await oldOverSse(`${endpoint.origin}/sse`, 'b');
    const streamed = [1, 2].map(() => stream.callTool({ name: 'who', arguments: {} }));
    while (entered.length < 2) await new Promise(setImmediate);
    await expect(stream.callTool({ name: 'who', arguments: {} })).rejects.toThrow(/too many requests under way/);
    for (const answer of entered.splice(0)) answer();
    expect(await Promise.all(streamed)).toHaveLength(2);
    await Promise.all([client.close(), stream.close()]);
  });

  /** A tool that ends only when it is cancelled. */
  function stuck() {
    const entered: (() => void)[] = [];
    const gate: Gate = {
      wait: (signal) => {
        entered.shift()?.();
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled')), { once: true }));
      },
    };
    const next = (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      entered.push(resolve);
      return promise;
    };
    return { gate, next };
  }

  it('a cancelled call gives its place back, also of a client that holds its stream open, and with no place left', async () => {
    const { gate, next } = stuck();
    const endpoint = await start({ requestsAtOncePerToken: 1 }, {}, gate);
    const client = await oldOverHttp(`${endpoint.origin}/mcp`, 'a');
    for (let round = 0; round < 3; round += 1) {
      const running = next();
      const giveUp = new AbortController();
      const call = client.callTool({ name: 'who', arguments: {} }, undefined, { signal: giveUp.signal }).catch(() => 'given up');
      await running;
      giveUp.abort();
      expect(await call).toBe('given up');
      // The notice is on its way; until it is there, the place is taken.
      let tools: unknown;
      while (tools === undefined) tools = await client.listTools().catch(() => undefined);
      expect(tools).toMatchObject({ tools: [{ name: 'who' }] });
    }
    await client.close();
  });

  it('other paths and methods', async () => {
    const endpoint = await start({}, { sse: false });
    expect((await send(endpoint, { path: '/' })).status).toBe(404);
    expect((await send(endpoint, { path: '/sse', method: 'GET' })).status).toBe(404);
    expect((await send(endpoint, { path: '/mcp/../health', method: 'GET' })).status).toBe(200);
    expect((await send(endpoint, { method: 'OPTIONS' })).status).toBe(405);
    expect((await send(endpoint, { path: '/health' })).status).toBe(405);
  });
});

describe('sessions', () => {
  async function open(endpoint: HttpEndpoint, token = 'a'): Promise<string> {
    const { headers } = await send(endpoint, { headers: { authorization: `Bearer ${token}` } });
    return String(headers['mcp-session-id']);
  }

  const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
  const use = async (endpoint: HttpEndpoint, session: string, token = 'a') =>
    (await send(endpoint, { body: list, headers: { 'mcp-session-id': session, authorization: `Bearer ${token}` } })).status;

  it('belong to the token that opened them', async () => {
    const endpoint = await start();
    const session = await open(endpoint);
    expect(await use(endpoint, session)).toBe(200);
    expect(await use(endpoint, session, 'b')).toBe(404);
    expect(await use(endpoint, 'made-up')).toBe(404);
  });

  it('are not needed to begin, but for everything after', async () => {
    expect((await send(await start(), { body: list })).status).toBe(400);
  });

  it('expire when nobody uses them', async () => {
    const endpoint = await start({ sessionIdleMs: 1, sweepMs: 5 });
    const session = await open(endpoint);
    let status = 200;
    while (status === 200) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      status = await use(endpoint, session);
    }
    expect(status).toBe(404);
  });

  it('end with their token, their streams too', async () => {
    const endpoint = await start({ sweepMs: 5 });
    const stream = await oldOverSse(`${endpoint.origin}/sse`, 'a');
    const closed = Promise.withResolvers<void>();
    Object.assign(stream, { onerror: () => closed.resolve() });
    live.delete('a');
    await closed.promise;
    await stream.close();
    expect((await send(endpoint)).status).toBe(401);
  });

  it('what has no session ends with its token: a call that runs, and a subscription', async () => {
    const cancelled = Promise.withResolvers<void>();
    const running = Promise.withResolvers<void>();
    const gate: Gate = {
      wait: (signal) => {
        running.resolve();
        signal.addEventListener('abort', () => cancelled.resolve(), { once: true });
        return cancelled.promise;
      },
    };
    const endpoint = await start({ sweepMs: 5 }, {}, gate);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const ask = (method: string, params: Readonly<Record<string, unknown>>, name: Readonly<Record<string, string>> = {}) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } });
      const headers = { ...plain, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name };
      return fetch(`${endpoint.origin}/mcp`, { method: 'POST', body, headers });
    };
    const subscription = (await ask('subscriptions/listen', { notifications: { toolsListChanged: true } })).text();
    const call = ask('tools/call', { name: 'who', arguments: {} }, { 'mcp-name': 'who' });
    await running.promise;
    live.delete('a');
    const ends = await Promise.allSettled([call, subscription]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await cancelled.promise;
  });

  it('too many of one token push out its own oldest idle one', async () => {
    const endpoint = await start({ sessionsPerToken: 2 });
    const [first, second] = [await open(endpoint), await open(endpoint)];
    const other = await open(endpoint, 'b');
    const third = await open(endpoint);
    expect(await use(endpoint, first)).toBe(404);
    expect([await use(endpoint, second), await use(endpoint, third), await use(endpoint, other, 'b')]).toEqual([200, 200, 200]);
  });

  it('hear that the list of tools is another one', async () => {
    const endpoint = await start();
    const heard = Promise.withResolvers<string>();
    const client = await oldOverHttp(`${endpoint.origin}/mcp`, 'a', {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => heard.resolve('changed') } },
    });
    // The client opens its stream on its own time; until then there is nobody to tell.
    const again = setInterval(() => endpoint.toolsChanged(), 20);
    expect(await heard.promise.finally(() => clearInterval(again))).toBe('changed');
    await client.close();
  });
});

describe('TLS', () => {
  it('serves beyond loopback with a certificate, and only over TLS', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'banksman-tls-'));
    try {
      const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
      const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:P-256',
          '-nodes',
          '-days',
          '1',
          '-keyout',
          key,
          '-out',
          cert,
          ...subject,
        ],
        { stdio: 'ignore' },
      );
      const pem = { cert: readFileSync(cert), key: readFileSync(key) };
      const endpoint = await start({}, { host: '0.0.0.0', tls: pem });
      const { port } = new URL(endpoint.origin);
      expect(endpoint.origin).toBe(`https://0.0.0.0:${port}`);
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      httpsRequest({ host: '127.0.0.1', port, path: '/health', ca: pem.cert, servername: 'localhost' }, resolve).on('error', reject).end();
      expect(await text(await promise)).toBe('{"status":"ok"}');
      await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow('fetch failed');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('refuses to listen beyond loopback without it', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', '10.0.0.1']) {
      await expect(start({}, { host })).rejects.toMatchObject({ code: 'tls_required', next: expect.stringContaining('--tls-cert') });
    }
  });

  it('on a network that is said to be private does, but not on an address of the Internet', async () => {
    for (const host of ['203.0.113.7', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2001:db8::1'])
      await expect(start({}, { host, privateNetwork: true })).rejects.toMatchObject({ code: 'tls_required' });
    const endpoint = await start({}, { host: '0.0.0.0', privateNetwork: true });
    const { port } = new URL(endpoint.origin);
    const here = { ...endpoint, origin: `http://127.0.0.1:${port}` };
    expect((await send(here, {})).status).toBe(200);
    // What is trusted is the wire, not who comes by it.
    expect((await send(here, { headers: { authorization: 'Bearer bkm.nobody.x' } })).status).toBe(401);
    expect((await send(here, { headers: { host: '0.0.0.0' } })).status).toBe(403);
  });

  it.each([
    ['10.0.0.1', true],
    ['172.16.0.1', true],
    ['172.31.255.255', true],
    ['192.168.1.1', true],
    ['100.64.0.1', true],
    ['169.254.1.1', true],
    ['::ffff:10.1.2.3', true],
    ['fd00::1', true],
    ['fe80::1%eth0', true],
    ['::1', true],
    ['172.15.0.1', false],
    ['172.32.0.1', false],
    ['100.63.0.1', false],
    ['192.169.0.1', false],
    ['11.0.0.1', false],
    ['::ffff:8.8.8.8', false],
    ['2001:db8::1', false],
    ['fec0::1', false],
    ['', false],
    [undefined, false],
  ])('%s is of a private network: %s', (address, expected) => expect(isPrivateAddress(address)).toBe(expected));
});
