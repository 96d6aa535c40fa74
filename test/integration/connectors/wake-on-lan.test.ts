import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createWaker, type WakerOptions } from '#connectors/wake-on-lan/create-waker';
import { systemClock } from '#execution/deadline';
import { Fault } from '#kernel/errors';
import { useCleanup } from './cleanup.ts';
import { memoryLog, never } from './pve-server.ts';

const start = useCleanup();
const mac = { pve: 'aa:bb:cc:dd:ee:ff' };

function waker(options: Partial<WakerOptions>) {
  return createWaker({ via: ['pve', 'http', 'packet'], mac: {}, timeoutMs: 30_000, clock: systemClock, log: memoryLog(), ...options });
}

async function wakeApi(handler: RequestListener) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    handler(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  start({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  return { seen, url, http: `${url}/wake/{node}` };
}

async function listener(): Promise<{ readonly socket: Socket; readonly port: number }> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  start(socket);
  return { socket, port: socket.address().port };
}

describe('the cluster’s own way', () => {
  it('says which address was called', async () => {
    const result = await waker({ via: ['pve'], pve: (node) => Promise.resolve(`mac-of-${node}`) }).wake('pve', never);
    expect(result).toEqual({ via: 'pve', detail: 'an online node sent a wake-up packet to mac-of-pve' });
  });
});

describe('the service', () => {
  it('is called by POST', async () => {
    const api = await wakeApi((_request, response) => response.writeHead(202).end('queued'));
    await expect(waker({ via: ['http'], http: api.http }).wake('pve', never)).resolves.toEqual({
      via: 'http',
      detail: 'the wake-up service took it on (POST, status 202)',
    });
    expect(api.seen).toEqual(['POST /wake/pve']);
  });

  it('is called by GET only where it takes no POST', async () => {
    const api = await wakeApi((request, response) => response.writeHead(request.method === 'GET' ? 200 : 405).end());
    await expect(waker({ via: ['http'], http: api.http }).wake('pve', never)).resolves.toMatchObject({
      detail: expect.stringContaining('GET') as string,
    });
    expect(api.seen).toEqual(['POST /wake/pve', 'GET /wake/pve']);
  });

  it.each([301, 302, 307, 308])('is not followed elsewhere (%d)', async (status) => {
    const other = await wakeApi((_request, response) => response.end());
    const api = await wakeApi((_request, response) => response.writeHead(status, { location: `${other.url}/admin` }).end());
    await expect(waker({ via: ['http'], http: api.http }).wake('pve', never)).rejects.toMatchObject({
      code: 'wake_failed',
      message: expect.stringContaining(`status ${status}`) as string,
    });
    expect(other.seen).toEqual([]);
  });

  it.each([404, 500, 503])('that answers %d has not done it', async (status) => {
    const api = await wakeApi((_request, response) => response.writeHead(status).end());
    await expect(waker({ via: ['http'], http: api.http }).wake('pve', never)).rejects.toMatchObject({ code: 'wake_failed' });
    expect(api.seen).toHaveLength(1);
  });

  it('that hangs is given up', async () => {
    const api = await wakeApi(() => undefined);
    await expect(waker({ via: ['http'], http: api.http, timeoutMs: 100 }).wake('pve', never)).rejects.toMatchObject({
      code: 'wake_failed',
      message: expect.stringContaining('http: no answer within 100ms') as string,
    });
  });

  it('that says too much is not listened to', async () => {
    const api = await wakeApi((_request, response) => {
      const block = Buffer.alloc(1 << 16, 0x61);
      const push = () => {
        while (!response.destroyed && response.write(block));
      };
      response.on('drain', push);
      push();
    });
    await expect(waker({ via: ['http'], http: api.http }).wake('pve', never)).resolves.toMatchObject({ via: 'http' });
  });

  it('that is gone is a reason', async () => {
    await expect(waker({ via: ['http'], http: 'http://127.0.0.1:1/{node}' }).wake('pve', never)).rejects.toMatchObject({
      code: 'wake_failed',
      message: expect.stringContaining('ECONNREFUSED') as string,
      retryable: true,
    });
  });
});

describe('a packet of our own', () => {
  it('goes out over UDP as it should', async () => {
    const { socket, port } = await listener();
    const received = once(socket, 'message');
    const result = await waker({ via: ['packet'], mac, destination: { address: '127.0.0.1', port } }).wake('pve', never);
    expect(result).toEqual({ via: 'packet', detail: `a wake-up packet was sent to aa:bb:cc:dd:ee:ff at 127.0.0.1:${port}` });
    const [packet] = (await received) as [Buffer];
    expect(packet.toString('hex')).toBe('f'.repeat(12) + 'aabbccddeeff'.repeat(16));
  });

  it.each(['agent1', 'constructor', 'toString', '__proto__'])('does not go to an address that is not configured: %s', async (node) => {
    await expect(waker({ via: ['packet'], mac }).wake(node, never)).rejects.toMatchObject({ code: 'wake_not_configured' });
  });

  it('that cannot be sent is a reason', async () => {
    const destination = { address: 'no-such-host.invalid', port: 9 };
    await expect(waker({ via: ['packet'], mac, destination }).wake('pve', never)).rejects.toMatchObject({ code: 'wake_failed' });
  });
});

describe('several ways', () => {
  const refuses = () => Promise.reject(new Fault('pve_error', "No wake on LAN MAC address defined for 'pve'!"));

  it('are tried in their order until one works', async () => {
    const api = await wakeApi((_request, response) => response.end());
    const log = memoryLog();
    await expect(waker({ pve: refuses, http: api.http, mac, log }).wake('pve', never)).resolves.toMatchObject({ via: 'http' });
    expect(log.lines).toEqual(["waking pve by pve: No wake on LAN MAC address defined for 'pve'!"]);
  });

  it('are tried in the order that is configured', async () => {
    const api = await wakeApi((_request, response) => response.end());
    const asked: string[] = [];
    const pve = (node: string) => {
      asked.push(node);
      return Promise.resolve('m');
    };
    await waker({ via: ['http', 'pve'], http: api.http, pve }).wake('pve', never);
    expect(asked).toEqual([]);
  });

  it('that all fail are all told', async () => {
    const api = await wakeApi((_request, response) => response.writeHead(500).end());
    const refused = waker({ pve: refuses, http: api.http }).wake('pve', never);
    await expect(refused).rejects.toMatchObject({ code: 'wake_failed' });
    await expect(refused).rejects.toThrow(/pve: No wake on LAN.*; http: .*status 500; packet: no `wake\.mac`/);
  });

  it('of which none is set up are told apart from failure', async () => {
    await expect(waker({}).wake('pve', never)).rejects.toMatchObject({
      code: 'wake_not_configured',
      next: expect.stringMatching(/`wake\.http`.*`wake\.mac` of `pve`/) as string,
      effect: { state: 'not_sent' },
    });
    await expect(waker({ via: [] }).wake('pve', never)).rejects.toMatchObject({ code: 'wake_not_configured' });
  });
});

describe('what to do is said by cause', () => {
  const failing = (thrown: Error) => () => Promise.reject(thrown);
  const pve = (message: string, code = 'pve_error') =>
    failing(new Fault(code, message, { effect: { state: 'not_sent' }, next: 'ask somebody' }));

  it.each([
    ["No wake on LAN MAC address defined for 'pve'!", {}, /run there once: `pvenode config set --wakeonlan MAC` \(MAC:/],
    ["No wake on LAN MAC address defined for 'pve'!", mac, /`pvenode config set --wakeonlan aa:bb:cc:dd:ee:ff`$/],
    ["'pve' is local node, cannot wake my self!", {}, /it is not powered off: see get_cluster_status/],
  ])('%s %o', async (text, known, next) => {
    await expect(waker({ via: ['pve'], pve: pve(text), mac: known }).wake('pve', never)).rejects.toMatchObject({
      code: 'wake_failed',
      next: expect.stringMatching(next) as string,
      effect: { state: 'not_sent' },
    });
  });

  it('no node is up to send it', async () => {
    const waking = waker({ via: ['pve'], pve: pve('cannot be reached', 'pve_unreachable') }).wake('pve', never);
    await expect(waking).rejects.toMatchObject({ next: expect.stringContaining('without the cluster') as string });
  });

  it('a missing right: as the cluster says it', async () => {
    const waking = waker({ via: ['pve'], pve: pve('lacks `Sys.PowerMgmt`', 'pve_forbidden') }).wake('pve', never);
    await expect(waking).rejects.toMatchObject({ next: 'ask somebody' });
  });

  it('the service refuses connections: nothing was sent', async () => {
    const api = await wakeApi((_request, response) => response.end());
    const gone = waker({ via: ['http'], http: 'http://127.0.0.1:1/wake/{node}' }).wake('pve', never);
    await expect(gone).rejects.toMatchObject({
      next: expect.stringContaining('start the wake-up service at http://127.0.0.1:1, or correct `wake.http`') as string,
      effect: { state: 'not_sent' },
    });
    expect(api.seen).toEqual([]);
  });

  it('the service breaks off: it may have done it', async () => {
    const api = await wakeApi((request) => request.socket.destroy());
    await expect(waker({ via: ['http'], http: api.http }).wake('pve', never)).rejects.toMatchObject({
      effect: { state: 'sent', what: expect.stringContaining('may have been sent') as string },
    });
  });
});

describe('cancelling', () => {
  it('stops at once and tries nothing else', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const api = await wakeApi(() => arrive());
    const { socket, port } = await listener();
    let packets = 0;
    socket.on('message', () => packets++);
    const caller = new AbortController();
    const refused = expect(
      waker({ via: ['http', 'packet'], http: api.http, mac, destination: { address: '127.0.0.1', port } }).wake('pve', caller.signal),
    ).rejects.toMatchObject({ code: 'cancelled' });
    await arrived;
    caller.abort();
    await refused;
    expect(packets).toBe(0);
  });

  it('before the start tries nothing', async () => {
    const api = await wakeApi((_request, response) => response.end());
    await expect(waker({ via: ['http'], http: api.http }).wake('pve', AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    expect(api.seen).toEqual([]);
  });
});
