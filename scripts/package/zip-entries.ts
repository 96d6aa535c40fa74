/** The file list of a zip archive. A .vsix is one (ZIP64, encryption and comments over 64 kB do not occur in it). */
import { readFileSync } from 'node:fs';

export interface ZipEntry {
  readonly name: string;
  /** Bytes in the archive. */
  readonly packed: number;
  /** Bytes unpacked. */
  readonly size: number;
}

// APPNOTE.TXT 6.3.10: §4.3.16 end of central directory, §4.3.12 central directory header.
const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;

/** Reads the central directory. @throws {Error} when `file` is not a whole zip archive. */
export function zipEntries(file: string): readonly ZipEntry[] {
  const bytes = readFileSync(file);
  let end = bytes.length - 22;
  while (end >= 0 && bytes.readUInt32LE(end) !== endSignature) end -= 1;
  if (end < 0) throw new Error(`${file} is not a zip archive`);
  const entries: ZipEntry[] = [];
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (bytes.readUInt32LE(at) !== entrySignature) throw new Error(`${file}: broken directory at byte ${at}`);
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    entries.push({ name, packed: bytes.readUInt32LE(at + 20), size: bytes.readUInt32LE(at + 24) });
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}
