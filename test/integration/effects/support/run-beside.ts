import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll } from 'vitest';
import type { JobBeside, OutcomeBeside } from '../children/run-beside.ts';
import { bundledChild } from './bundled-child.ts';

const child = bundledChild('run-beside');

interface Beside {
  readonly ask: (job: JobBeside) => Promise<OutcomeBeside | undefined>;
  readonly end: () => void;
}

const kept = new Map<number | undefined, Beside>();
afterAll(() => {
  for (const { end } of kept.values()) end();
});

/**
 * A run or an undo in a process of this user's that stays for all of the file, as a host does: to start one for each takes longer than what it does.
 * @returns what the run did; undefined for an undo
 */
export function runBeside(job: JobBeside, user?: number): Promise<OutcomeBeside | undefined> {
  const beside = kept.get(user) ?? startBeside(user);
  kept.set(user, beside);
  return beside.ask(job);
}

function startBeside(user: number | undefined): Beside {
  const as = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  const [program, ...args] = [...as, process.execPath, '--disable-warning=ExperimentalWarning', child];
  const cwd = path.join(import.meta.dirname, '../../../..');
  const { stdin, stdout } = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd });
  const answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const ask = async (job: JobBeside) => {
    stdin.write(`${JSON.stringify(job)}\n`);
    const { value, done } = await answers.next();
    if (done) throw new Error('the process that makes the runs ended');
    const outcome = JSON.parse(value) as { readonly done?: OutcomeBeside; readonly error?: string };
    if (outcome.error !== undefined) throw new Error(outcome.error);
    return outcome.done;
  };
  return { ask, end: () => void stdin.end() };
}
