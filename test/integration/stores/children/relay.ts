/** relay SOCKET [PORT]: a port on this machine's loopback that leads to a Unix socket; says its number. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { say } from './told.ts';

const [socket = '', port = '0'] = process.argv.slice(2);
const server = createServer((near) => {
  const far = connect(socket);
  near.pipe(far).pipe(near);
  const end = (): void => {
    near.destroy();
    far.destroy();
  };
  near.on('error', end).on('close', end);
  far.on('error', end).on('close', end);
}).listen(Number(port), '127.0.0.1');
await once(server, 'listening');
say(String((server.address() as AddressInfo).port));
