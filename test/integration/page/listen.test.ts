/** The page's place: held whole, or not at all. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { listenForPage, type PageListeners } from '#hosts/page/listen';
import { makeCertificate } from './certificate.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const entry of open.splice(0)) await entry.close();
});

async function listen(origin: string, demo = true): Promise<PageListeners> {
  const listener = { connection: () => undefined, request: (_: unknown, response: ServerResponse) => void response.end('here') };
  const listeners = await listenForPage(demo ? { origin, demo } : { origin }, '/', listener);
  open.push(listeners);
  return listeners;
}

async function occupy(host: string, port = 0): Promise<number> {
  const server = createServer();
  await once(server.listen({ host, port, ipv6Only: true }), 'listening');
  open.push({ close: () => new Promise((resolve) => server.close(resolve)) });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('holds both loopback addresses, so that nobody else is `localhost` there', async () => {
  const { address } = await listen('http://localhost:0');
  const port = Number(new URL(address.origin).port);
  expect(address).toEqual({ origin: `http://localhost:${port}`, host: `localhost:${port}` });
  for (const host of ['127.0.0.1', '[::1]']) expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe('here');
  for (const host of ['127.0.0.1', '::1']) await expect(occupy(host, port)).rejects.toThrow('EADDRINUSE');
});

it.each([
  ['::1', '127.0.0.1'],
  ['127.0.0.1', '::1'],
])('does not start where somebody has %s, and lets go of %s', async (taken, other) => {
  const port = await occupy(taken);
  await expect(listen(`http://localhost:${port}`)).rejects.toMatchObject({ code: 'port_taken', next: expect.stringContaining('ss -ltnp') });
  expect(await occupy(other, port)).toBe(port);
});

it.each([1024, 8443, 0])('refuses port %i, which any user could take', async (port) => {
  await expect(listen(`http://localhost:${port}`, false)).rejects.toMatchObject({ code: 'bad_port' });
});

it.runIf(process.getuid?.() === 0)('takes a port below 1024', async () => {
  const { address } = await listen('http://localhost:779', false);
  expect(address.origin).toBe('http://localhost:779');
});

it('says what is wrong with a certificate', async () => {
  const [one, other] = [makeCertificate('a.lan'), makeCertificate('b.lan')];
  for (const { folder } of [one, other]) open.push({ close: () => rmSync(folder, { recursive: true }) });
  const page = { origin: 'https://a.lan', host: '127.0.0.1' };
  const pairs = [
    { certFile: one.certFile, keyFile: other.keyFile },
    { certFile: 'none.pem', keyFile: one.keyFile },
  ];
  for (const pair of pairs) {
    await expect(
      listenForPage({ ...page, ...pair }, one.folder, { connection: () => undefined, request: () => undefined }),
    ).rejects.toMatchObject({ code: 'bad_tls' });
  }
});
