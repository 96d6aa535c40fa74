/** A whole file through its descriptor, with a cap that holds even while the file grows. */
import { closeSync, fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { Fault } from '#kernel/errors';

const readChunk = promisify(read);
const chunkBytes = 256 * 1024;
/** Up to this size a file is read at once: opening it took as long, and each turn of the thread pool takes ten times that. */
const atOnceBytes = 64 * 1024;

/** Reads and closes `descriptor`. @throws {Fault} `FILE_TOO_LARGE`; the signal's reason; the file system's error */
export async function readBytes(descriptor: number, mostBytes: number, signal: AbortSignal): Promise<Buffer> {
  try {
    const expected = fstatSync(descriptor).size;
    if (expected > mostBytes) throw tooLarge(expected, mostBytes);
    const readNext: ReadNext = expected <= atOnceBytes ? readNow : readInTurn;
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      signal.throwIfAborted();
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, expected - total) + 1));
      const bytesRead = await readNext(descriptor, buffer, total);
      if (bytesRead === 0) return Buffer.concat(chunks);
      total += bytesRead;
      if (total > mostBytes) throw tooLarge(total, mostBytes);
      chunks.push(buffer.subarray(0, bytesRead));
      // There was room for more than was expected, and nothing more came: that is the end.
      if (total === expected && bytesRead < buffer.length) return Buffer.concat(chunks);
    }
  } finally {
    closeSync(descriptor);
  }
}

type ReadNext = (descriptor: number, buffer: Buffer, position: number) => number | Promise<number>;

const readNow: ReadNext = (descriptor, buffer, position) => readSync(descriptor, buffer, 0, buffer.length, position);

const readInTurn: ReadNext = async (descriptor, buffer, position) =>
  (await readChunk(descriptor, buffer, 0, buffer.length, position)).bytesRead;

function tooLarge(bytes: number, mostBytes: number): Fault {
  return new Fault('FILE_TOO_LARGE', `the file has ${bytes} bytes, more than ${mostBytes}`, {
    audience: 'user',
    next: 'look at a part of it with run_command, for example `tail`',
  });
}
