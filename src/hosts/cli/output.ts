/** Data on stdout, everything else on stderr. */

import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

export function printText(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

export function printError(text: string): void {
  process.stderr.write(`banksman: ${text}\n`);
}

/** The log lines of a call, on stderr. Debug lines only with BANKSMAN_DEBUG. */
export const stderrLog: Log = {
  debug: (line) => {
    if (process.env['BANKSMAN_DEBUG']) process.stderr.write(`[debug] ${line}\n`);
  },
  info: (line) => void process.stderr.write(`[info] ${line}\n`),
  warn: (line) => void process.stderr.write(`[warning] ${line}\n`),
  error: (line) => void process.stderr.write(`[error] ${line}\n`),
};

/** What is refused, as opposed to what went wrong: exit status 2. */
export class Refusal extends Fault {
  constructor(code: string, message: string, next?: string) {
    super(code, message, { audience: 'user', ...(next === undefined ? {} : { next }) });
    this.name = 'Refusal';
  }
}
