/** Lines typed at a terminal that echoes nothing by itself: editing keys, cancelling, and what was typed ahead. */
import { StringDecoder } from 'node:string_decoder';

export type Typed = { readonly end: 'line'; readonly text: string } | { readonly end: 'cancelled' };

export interface LineReader {
  /** Feeds what the terminal sent. */
  add(bytes: Buffer): void;
  /** The next line; at once where it was typed ahead. `echo` gets what is to be seen of it. */
  next(echo: (text: string) => void): Promise<Typed>;
  /** Whoever waits is told `cancelled`. */
  cancel(): void;
}

const enter = ['\r', '\n'];
const backspace = ['\u007f', '\b'];
/** Ctrl+C, Ctrl+D, Ctrl+\ in raw mode. */
const cancelling = ['\u0003', '\u0004', '\u001c'];
/** Ctrl+U */
const clear = '\u0015';
const longest = 4_096;

interface Waiting {
  readonly echo: (text: string) => void;
  readonly resolve: (typed: Typed) => void;
}

export function createLineReader(): LineReader {
  const decoder = new StringDecoder('utf8');
  let ahead: string[] = [];
  let line: string[] = [];
  let waiting: Waiting | undefined;

  const finish = (typed: Typed): void => {
    waiting?.resolve(typed);
    waiting = undefined;
    line = [];
  };
  const take = (character: string, { echo }: Waiting): void => {
    if (enter.includes(character)) {
      echo('\r\n');
      finish({ end: 'line', text: line.join('') });
    } else if (cancelling.includes(character)) {
      echo('\r\n');
      finish({ end: 'cancelled' });
    } else if (backspace.includes(character)) {
      if (line.pop() !== undefined) echo('\b \b');
    } else if (character === clear) {
      for (const _ of line.splice(0)) echo('\b \b');
    } else if (line.length < longest) {
      line.push(character);
      // A control character is kept, so that whoever reads the line can refuse it, and never sent back.
      if (character >= ' ') echo(character);
    }
  };
  const drain = (): void => {
    while (ahead.length > 0) {
      if (waiting === undefined) return;
      take(ahead.shift() ?? '', waiting);
    }
  };
  return {
    add: (bytes) => {
      ahead = [...ahead, ...Array.from(decoder.write(bytes))].slice(0, 4 * longest);
      drain();
    },
    next: (echo) => {
      const { promise, resolve } = Promise.withResolvers<Typed>();
      waiting = { echo, resolve };
      drain();
      return promise;
    },
    cancel: () => finish({ end: 'cancelled' }),
  };
}
