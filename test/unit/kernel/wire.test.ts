import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineReader } from '#kernel/wire';

const line = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', ' '));

describe('lines of a socket', () => {
  it('are the same however they are cut into chunks', () => {
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (lines, sizes) => {
        const bytes = Buffer.from([...lines, 'half'].join('\n'));
        const found: string[] = [];
        const reader = createLineReader(bytes.length, (text) => found.push(text));
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          expect(reader.take(bytes.subarray(at, at + size))).toBe(true);
          at += size;
        }
        expect(found).toEqual(lines);
        expect(reader.isOpen()).toBe(true);
      }),
    );
  });

  it.each([
    ['whole', [`${'x'.repeat(11)}\n`]],
    ['half', ['x'.repeat(11)]],
    ['in pieces', ['xxxxx', 'xxxxx', 'x']],
    ['ending in another piece', ['xxxxxx', 'xxxxx\n']],
  ])('are no longer than they may be: %s', (_how, chunks) => {
    const reader = createLineReader(10, () => expect.unreachable());
    expect(chunks.map((chunk) => reader.take(Buffer.from(chunk))).at(-1)).toBe(false);
  });

  it('of the very length that they may have are taken', () => {
    const found: string[] = [];
    const reader = createLineReader(10, (text) => found.push(text));
    expect(['xxxxx', 'xxxxx', '\nxxxxxxxxxx\n'].map((chunk) => reader.take(Buffer.from(chunk)))).toEqual([true, true, true]);
    expect(found).toEqual(['xxxxxxxxxx', 'xxxxxxxxxx']);
  });
});
