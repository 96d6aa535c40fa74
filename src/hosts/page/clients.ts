/**
 * Who is at the other end of a connection, for what each may have of the page: on this machine a user of the operating system, by the kernel's table of
 * connections (`proc_net(5)`), and not an address that all of them share; elsewhere the address.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createRateLimit, createSlots } from '#kernel/rate-limit';

type Socket = IncomingMessage['socket'];

export interface Clients {
  /** To be told of each connection as it comes: one too many is ended. */
  accept(socket: Socket): void;
  /** `uid:1000`, or an address. */
  of(socket: Socket): Promise<string>;
  sweep(): void;
}

/** Of one client: connections that are open, and how many it may begin. */
const openEach = 256;
const perSecond = 20;
const burst = 256;
/** Of all clients together, who were looked up already. */
const openOfAll = 1_536;
/** Those that come together are looked up together: each look reads the whole table. In ms. */
const gatherMs = 5;

export function createClients(read: (file: string) => Promise<string> = (file) => readFile(file, 'utf8')): Clients {
  const [slots, rate] = [createSlots(openOfAll, openEach), createRateLimit(perSecond, burst)];
  const known = new Map<string, Promise<string>>();
  let gathered: Promise<ReadonlyMap<string, string>> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const table = (): Promise<ReadonlyMap<string, string>> => {
    gathered ??= (async () => {
      await Promise.all([last, new Promise((resolve) => void setTimeout(resolve, gatherMs))]);
      gathered = undefined;
      const look = ownersOfConnections(read);
      last = look;
      return look;
    })();
    return gathered;
  };
  const clientOf = async (key: string, address: string): Promise<string> => {
    const uid = (await table()).get(key);
    return uid === undefined ? address : `uid:${uid}`;
  };
  const keyOf = ({ remoteAddress = '', remotePort, localPort }: Socket) => `${plainAddress(remoteAddress)} ${remotePort} ${localPort}`;
  return {
    accept: (socket) => {
      const key = keyOf(socket);
      const client = clientOf(key, plainAddress(socket.remoteAddress ?? ''));
      known.set(key, client);
      socket.once('close', () => known.get(key) === client && known.delete(key));
      void client.then((name) => {
        const release = rate.take(name, 1) === 0 ? slots.take(name) : undefined;
        if (release === undefined || socket.destroyed) socket.destroy();
        if (release === undefined) return;
        if (socket.destroyed) release();
        else socket.once('close', release);
      });
    },
    of: async (socket) => (await known.get(keyOf(socket))) ?? plainAddress(socket.remoteAddress ?? ''),
    sweep: () => rate.sweep(),
  };
}

/** The user by whom each end of a connection is held, by `ADDRESS PORT PEER'S-PORT`. None where the tables cannot be read. */
async function ownersOfConnections(read: (file: string) => Promise<string>): Promise<ReadonlyMap<string, string>> {
  const texts = await Promise.all(['/proc/self/net/tcp', '/proc/self/net/tcp6'].map((file) => read(file).catch(() => '')));
  const owners = new Map<string, string>();
  for (const line of texts.flatMap((text) => text.split('\n').slice(1))) {
    const [, local = '', peer = '', , , , , uid = '', , inode = '0'] = line.trim().split(/\s+/);
    // What nobody holds any more (it is being closed) is listed as root's.
    if (inode === '0') continue;
    const [address = '', port = ''] = local.split(':');
    const [, peerPort = ''] = peer.split(':');
    owners.set(`${addressOf(address)} ${Number.parseInt(port, 16)} ${Number.parseInt(peerPort, 16)}`, uid);
  }
  return owners;
}

/** Of the table: 32-bit words in the machine's own order (all that Node runs on here are little-endian). */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => (word.match(/../g) ?? []).toReversed());
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => `${bytes[index * 2]}${bytes[index * 2 + 1]}`);
  return plainAddress(groups.join(':'));
}

/** One spelling for one address; IPv4 inside IPv6 is IPv4. */
function plainAddress(text: string): string {
  if (!text.includes(':')) return text;
  const { hostname } = URL.parse(`http://[${text}]`) ?? { hostname: text };
  const inner = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname);
  if (inner === null) return hostname;
  const [high, low] = [Number.parseInt(inner[1] ?? '0', 16), Number.parseInt(inner[2] ?? '0', 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
