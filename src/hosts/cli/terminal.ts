/** The terminal a person sits at, opened by its own name: what is piped in or out of the program plays no part. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { isatty, ReadStream } from 'node:tty';
import { isInsideSandbox } from '#app/for-hosts';
import { Refusal } from './output.ts';

export interface Terminal {
  say(text: string): void;
  /** @throws {Refusal} `cancelled` */
  ask(question: string): Promise<string>;
  /** As `ask`, and nothing of the answer is shown. @throws {Refusal} `cancelled` */
  askSecret(question: string): Promise<string>;
  /** The next key, of which nothing is shown: a character, or the whole sequence of an arrow. undefined: there is none any more. */
  key(): Promise<string | undefined>;
}

const device = '/dev/tty';

/**
 * Runs `work` with the controlling terminal, and leaves the terminal as it was whatever happens.
 * SECURITY: a terminal proves no person, for a program can make one; the passphrase does. It is refused without one so that neither a
 * pipe nor a script left behind answers in a person's place.
 * @param what what needs it, for people: `approving`
 * @throws {Refusal} `no_terminal`, `inside_sandbox`
 */
export async function withTerminal<T>(what: string, signal: AbortSignal, work: (terminal: Terminal) => Promise<T>): Promise<T> {
  if (isInsideSandbox()) throw new Refusal('inside_sandbox', `${what} is not possible from inside a sandboxed command; a person does it`);
  const input = openTerminal();
  if (input === undefined)
    throw new Refusal('no_terminal', `${what} needs a terminal with a person at it`, 'run it by hand in one, without pipes');
  const output = openSync(device, 'w');
  const keys = createLineReader(() => void process.kill(process.pid, 'SIGINT'));
  const cancel = () => keys.cancel();
  const stream = new ReadStream(input);
  const restore = () => stream.setRawMode(false);
  // Also when something ends the process in the middle of a question.
  process.once('exit', restore);
  signal.addEventListener('abort', cancel, { once: true });
  stream
    .on('data', (bytes: Buffer) => keys.add(bytes))
    .on('error', cancel)
    .on('end', cancel);
  // Until the end: a passphrase that is typed while the program still works must not be echoed either.
  stream.setRawMode(true);
  try {
    return await work(terminalOn(keys, (text) => void writeSync(output, text), signal));
  } finally {
    process.off('exit', restore);
    signal.removeEventListener('abort', cancel);
    restore();
    stream.destroy();
    closeSync(output);
  }
}

function terminalOn(keys: LineReader, say: (text: string) => void, signal: AbortSignal): Terminal {
  const read = async (question: string, echo: (text: string) => void): Promise<string> => {
    say(question);
    const typed = signal.aborted ? { end: 'cancelled' as const } : await keys.next(echo);
    if (typed.end === 'line') return typed.text;
    throw new Refusal('cancelled', 'cancelled; nothing was changed');
  };
  return {
    say,
    ask: (question) => read(question, say),
    askSecret: (question) => read(question, (text) => (text === '\r\n' ? say(text) : undefined)),
    key: async () => (signal.aborted ? undefined : keys.key()),
  };
}

/** Whether `withTerminal` would find one. */
export function hasTerminal(): boolean {
  if (isInsideSandbox()) return false;
  const descriptor = openTerminal();
  if (descriptor !== undefined) closeSync(descriptor);
  return descriptor !== undefined;
}

/** undefined where standard input is none, or the process has no controlling one. */
function openTerminal(): number | undefined {
  if (!isatty(0)) return undefined;
  try {
    const descriptor = openSync(device, 'r+');
    if (isatty(descriptor)) return descriptor;
    closeSync(descriptor);
  } catch {
    // No such device, or not ours.
  }
  return undefined;
}

/** Lines typed at a terminal that echoes nothing by itself: editing keys, cancelling, and what was typed ahead. */
export type Typed = { readonly end: 'line'; readonly text: string } | { readonly end: 'cancelled' };

interface LineReader {
  /** Feeds what the terminal sent. */
  add(bytes: Buffer): void;
  /** The next line; at once where it was typed ahead. `echo` gets what is to be seen of it. */
  next(echo: (text: string) => void): Promise<Typed>;
  /** The next key; undefined when it is cancelled. */
  key(): Promise<string | undefined>;
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

/** Behind ESC, an arrow or a key of the block above it: `[A`, `[5~`, and `OA` of other terminals. */
const sequence = /^(?:\[[\d;]*[A-Za-z~]|O[A-Z])/;

/** A character, or the whole of a sequence. */
function firstKey([first = '', ...rest]: readonly string[]): readonly string[] {
  const [more = ''] = first === '\u001b' ? (sequence.exec(rest.join('')) ?? []) : [];
  return [first, ...Array.from(more)];
}

/** Whoever waits for a key. */
function createKeyWait() {
  let take: ((key: string | undefined) => void) | undefined;
  const give = (key: string | undefined) => {
    take?.(key);
    take = undefined;
  };
  return {
    next: (): Promise<string | undefined> => {
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      take = resolve;
      return promise;
    },
    /** @returns what is left of what was typed */
    give: (typed: string[]): string[] => {
      if (take === undefined || typed.length === 0) return typed;
      const key = firstKey(typed);
      give(key.join(''));
      return typed.slice(key.length);
    },
    cancel: () => give(undefined),
  };
}

interface Waiting {
  readonly echo: (text: string) => void;
  readonly resolve: (typed: Typed) => void;
}

/** @param line what was typed of it so far; changed @returns its end */
function takeCharacter(character: string, line: string[], echo: (text: string) => void): Typed | undefined {
  if (enter.includes(character) || cancelling.includes(character)) {
    echo('\r\n');
    return enter.includes(character) ? { end: 'line', text: line.join('') } : { end: 'cancelled' };
  }
  if (backspace.includes(character)) {
    if (line.pop() !== undefined) echo('\b \b');
  } else if (character === clear) {
    for (const _ of line.splice(0)) echo('\b \b');
  } else if (line.length < longest) {
    line.push(character);
    // A control character is kept, so that whoever reads the line can refuse it, and never sent back.
    if (character >= ' ') echo(character);
  }
  return undefined;
}

/** @param interrupt told of Ctrl+C while nothing is asked: the terminal makes no signal of it then */
export function createLineReader(interrupt: () => void = () => undefined): LineReader {
  const decoder = new StringDecoder('utf8');
  let ahead: string[] = [];
  let line: string[] = [];
  let waiting: Waiting | undefined;
  const keyWait = createKeyWait();

  const finish = (typed: Typed): void => {
    waiting?.resolve(typed);
    waiting = undefined;
    line = [];
  };
  const drain = (): void => {
    while (ahead.length > 0) {
      if (waiting === undefined) return;
      const typed = takeCharacter(ahead.shift() ?? '', line, waiting.echo);
      if (typed !== undefined) finish(typed);
    }
  };
  return {
    add: (bytes) => {
      ahead = [...ahead, ...Array.from(decoder.write(bytes))].slice(0, 4 * longest);
      drain();
      ahead = keyWait.give(ahead);
      if (waiting === undefined && ahead.includes('\u0003')) interrupt();
    },
    next: (echo) => {
      const { promise, resolve } = Promise.withResolvers<Typed>();
      waiting = { echo, resolve };
      drain();
      return promise;
    },
    key: () => {
      const key = keyWait.next();
      ahead = keyWait.give(ahead);
      return key;
    },
    cancel: () => {
      finish({ end: 'cancelled' });
      keyWait.cancel();
    },
  };
}
