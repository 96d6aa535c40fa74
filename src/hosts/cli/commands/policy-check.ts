/** `banksman policy check`: JSON Lines in, one decision a line out, in the same order. */
import type { Readable, Writable } from 'node:stream';
import type { Config } from '#app/config';
import { linesOf } from '#app/lines-of';
import { createPolicyCheck, type PolicyCheck } from '#app/policy-check';
import { Fault, toFault } from '#kernel/errors';

export interface PolicyCheckOptions {
  /** The workspace of `readonly_bash`, `workspace_command` and `path`; default: the current directory. */
  readonly root?: string;
  readonly userRules?: Config['commandRules'];
  readonly input?: Readable;
  readonly output?: Writable;
  /** Told of a malformed line; the lines after it are still answered. */
  onFault(message: string): void;
}

/** Answers every line. 0 when all were answered, 1 when one was malformed. */
export async function runPolicyCheck(options: PolicyCheckOptions): Promise<number> {
  const check = await createPolicyCheck(options.root ?? '.', options.userRules);
  const output = options.output ?? process.stdout;
  let status = 0;
  let number = 0;
  for await (const line of linesOf(options.input ?? process.stdin)) {
    number += 1;
    if (line.trim() === '') continue;
    try {
      output.write(`${answer(check, line)}\n`);
    } catch (thrown) {
      status = 1;
      options.onFault(`line ${number}: ${toFault(thrown).message}`);
    }
  }
  return status;
}

function answer(check: PolicyCheck, line: string): string {
  const { id, decision } = check.decide(parseLine(line));
  return JSON.stringify({ id, decision: decision.effect, code: decision.code, reason: decision.reason, rules: decision.rules });
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new Fault('bad_input', 'not a JSON object', { audience: 'user', cause });
  }
}
