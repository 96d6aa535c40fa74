/** A file's text: its bytes with a cap, decoded, and the lines of it that were asked for. */

import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { Fault } from '#kernel/errors';
import type { FileText } from '#kernel/ports/workspace';
import { say } from '#kernel/text/message';

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
  return new Fault('FILE_TOO_LARGE', say`the file has ${bytes} bytes, more than ${mostBytes}`, {
    audience: 'user',
    next: 'look at a part of it with run_command, for example `tail`',
  });
}

export interface DecodedText {
  readonly text: string;
  readonly encoding: FileText['encoding'];
  /** The file begins with a byte order mark; it is no part of the text. */
  readonly mark: boolean;
}

/** @throws {Fault} `BINARY_FILE` */
export function decodeText(bytes: Buffer): DecodedText {
  const decoded = tryDecode(bytes);
  if (decoded !== undefined) return decoded;
  throw new Fault('BINARY_FILE', say`this is a binary file of ${bytes.length} bytes, not text`, {
    audience: 'user',
    next: 'use run_command with a program that understands it, such as `file` or `xxd`',
  });
}

/** undefined for what is not text. */
export function tryDecode(bytes: Buffer): DecodedText | undefined {
  const marked = byMark(bytes);
  if (marked !== undefined) return marked;
  if (bytes.includes(0)) return undefined;
  return isUtf8(bytes)
    ? { text: bytes.toString('utf8'), encoding: 'utf-8', mark: false }
    : { text: bytes.toString('latin1'), encoding: 'latin1', mark: false };
}

/** UTF-32 with its mark starts like UTF-16 and then holds NULs as characters: no text. */
function byMark(bytes: Buffer): DecodedText | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return withoutNul(bytes, 'utf-8');
  if (first === 0xff && second === 0xfe) return withoutNul(bytes, 'utf-16le');
  if (first === 0xfe && second === 0xff) return withoutNul(bytes, 'utf-16be');
  return undefined;
}

/** The decoder takes the mark off. */
function withoutNul(bytes: Buffer, encoding: 'utf-8' | 'utf-16le' | 'utf-16be'): DecodedText | undefined {
  const text = new TextDecoder(encoding).decode(bytes);
  return text.includes('\0') ? undefined : { text, encoding, mark: true };
}

/** The reverse of `decodeText`; undefined where the encoding has no form for a character. */
export function encodeText({ text, encoding, mark }: DecodedText): Buffer | undefined {
  if (!text.isWellFormed()) return undefined;
  const marked = mark ? `\ufeff${text}` : text;
  if (encoding === 'utf-8') return Buffer.from(marked, 'utf8');
  if (encoding === 'latin1') return /[^\0-\xff]/.test(text) ? undefined : Buffer.from(text, 'latin1');
  const bytes = Buffer.from(marked, 'utf16le');
  return encoding === 'utf-16be' ? bytes.swap16() : bytes;
}

export interface LineRange {
  readonly text: string;
  readonly startLine: number;
  /** Smaller than `startLine` where there is no line at all. */
  readonly endLine: number;
  readonly totalLines: number;
}

/** In UTF-16 code units. */
export const mostCharacters = 200_000;

/**
 * Lines `start` to `end`, counted from 1, joined by `\n`. The end of the last line does not start another one.
 * @throws {Fault} `LINE_OUT_OF_RANGE`
 */
export function lineRange(text: string, { start = 1, end }: { readonly start?: number; readonly end?: number }): LineRange {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  if (start > Math.max(1, lines.length)) {
    throw new Fault('LINE_OUT_OF_RANGE', say`the file has ${lines.length} lines; line ${start} is not there`, {
      audience: 'user',
      next: 'ask for lines that are there',
    });
  }
  const wanted = lines.slice(start - 1, end);
  const kept = fitting(wanted);
  return { text: kept.join('\n'), startLine: start, endLine: start - 1 + kept.length, totalLines: lines.length };
}

/** Whole lines up to the cap; a first line that is longer alone is cut, and says so. */
function fitting(lines: readonly string[]): readonly string[] {
  let room = mostCharacters;
  const end = lines.findIndex((line) => {
    room -= line.length + 1;
    return room < 0;
  });
  if (end === -1) return lines;
  if (end > 0) return lines.slice(0, end);
  const [first = ''] = lines;
  return [`${first.slice(0, mostCharacters).toWellFormed()}[… ${first.length - mostCharacters} more characters in this line …]`];
}
