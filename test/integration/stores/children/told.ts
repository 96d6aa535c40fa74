/** How a child hears from the test and answers. */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

let input: AsyncIterator<string> | undefined;

/** Waits for a line; the end of the input ends the process. */
export async function told(): Promise<string> {
  // Not before somebody listens: an open standard input keeps a process alive.
  input ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const { value, done } = await input.next();
  if (done) process.exit(0);
  return value;
}

/** Synchronous, so that what was said was said even if the next instruction is the last. */
export function say(line: string): void {
  writeSync(1, `${line}\n`);
}

export function faultText(thrown: unknown): string {
  const { code, message, retryable, next } = thrown as { code?: string; message?: string; retryable?: boolean; next?: string };
  return JSON.stringify({ code, message, retryable, next });
}
