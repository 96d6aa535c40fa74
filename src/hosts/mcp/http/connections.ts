/** Who is connected, and who of them has nothing under way: those make room where there are too many. */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';

type Socket = IncomingMessage['socket'];

/** Open at once, whoever holds them: each costs a descriptor. */
const mostConnections = 1_024;
/** Of these, such as have nothing under way: they have not asked yet, or were answered. */
const mostIdle = 256;

/**
 * SECURITY: whoever opens connections and says nothing must shut nobody out. Beyond `mostIdle` the one that has been idle for longest is ended, of the
 * address that has most of them; who comes with a request has been asked for it long before. Only connections with a request under way are refused
 * beyond `mostConnections`, and those need a token.
 */
export function limitConnections(server: HttpServer): void {
  // Above the limit, so that those of a flood are looked at before they are ended.
  server.maxConnections = mostConnections + mostIdle;
  /** The oldest first. */
  const idle = new Map<string, Socket>();

  const rest = (key: string, socket: Socket): void => {
    if (socket.destroyed) return;
    idle.set(key, socket);
    if (idle.size <= mostIdle) return;
    const [oldest, ended] = oldestOfMost(idle);
    idle.delete(oldest);
    ended?.destroy();
  };

  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    socket.once('close', () => {
      if (idle.get(key) === socket) idle.delete(key);
    });
    rest(key, socket);
  });
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const key = keyOf(socket);
    // Over TLS this is another object than the one that came in; it has the same two ends.
    const raw = idle.get(key) ?? socket;
    idle.delete(key);
    response.once('close', () => rest(key, raw));
  });
}

function keyOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function oldestOfMost(idle: ReadonlyMap<string, Socket>): readonly [key: string, socket: Socket | undefined] {
  const counts = new Map<string, number>();
  for (const key of idle.keys()) counts.set(addressIn(key), (counts.get(addressIn(key)) ?? 0) + 1);
  const [most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
  const key = [...idle.keys()].find((one) => addressIn(one) === most) ?? '';
  return [key, idle.get(key)];
}

function addressIn(key: string): string {
  return key.slice(0, key.indexOf(' '));
}
