import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createClients } from '#hosts/page/clients';

const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const row = (local: string, peer: string, uid: number, inode = 7) =>
  `   0: ${local} ${peer} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;
const table = (files: { readonly tcp?: string; readonly tcp6?: string }) => async (file: string) =>
  head + ((file.endsWith('6') ? files.tcp6 : files.tcp) ?? '');
/** Of the page's port 779. */
const socket = (remoteAddress: string, remotePort: number) =>
  ({ remoteAddress, remotePort, localPort: 779, once: () => undefined, destroy: () => undefined, destroyed: false }) as unknown as Socket;

it.each([
  ['127.0.0.1', { tcp: row('0100007F:C350', '0100007F:030B', 1001) }],
  ['127.0.0.5', { tcp: row('0500007F:C350', '0100007F:030B', 1001) }],
  ['::1', { tcp6: row('00000000000000000000000001000000:C350', '00000000000000000000000001000000:030B', 1001) }],
  ['127.0.0.1', { tcp6: row('0000000000000000FFFF00000100007F:C350', '0000000000000000FFFF00000100007F:030B', 1001) }],
])('a connection from %s is its user’s', async (address, files) => {
  const clients = createClients(table(files));
  const one = socket(address, 50_000);
  clients.accept(one);
  expect(await clients.of(one)).toBe('uid:1001');
});

it.each([
  ['whom the table does not know', table({})],
  ['that is being closed, which the table lists as root’s', table({ tcp: row('0100007F:C350', '0100007F:030B', 0, 0) })],
  ['of another port', table({ tcp: row('0100007F:C351', '0100007F:030B', 1001) })],
  ['while the table cannot be read', () => Promise.reject(new Error('no'))],
])('one %s is its address’s', async (_who, read) => {
  const clients = createClients(read);
  const one = socket('127.0.0.1', 50_000);
  clients.accept(one);
  expect(await clients.of(one)).toBe('127.0.0.1');
});

it.skipIf(process.platform !== 'linux')('a real one is this process’s user’s', async () => {
  const clients = createClients();
  const server = createServer((peer) => {
    clients.accept(peer);
    void clients.of(peer).then((name) => peer.end(name));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  let said = '';
  for await (const chunk of connect(port, '127.0.0.1')) said += String(chunk);
  server.close();
  expect(said).toBe(`uid:${process.getuid?.()}`);
});
