/** The codes are read back by a decoder that sees pixels, as a camera does. */
import { decodeQR } from 'qr/decode.js';
import { describe, expect, it } from 'vitest';
import { isForPhones, qrDrawing, qrText } from '#app/people/qr-code';

const address = `https://banksman.home.arpa:8443/enrol#${'aZ09-_'.repeat(7)}x`;
const scale = 4;

function decode(rows: readonly (readonly boolean[])[]): string {
  const [height, width] = [rows.length * scale, (rows[0]?.length ?? 0) * scale];
  const data = new Uint8Array(height * width * 4).fill(255);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1)
      if (rows[Math.floor(y / scale)]?.[Math.floor(x / scale)] === true) data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
  return decodeQR({ height, width, data });
}

describe('an address as a QR code', () => {
  it('is read back from a terminal', () => {
    const lines = qrText(address)
      .split('\n')
      .map((line) => line.replace('\u001b[30;47m', '').replace('\u001b[0m', ''));
    const rows = lines.flatMap((line) => [
      line.split('').map((char) => '▀█'.includes(char)),
      line.split('').map((char) => '▄█'.includes(char)),
    ]);
    expect(decode(rows)).toBe(address);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(78);
  });

  it('is read back from a drawing', () => {
    const { markup } = qrDrawing(address);
    const size = Number(/viewBox="0 0 (\d+) /.exec(markup)?.[1]);
    const runs = [...markup.matchAll(/M(\d+) (\d+)h(\d+)v1h-/g)].map(([, x, y, length]) => [Number(x), Number(y), Number(length)] as const);
    const isDark = (x: number, y: number) => runs.some(([from, line, length]) => line === y && x >= from && x < from + length);
    const rows = Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_column, x) => isDark(x, y)));
    expect(decode(rows)).toBe(address);
  });

  it('is for addresses that a phone can open', () => {
    expect(['https://banksman.lan/', 'http://localhost:779/'].map(isForPhones)).toEqual([true, false]);
  });
});
