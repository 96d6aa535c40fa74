import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCappedOutput } from '#kernel/text/capped-output';

function capped(maxBytes: number, ...chunks: readonly string[]) {
  const output = createCappedOutput(maxBytes);
  for (const chunk of chunks) output.push(Buffer.from(chunk));
  return { text: output.text(), truncated: output.truncated };
}

describe('createCappedOutput', () => {
  it('keeps what fits', () => {
    expect(capped(10, 'hello', 'world')).toEqual({ text: 'helloworld', truncated: false });
    expect(capped(10)).toEqual({ text: '', truncated: false });
  });

  it('keeps head and tail of what does not, and says how much is missing', () => {
    expect(capped(10, '0123456789abcdef')).toEqual({ text: '01234\n[… 6 bytes left out …]\nbcdef', truncated: true });
  });

  it('does not depend on how the text came', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary-ascii', maxLength: 60 }),
        fc.array(fc.nat(60), { maxLength: 6 }),
        fc.integer({ min: 2, max: 30 }),
        (text, cuts, max) => {
          const marks = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
          const chunks = marks.slice(1).map((end, index) => text.slice(marks[index], end));
          expect(capped(max, ...chunks)).toEqual(capped(max, text));
        },
      ),
    );
  });

  it('keeps characters that are cut between chunks whole', () => {
    const output = createCappedOutput(100);
    const bytes = Buffer.from('é✓');
    for (const byte of bytes) output.push(Buffer.from([byte]));
    expect(output.text()).toBe('é✓');
  });

  it('shows bytes that are no text as such', () => {
    const output = createCappedOutput(100);
    output.push(Buffer.from([0x61, 0xff, 0x62]));
    expect(output.text()).toBe('a\u{fffd}b');
  });

  it('does not keep chunks alive that it cut from', () => {
    const output = createCappedOutput(8);
    const chunk = Buffer.alloc(1_000_000, 0x61);
    output.push(chunk);
    chunk.fill(0x62);
    // The head was copied, the tail too: a view would show the change.
    expect(output.text()).toBe('aaaa\n[… 999992 bytes left out …]\naaaa');
  });
});
