/** Whether anybody still reads standard output. */
import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/**
 * Calls `gone` once nobody reads standard output any more. Whoever has nothing to write is told by no one, and Node cannot ask the pipe: GNU's
 * `tail` does, and ends with SIGPIPE. Where there is none, or no pipe, the next line that is written finds out.
 * @returns ends the look
 */
export function onReaderGone(gone: () => void): () => void {
  if (process.platform !== 'linux' || !fstatSync(1).isFIFO()) return () => undefined;
  // With `--pid` it never keeps the pipe open longer than this process.
  const look = spawn('tail', ['-f', `--pid=${process.pid}`, '/dev/null'], { stdio: ['ignore', 'inherit', 'ignore'] });
  look.on('error', () => undefined).on('exit', (_status, signal) => (signal === 'SIGPIPE' ? gone() : undefined));
  return () => void look.kill();
}
