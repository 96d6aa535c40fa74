/** The moving picture of the README, read back chunk by chunk. */
import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { animatePng } from '../../editor/harness/animated-png.ts';

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(data.length, 0);
  numbers.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([numbers.subarray(0, 4), body, numbers.subarray(4)]);
}

/** A grey picture, its data in two pieces. */
function picture(grey: number, width = 3): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(1, 4);
  header[8] = 8;
  const data = deflateSync(Buffer.from([0, ...Array<number>(width).fill(grey)]));
  const pieces = [data.subarray(0, 4), data.subarray(4)].map((piece) => chunk('IDAT', piece));
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', header), ...pieces, chunk('IEND', Buffer.alloc(0))]);
}

function readBack(png: Buffer): { type: string; data: Buffer }[] {
  const found = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body));
    found.push({ type: body.toString('latin1', 0, 4), data: body.subarray(4) });
    at += 12 + length;
  }
  return found;
}

describe('a moving picture', () => {
  it('holds every frame for as long as it was told, numbered without a gap, and begins again', () => {
    const [first, second] = [picture(0), picture(200)];
    const chunks = readBack(
      animatePng([
        { png: first, ms: 700 },
        { png: second, ms: 1_500 },
      ]),
    );
    expect(chunks.map(({ type }) => type)).toEqual(['IHDR', 'acTL', 'fcTL', 'IDAT', 'IDAT', 'fcTL', 'fdAT', 'fdAT', 'IEND']);
    expect(chunks[1]?.data.toString('hex')).toBe('0000000200000000');
    const numbered = chunks.filter(({ type }) => type === 'fcTL' || type === 'fdAT');
    expect(numbered.map(({ data }) => data.readUInt32BE(0))).toEqual([0, 1, 2, 3]);
    const controls = chunks.filter(({ type }) => type === 'fcTL').map(({ data }) => data);
    expect(controls.map((data) => [data.length, data.readUInt32BE(4), data.readUInt16BE(20), data.readUInt16BE(22)])).toEqual([
      [26, 3, 700, 1_000],
      [26, 3, 1_500, 1_000],
    ]);
    const drawn = chunks.filter(({ type }) => type === 'fdAT').map(({ data }) => data.subarray(4));
    const whole = readBack(second).filter(({ type }) => type === 'IDAT');
    expect(Buffer.concat(drawn)).toEqual(Buffer.concat(whole.map(({ data }) => data)));
  });

  it('is not made of frames of different sizes, of none, or of what is no picture', () => {
    const frames = [picture(0), picture(0, 4)].map((png) => ({ png, ms: 1 }));
    expect(() => animatePng(frames)).toThrow('frame 2 has another size');
    expect(() => animatePng([])).toThrow('there is no frame');
    expect(() => animatePng([{ png: Buffer.from('GIF89a'), ms: 1 }])).toThrow('no PNG');
  });
});
