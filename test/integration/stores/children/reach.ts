/** reach HOST:PORT…: says for each, in order, `open` or how the connection failed. */
import { createConnection } from 'node:net';
import { say } from './told.ts';

for (const place of process.argv.slice(2)) {
  const at = place.lastIndexOf(':');
  const outcome = await new Promise<string>((resolve) => {
    const socket = createConnection({ host: place.slice(0, at), port: Number(place.slice(at + 1)), timeout: 2000 });
    const end = (word: string): void => {
      socket.destroy();
      resolve(word);
    };
    socket.once('connect', () => end('open'));
    socket.once('timeout', () => end('silence'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'error'));
  });
  say(outcome);
}
