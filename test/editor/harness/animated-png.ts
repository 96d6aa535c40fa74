/** One moving picture out of screenshots, without another program: an animated PNG (https://www.w3.org/TR/png-3/#apng-frame-based-animation). */
import { crc32 } from 'node:zlib';

export interface Frame {
  readonly png: Buffer;
  /** How long it is shown. */
  readonly ms: number;
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

const signature = Buffer.from('89504e470d0a1a0a', 'hex');

/** It begins again after the last frame. @throws {Error} where the frames differ in size or form, or one is no PNG */
export function animatePng(frames: readonly Frame[]): Buffer {
  const read = frames.map(({ png, ms }) => ({ ms, chunks: chunksOf(png) }));
  const header = read[0]?.chunks.find(({ type }) => type === 'IHDR')?.data;
  if (header === undefined) throw new Error('there is no frame, or the first is no picture');
  let sequence = 0;
  const next = (): number => {
    sequence += 1;
    return sequence - 1;
  };
  const pictures = read.flatMap(({ ms, chunks }, index) => {
    if (chunks.find(({ type }) => type === 'IHDR')?.data.equals(header) !== true)
      throw new Error(`frame ${index + 1} has another size or form than the first`);
    const control = { type: 'fcTL', data: Buffer.concat([number(next()), header.subarray(0, 8), number(0), number(0), delay(ms)]) };
    const parts = chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data);
    // The first is what a program shows that knows no others.
    const drawn = parts.map((data) =>
      index === 0 ? { type: 'IDAT', data } : { type: 'fdAT', data: Buffer.concat([number(next()), data]) },
    );
    return [control, ...drawn];
  });
  const forever = { type: 'acTL', data: Buffer.concat([number(frames.length), number(0)]) };
  const all = [{ type: 'IHDR', data: header }, forever, ...pictures, { type: 'IEND', data: Buffer.alloc(0) }];
  return Buffer.concat([signature, ...all.map(written)]);
}

function chunksOf(png: Buffer): readonly Chunk[] {
  if (!png.subarray(0, signature.length).equals(signature)) throw new Error('it is no PNG');
  const found: Chunk[] = [];
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    found.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return found;
}

function written({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([number(data.length), body, number(crc32(body))]);
}

/** In ms, drawn over all that was there. */
function delay(ms: number): Buffer {
  const data = Buffer.alloc(6);
  data.writeUInt16BE(ms, 0);
  data.writeUInt16BE(1_000, 2);
  return data;
}

function number(value: number): Buffer {
  const data = Buffer.alloc(4);
  data.writeUInt32BE(value);
  return data;
}
