import { describe, expect, it } from 'vitest';
import { createLineReader, type Typed } from '#hosts/cli/terminal';

/** What is read of these keys, and what was echoed. */
async function typed(...chunks: readonly (string | Buffer)[]): Promise<{ readonly line: Typed; readonly echo: string }> {
  const reader = createLineReader();
  let echo = '';
  const line = reader.next((text) => {
    echo += text;
  });
  for (const chunk of chunks) reader.add(Buffer.from(chunk));
  return { line: await line, echo };
}

describe('a line', () => {
  it.each([
    ['abc\r', 'abc'],
    ['abc\n', 'abc'],
    ['\r', ''],
    ['abx\u007fc\r', 'abc'],
    ['abx\bc\r', 'abc'],
    ['\u007f\u007fabc\r', 'abc'],
    ['wrong\u0015abc\r', 'abc'],
    ['süß😀x\u007f\r', 'süß😀'],
    ['a\tb\u001b[A\r', 'a\tb\u001b[A'],
  ])('%j is %j', async (keys, text) => {
    expect((await typed(keys)).line).toEqual({ end: 'line', text });
  });

  it.each(['\u0003', 'abc\u0003', '\u0004', '\u001c'])('%j cancels', async (keys) => {
    expect((await typed(keys)).line).toEqual({ end: 'cancelled' });
  });

  it('is whole however it arrives', async () => {
    const bytes = Buffer.from('pässwörd 😀\r');
    expect((await typed(...Array.from(bytes, (byte) => Buffer.from([byte])))).line).toEqual({ end: 'line', text: 'pässwörd 😀' });
  });

  it('is echoed as it is seen, without what could move the cursor', async () => {
    expect((await typed('ab\u001bc\u007f\u007f\r')).echo).toBe('abc\b \b\b \b\r\n');
  });

  it('does not grow without end', async () => {
    const { line } = await typed('x'.repeat(10_000), '\r');
    expect(line).toEqual({ end: 'line', text: 'x'.repeat(4_096) });
  });
});

describe('lines one after the other', () => {
  it('may be typed ahead', async () => {
    const reader = createLineReader();
    reader.add(Buffer.from('one\rtwo\rthr'));
    const silent = () => undefined;
    expect(await reader.next(silent)).toEqual({ end: 'line', text: 'one' });
    expect(await reader.next(silent)).toEqual({ end: 'line', text: 'two' });
    const third = reader.next(silent);
    reader.add(Buffer.from('ee\r'));
    expect(await third).toEqual({ end: 'line', text: 'three' });
  });

  it('begin empty after one that was cancelled', async () => {
    const reader = createLineReader();
    const first = reader.next(() => undefined);
    reader.add(Buffer.from('secret'));
    reader.cancel();
    expect(await first).toEqual({ end: 'cancelled' });
    reader.add(Buffer.from('x\r'));
    expect(await reader.next(() => undefined)).toEqual({ end: 'line', text: 'x' });
  });
});

describe('a key', () => {
  it.each([
    ['a', ['a']],
    ['\u001b[A\u001b[6~\u001bOBq', ['\u001b[A', '\u001b[6~', '\u001bOB', 'q']],
    ['\u001bx', ['\u001b', 'x']],
    ['😀\r', ['😀', '\r']],
    ['\u0003', ['\u0003']],
  ])('of %j comes by itself', async (bytes, keys) => {
    const reader = createLineReader(() => expect.unreachable());
    const first = reader.key();
    reader.add(Buffer.from(bytes));
    const got = [await first];
    for (const _ of keys.slice(1)) got.push(await reader.key());
    expect(got).toEqual(keys);
  });

  it('that is waited for is none once the terminal is gone', async () => {
    const reader = createLineReader();
    const key = reader.key();
    reader.cancel();
    expect(await key).toBeUndefined();
  });
});
