/** Where lines go: a file, standard output, a stream socket, datagrams. */

import { createSocket } from 'node:dgram';
import { constants, readFileSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';

export interface Output {
  /** All of them, in their order, as they are: whoever calls has framed them. Resolves once they have left this process. */
  write(frames: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Appends, and looks before each time whether the file is still there: after `logrotate` moved it, the next lines go into a new one. What it wrote
 * is on the disk when `write` resolves.
 */
export function fileOutput(file: string): Output {
  let handle: FileHandle | undefined;
  return {
    write: async (frames) => {
      if (handle !== undefined && !(await isSame(handle, file))) handle = await handle.close().then(() => undefined);
      handle ??= await openAtLineStart(file);
      await handle.appendFile(frames.join(''));
      await handle.datasync();
    },
    close: async () => handle?.close(),
  };
}

/** Group-readable, so that a shipper's user can be given it; not through a link, which somebody else may have laid. */
async function openAtLineStart(file: string): Promise<FileHandle> {
  const handle = await open(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o640);
  const { size } = await handle.stat();
  const { buffer } = size === 0 ? { buffer: Buffer.from('\n') } : await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  // A process that was killed while it wrote left half a line.
  if (buffer[0] !== 0x0a) await handle.appendFile('\n');
  return handle;
}

async function isSame(handle: FileHandle, file: string): Promise<boolean> {
  const [mine, there] = await Promise.all([handle.stat(), stat(file).catch(() => undefined)]);
  return there !== undefined && mine.ino === there.ino && mine.dev === there.dev;
}

export function standardOutput(): Output {
  return {
    write: (frames) =>
      new Promise((resolve, reject) => void process.stdout.write(frames.join(''), (error) => (error == null ? resolve() : reject(error)))),
    close: async () => undefined,
  };
}

/** How long connecting may take, and writing one batch, in ms. */
const streamMs = 10_000;

/**
 * A stream that is opened again when it has ended. LIMIT: what the kernel took and the receiver had not read when the connection broke is gone: the
 * protocols that go over it have no receipt.
 * @param greeting is written first on each connection
 */
export function streamOutput(to: string, { caFile, greeting = '' }: { readonly caFile?: string; readonly greeting?: string } = {}): Output {
  let socket: Socket | undefined;
  const reach = async (): Promise<Socket> => {
    const opened = await connected(to, caFile);
    // A receiver that goes away is noticed while there is nothing to send, so that the next batch does not go into a dead connection.
    opened.on('error', () => opened.destroy());
    opened.on('end', () => opened.destroy());
    opened.on('close', () => {
      if (socket === opened) socket = undefined;
    });
    opened.resume();
    opened.unref();
    if (greeting !== '') await writeAll(opened, greeting);
    return opened;
  };
  return {
    write: async (frames) => {
      socket ??= await reach();
      await writeAll(socket, frames.join(''));
    },
    close: async () => void socket?.destroy(),
  };
}

function connected(to: string, caFile: string | undefined): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { scheme, host, port, path } = partsOf(to);
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  const socket =
    scheme === 'unix'
      ? connect({ path })
      : scheme === 'tls'
        ? connectTls({ host, port, ...ca, ...(isIP(host) === 0 ? { servername: host } : {}) })
        : connect({ host, port });
  const late = setTimeout(() => socket.destroy(new Fault('sink_timeout', say`${to} did not answer within ${streamMs / 1000} s`)), streamMs);
  socket.once(scheme === 'tls' ? 'secureConnect' : 'connect', () => resolve(socket));
  socket.once('error', reject);
  return promise.finally(() => {
    clearTimeout(late);
    socket.off('error', reject);
  });
}

/** A receiver that does not read is one that is down. */
function writeAll(socket: Socket, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const gone = () => reject(new Fault('sink_failed', 'the connection ended'));
  const late = setTimeout(() => {
    reject(new Fault('sink_timeout', say`the receiver read nothing for ${streamMs / 1000} s`));
    socket.destroy();
  }, streamMs);
  socket.once('close', gone);
  socket.write(text, (error) => (error == null ? resolve() : reject(error)));
  return promise.finally(() => {
    clearTimeout(late);
    socket.off('close', gone);
  });
}

/** Longest text of one UDP datagram over IPv4. */
export const longestDatagram = 65_507;

/** Each frame is a datagram. LIMIT: nobody says whether it arrives. @throws {Fault} `sink_refused` where one does not fit */
export function datagramOutput(to: string): Output {
  const { host, port } = partsOf(to);
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4');
  socket.on('error', () => undefined);
  socket.unref();
  const send = (frame: string) =>
    new Promise<void>((resolve, reject) => socket.send(frame, port, host, (error) => (error == null ? resolve() : reject(error))));
  return {
    write: async (frames) => {
      const tooLong = frames.some((frame) => Buffer.byteLength(frame) > longestDatagram);
      if (tooLong) throw new Fault('sink_refused', say`a record is longer than a datagram (${longestDatagram} bytes); use tcp or tls`);
      for (const frame of frames) await send(frame);
    },
    close: async () => void socket.close(),
  };
}

function partsOf(to: string): { readonly scheme: string; readonly host: string; readonly port: number; readonly path: string } {
  if (to.startsWith('unix:')) return { scheme: 'unix', host: '', port: 0, path: to.slice('unix:'.length) };
  const { groups = {} } = /^(?<scheme>[a-z]+):\/\/\[?(?<host>.+?)\]?:(?<port>\d+)$/.exec(to) ?? {};
  return { scheme: groups['scheme'] ?? '', host: groups['host'] ?? '', port: Number(groups['port']), path: '' };
}
