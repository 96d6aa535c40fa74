/** Long lines of standard input: dropped alone, answered by id, however the bytes are cut up. */
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitLines } from '#hosts/mcp/serve-stdio';

type Told = string | number | undefined;

async function through(bytes: Buffer, cuts: readonly number[], limit: number) {
  const told: Told[] = [];
  const lines = limitLines(limit, (id) => told.push(id));
  const out = text(lines);
  let from = 0;
  for (const cut of [...cuts, bytes.length].toSorted((a, b) => a - b)) {
    if (!lines.write(bytes.subarray(from, cut))) await once(lines, 'drain');
    from = cut;
  }
  lines.end();
  return { out: await out, told };
}

const long = 'x'.repeat(3_000);

describe('lines within the limit', () => {
  it('pass unchanged and the others are told, whatever the chunks', async () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }).map((part) => part.replaceAll('\n', ' ')),
      fc.integer({ min: 41, max: 5_000 }).map((length) => 'y'.repeat(length)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.array(fc.nat(20_000), { maxLength: 12 }), async (lines, points) => {
        const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(''));
        const { out, told } = await through(
          bytes,
          points.map((point) => Math.min(point, bytes.length)),
          40,
        );
        const fits = lines.filter((one) => Buffer.byteLength(one) < 40);
        // Chunks that hold a whole line are passed on as they are; what is too long for one chunk never is.
        expect(fits.every((one) => out.includes(`${one}\n`))).toBe(true);
        expect(told.length).toBeLessThanOrEqual(lines.length - fits.length);
      }),
    );
  });

  it('the end of the stream ends the last one', async () => {
    expect(await through(Buffer.from('whole\nlast'), [3, 8], 40)).toEqual({ out: 'whole\nlast\n', told: [] });
    expect(await through(Buffer.from(`whole\n${'y'.repeat(50)}`), [3, 20], 40)).toEqual({ out: 'whole\n', told: [undefined] });
  });

  it('its own end waits for what it was given to wait for', async () => {
    const gate = Promise.withResolvers<void>();
    const lines = limitLines(
      40,
      () => undefined,
      () => gate.promise,
    );
    const seen: string[] = [];
    lines.on('data', (chunk: Buffer) => seen.push(String(chunk))).on('end', () => seen.push('end'));
    const first = once(lines, 'data');
    lines.end('one\n');
    await first;
    expect(seen).toEqual(['one\n']);
    const ended = once(lines, 'end');
    gate.resolve();
    await ended;
    expect(seen).toEqual(['one\n', 'end']);
  });
});

describe('the id of a request that was too long', () => {
  it.each<[string, Told]>([
    [`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1,"x":"${long}"}}`, 7],
    [`{"method":"tools/call","params":{"id":1,"x":"${long}","y":{"id":2}},"jsonrpc":"2.0","id":"a-b"}`, 'a-b'],
    [`{ "method" : "tools/call" , "params" : { "x" : "${long}" } , "id" : -3 }`, -3],
    // In arguments, not the message's own.
    [`{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"${long}","id":5}}`, undefined],
    [`{"jsonrpc":"2.0","method":"x","params":{"x":"${long}\\",\\"id\\":5}"}}`, undefined],
    // The client's answer to something that the server asked.
    [`{"jsonrpc":"2.0","id":7,"result":{"x":"${long}"}}`, undefined],
    [`{"result":{"x":"${long}"},"jsonrpc":"2.0","id":7}`, undefined],
    [long, undefined],
  ])('%#', async (line, id) => {
    const bytes = Buffer.from(`${line}\n{"next":1}\n`);
    expect(await through(bytes, [10, 1_500, 2_000], 1_000)).toEqual({ out: '{"next":1}\n', told: [id] });
  });
});
