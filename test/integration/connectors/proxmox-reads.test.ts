import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { useCleanup } from './cleanup.ts';
import { authority, clientOf, closedPort, data, failure, type Handler, memoryLog, never, secret, startPve, tokenId } from './pve-server.ts';

const start = useCleanup();
const version = { version: '9.1.5', release: '9.1' };
const answers: Handler = (_request, response) => data(response, version);
const hangs: Handler = () => undefined;

async function pve(handler: Handler, options?: Parameters<typeof startPve>[1]) {
  return start(await startPve(handler, options));
}

describe('a request', () => {
  it('carries the token, and asks for it anew each time', async () => {
    const server = await pve(answers);
    const secrets = ['first', 'second'];
    const client = start(clientOf([server], { token: () => Promise.resolve(`${secrets.shift()}\n`) }));
    await client.version(never);
    await client.version(never);
    expect(server.seen.map((one) => one.authorization)).toEqual([`PVEAPIToken=${tokenId}=first`, `PVEAPIToken=${tokenId}=second`]);
  });

  it.each([
    ['empty', () => Promise.resolve(' \n')],
    ['two lines', () => Promise.resolve('one\r\nX-Evil: two')],
    ['unreadable', () => Promise.reject(new Error('ENOENT: no such file'))],
  ])('is not sent with a token that is %s', async (_what, token) => {
    const server = await pve(answers);
    const client = start(clientOf([server], { token }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_token_missing' });
    expect(server.seen).toEqual([]);
  });

  it('reuses connections, and survives that the server closes them', async () => {
    const server = await pve(answers);
    const client = start(clientOf([server]));
    for (let index = 0; index < 10; index++) await client.version(never);
    expect(server.connections()).toBeLessThanOrEqual(2);
    // At once, so that the client cannot have noticed before it sends.
    for (const socket of server.sockets) socket.destroy();
    await expect(client.version(never)).resolves.toEqual(version);
  });

  it('is repeated once over a new connection when the old one ends before the answer', async () => {
    const server = await pve((request, response) => {
      if (server.seen.length === 2) request.socket.destroy();
      else data(response, version);
    });
    const client = start(clientOf([server]));
    await client.version(never);
    await expect(client.version(never)).resolves.toEqual(version);
    expect(server.seen).toHaveLength(3);
  });

  it('does not follow a redirect', async () => {
    const target = await pve(answers);
    const server = await pve((_request, response) => response.writeHead(302, { location: `${target.url}/api2/json/version` }).end());
    const client = start(clientOf([server]));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_bad_answer' });
    expect(target.seen).toEqual([]);
  });
});

describe('fail-over of reads', () => {
  const faulty: Record<string, Handler> = {
    hangs,
    'resets before the answer': (request) => request.socket.destroy(),
    'resets in the middle of the body': (request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"data":', () => request.socket.destroy());
    },
    'is a proxy without its server': (_request, response) => failure(response, 502, 'Bad Gateway'),
    'cannot reach the node behind it': (_request, response) => failure(response, 595, 'Connection refused'),
    'does not speak HTTP': (request) => request.socket.end('220 mail ready\r\n'),
  };

  it.each(Object.entries(faulty))('to the next endpoint when one %s', async (_what, handler) => {
    const [bad, good] = [await pve(handler), await pve(answers)];
    const client = start(clientOf([bad, good], { timeoutMs: 6_000 }));
    await expect(client.version(never)).resolves.toEqual(version);
    expect(bad.seen.length).toBeGreaterThan(0);
    expect(good.seen).toHaveLength(1);
  });

  it('to the next endpoint when one refuses connections, and remembers which one works', async () => {
    const [gone, good] = [{ url: await closedPort() }, await pve(answers)];
    const log = memoryLog();
    const client = start(clientOf([gone, good], { log }));
    await client.version(never);
    await client.version(never);
    expect(good.seen).toHaveLength(2);
    expect(log.lines).toEqual([expect.stringContaining(`${gone.url}: connection refused`)]);
  });

  it('goes back to an endpoint that is up again when the other is gone', async () => {
    const first = await startPve(answers);
    const second = await pve(answers);
    const client = start(clientOf([first, second]));
    await client.version(never);
    await first.close();
    await client.version(never);
    const port = Number(new URL(first.url).port);
    const again = await pve(answers, { port, certificate: first.certificate });
    await second.close();
    start({ close: () => second.server.listen(0) });
    await expect(client.version(never)).resolves.toEqual(version);
    expect(again.seen).toHaveLength(1);
  });

  it('does not happen on an answer of the API itself', async () => {
    const [first, second] = [await pve((_request, response) => failure(response, 500, 'got no worker')), await pve(answers)];
    const client = start(clientOf([first, second]));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_error' });
    expect(second.seen).toEqual([]);
  });

  it('ends with what the node said when no endpoint reaches the node behind', async () => {
    const handler: Handler = (_request, response) => failure(response, 595, 'No route to host');
    const client = start(clientOf([await pve(handler), await pve(handler)]));
    await expect(client.nodeStatus('agent1', never)).rejects.toMatchObject({
      code: 'pve_node_unreachable',
      retryable: true,
      message: expect.stringContaining('No route to host') as string,
    });
  });

  it('ends with every endpoint and its reason', async () => {
    const first = { url: await closedPort() };
    const second = await pve((request) => request.socket.destroy());
    const client = start(clientOf([first, second]));
    const refused = client.version(never);
    await expect(refused).rejects.toMatchObject({ code: 'pve_unreachable', retryable: true });
    await expect(refused).rejects.toThrow(new RegExp(`${first.url}.*connection refused.*${second.url}.*closed before`));
  });

  it('ends in time when all hang', async () => {
    const client = start(clientOf([await pve(hangs), await pve(hangs)], { timeoutMs: 400 }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_timeout', retryable: true });
  });
});

describe('limits and cancelling', () => {
  it('ends a request that hangs, and its socket', async () => {
    const server = await pve(hangs);
    const client = start(clientOf([server], { timeoutMs: 200 }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_timeout', message: expect.stringContaining('200ms') as string });
    await Promise.all([...server.sockets].map((socket) => once(socket, 'close')));
    expect(server.sockets.size).toBe(0);
  });

  it('ends a body that drips for ever', async () => {
    const server = await pve((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    });
    const client = start(clientOf([server], { timeoutMs: 300 }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_timeout' });
  });

  it('closes the socket when the caller cancels', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const server = await pve(() => arrive());
    const client = start(clientOf([server]));
    const caller = new AbortController();
    const refused = expect(client.version(caller.signal)).rejects.toMatchObject({ code: 'cancelled' });
    await arrived;
    const closed = Promise.all([...server.sockets].map((socket) => once(socket, 'close')));
    caller.abort();
    await refused;
    await closed;
  });

  it('sends nothing for a caller that has cancelled already', async () => {
    const server = await pve(answers);
    const client = start(clientOf([server]));
    await expect(client.version(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    expect(server.seen).toEqual([]);
  });

  it('gives up on a server that accepts and never shakes hands', async () => {
    const server = createTcpServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const open = new Set<{ destroy(): void }>();
    server.on('connection', (socket) => open.add(socket));
    start({
      close: () => {
        for (const socket of open) socket.destroy();
        server.close();
      },
    });
    const client = start(clientOf([{ url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }], { timeoutMs: 300 }));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_timeout' });
  });

  it('reads no more than 16 MiB', async () => {
    const server = await pve((_request, response) => {
      response.writeHead(200);
      const block = Buffer.alloc(1 << 20, 0x20);
      const push = () => {
        while (!response.destroyed && response.write(block));
      };
      response.on('drain', push);
      push();
    });
    const client = start(clientOf([server]));
    await expect(client.version(never)).rejects.toMatchObject({ code: 'pve_bad_answer' });
  });
});

describe('answers that cannot be used', () => {
  const bodies: [string, string][] = [
    ['HTML', '<html><body>It works!</body></html>'],
    ['half of one', '{"data":[{"vmid":100'],
    ['no `data`', '{"error":"x"}'],
    ['a list where rows are due', '{"data":{"a":1}}'],
    ['a row that is no object', '{"data":["x"]}'],
    ['a guest without a node', '{"data":[{"type":"qemu","vmid":100}]}'],
    ['a guest with a text for its number', '{"data":[{"type":"qemu","vmid":"0x64","node":"pve"}]}'],
    ['nothing', ''],
  ];

  it.each(bodies)('%s', async (_what, body) => {
    const server = await pve((_request, response) => response.end(body));
    const client = start(clientOf([server]));
    await expect(client.guests(never)).rejects.toMatchObject({ code: 'pve_bad_answer' });
  });
});

describe('error answers', () => {
  it.each([
    [401, 'Authentication failed!', 'pve_unauthorized'],
    [403, 'Permission check failed (/nodes/pve, Sys.Audit)', 'pve_forbidden'],
    [400, 'Parameter verification failed.', 'pve_bad_request'],
    [500, "hostname lookup 'nosuch' failed - failed to get address info for: nosuch", 'pve_not_found'],
    [500, 'cluster not ready - no quorum?', 'pve_no_quorum'],
    [500, 'CT 201 already running', 'pve_error'],
    [501, "Method 'GET /nosuch' not implemented", 'pve_not_implemented'],
    [595, 'Connection refused', 'pve_node_unreachable'],
    [596, 'Broken pipe', 'pve_node_unreachable'],
    [599, 'Too many redirections', 'pve_node_unreachable'],
    [418, 'short and stout', 'pve_bad_answer'],
  ])('%d %s', async (status, text, code) => {
    const server = await pve((_request, response) => failure(response, status, text));
    const client = start(clientOf([server]));
    await expect(client.nodeStatus('pve', never)).rejects.toMatchObject({ code });
  });

  it('never repeat the token, even if the server does', async () => {
    const server = await pve((request, response) => failure(response, 500, `bad header ${request.headers.authorization}`));
    const client = start(clientOf([server]));
    const fault = await client.version(never).catch((thrown: unknown) => thrown as Error);
    expect(fault).toMatchObject({ code: 'pve_error', message: expect.stringContaining('(secret)') as string });
    expect(JSON.stringify(fault, Object.getOwnPropertyNames(fault))).not.toContain(secret);
  });
});

describe('targets', () => {
  it.each([
    'localhost',
    'LocalHost',
    '10.0.0.1',
    '2130706433',
    '0x7f000001',
    '::1',
    'agent1/qemu/103',
    'agent1%2fqemu',
    '..',
    '',
    'a b',
    '-x',
    `a${'b'.repeat(70)}`,
  ])('node `%s` is refused before anything is sent', async (node) => {
    const server = await pve(answers);
    const client = start(clientOf([server]));
    const guest = { node, vmid: 100, guestType: 'qemu' } as const;
    const calls = [
      () => client.nodeStatus(node, never),
      () => client.backups(node, 'local', never),
      () => client.guestConfig(guest, never),
      () => client.guestStatus(guest, never),
      () => client.snapshots(guest, never),
      () => client.changeGuest(guest, 'stop', never),
      () => client.wakeOnLan(node, never),
      () => client.taskStatus(`UPID:${node}:00000001:00000001:60000000:qmstart:100:root@pam:`, never),
      () => client.taskLog(`UPID:${node}:00000001:00000001:60000000:qmstart:100:root@pam:`, never),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'bad_target' });
    expect(server.seen).toEqual([]);
  });

  it('the CA file and the address must fit: 127.0.0.2 is not 127.0.0.1', async () => {
    const server = await pve(answers, { host: '127.0.0.2', certificate: authority.issue('pve', [], ['127.0.0.1']) });
    const client = start(clientOf([server]));
    await expect(client.version(never)).rejects.toMatchObject({
      code: 'pve_tls_untrusted',
      message: expect.stringContaining('ALTNAME') as string,
    });
  });
});
