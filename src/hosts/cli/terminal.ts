/** The terminal a person sits at, opened by its own name: what is piped in or out of the program plays no part. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { isatty, ReadStream } from 'node:tty';
import { isInsideSandbox } from '#app/is-inside-sandbox';
import { createLineReader, type LineReader } from './line-reader.ts';
import { Refusal } from './refusal.ts';

export interface Terminal {
  say(text: string): void;
  /** @throws {Refusal} `cancelled` */
  ask(question: string): Promise<string>;
  /** As `ask`, and nothing of the answer is shown. @throws {Refusal} `cancelled` */
  askSecret(question: string): Promise<string>;
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
  const keys = createLineReader();
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
