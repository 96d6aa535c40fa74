/** A process of its own that makes runs as another user, and undoes them: a job a line as JSON, and a line for each with its outcome, or `error`. */
import { createInterface } from 'node:readline';
import type { RunEffects } from '#kernel/effects';
import { openBench, type Way } from '../support/effects-bench.ts';

export interface JobBeside {
  readonly root: string;
  readonly way?: Way;
  /** What to run, or `undo`: which run to undo. */
  readonly command?: string;
  readonly undo?: string;
}

export type OutcomeBeside = RunEffects & { readonly exitCode?: number; readonly stderr: string };

async function work({ root, way, command, undo }: JobBeside): Promise<string> {
  const bench = openBench({ root, way });
  if (undo !== undefined) await bench.effects.undo(undo, { force: false });
  return JSON.stringify(command === undefined ? {} : { done: await bench.run(command) });
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await work(JSON.parse(line) as JobBeside).catch((error: Error) => JSON.stringify({ error: error.stack }));
  process.stdout.write(`${answer}\n`);
}
