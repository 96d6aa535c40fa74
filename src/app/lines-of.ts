/** Text from a stream, line by line. */
import type { Readable } from 'node:stream';

/** Lines end at line feeds only: `node:readline` also ends them at U+2028, which JSON text may hold as it is. */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
