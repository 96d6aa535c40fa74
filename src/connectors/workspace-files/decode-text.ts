/** Bytes of a file as text: by its byte order mark, else UTF-8, else Latin-1; what holds a NUL is no text. */
import { isUtf8 } from 'node:buffer';
import { Fault } from '#kernel/errors';
import type { FileText } from '#kernel/ports/workspace';

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
  throw new Fault('BINARY_FILE', `this is a binary file of ${bytes.length} bytes, not text`, {
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
