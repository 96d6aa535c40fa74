/**
 * relay SOCKET [PORT]: a port on this machine's loopback that leads to a Unix socket; says its number. A line on its input is a text: what holds it is
 * not handed on from the socket, because the whole relay stops right before.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { Transform } from 'node:stream';
import { say } from './told.ts';

const [socket = '', port = '0'] = process.argv.slice(2);
let last: string | undefined;
createInterface({ input: process.stdin }).on('line', (text) => {
  last = text;
  say('waits');
});
const server = createServer((near) => {
  const far = connect(socket);
  const cut = new Transform({
    transform: (bytes: Buffer, _encoding, handOn) => {
      if (last !== undefined && bytes.includes(last)) {
        last = undefined;
        process.kill(process.pid, 'SIGSTOP');
      }
      handOn(null, bytes);
    },
  });
  near.pipe(far).pipe(cut).pipe(near);
  const end = (): void => {
    near.destroy();
    far.destroy();
  };
  near.on('error', end).on('close', end);
  far.on('error', end).on('close', end);
}).listen(Number(port), '127.0.0.1');
await once(server, 'listening');
say(String((server.address() as AddressInfo).port));
