/** Running one step of the check as a child process. */
import { spawn } from 'node:child_process';

export interface Step {
  readonly name: string;
  /** Program and arguments; programs of `node_modules/.bin` by name. */
  readonly command: readonly [string, ...string[]];
}

export interface StepResult {
  readonly name: string;
  readonly ok: boolean;
  /** Standard output and error as they came. */
  readonly output: string;
  readonly milliseconds: number;
}

/** Runs a step to its end; one that cannot be started or dies by a signal has failed. Never rejects. */
export function runStep(step: Step, cwd: string, env: NodeJS.ProcessEnv): Promise<StepResult> {
  const { promise, resolve } = Promise.withResolvers<StepResult>();
  const startedAt = performance.now();
  const [program, ...args] = step.command;
  // npm's programs are .cmd files on Windows, which only a shell can start.
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
  let output = '';
  const keep = (chunk: string) => {
    output += chunk;
  };
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const end = (ok: boolean) => resolve({ name: step.name, ok, output, milliseconds: performance.now() - startedAt });
  child.once('error', (error) => {
    keep(`could not start ${program}: ${error.message}\n`);
    end(false);
  });
  child.once('close', (code) => end(code === 0));
  return promise;
}

/** Runs the steps in order, at most `width` at once, and tells `onEnd` as each ends. */
export async function runSteps<OneStep>(
  steps: readonly OneStep[],
  width: number,
  run: (step: OneStep) => Promise<StepResult>,
): Promise<readonly StepResult[]> {
  const waiting = [...steps];
  const results: StepResult[] = [];
  const work = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) results.push(await run(step));
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}
