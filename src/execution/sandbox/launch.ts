/** One run of bubblewrap: starts it, tells "the sandbox failed" from "the command failed", and waits until nothing of it is left. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, toFault } from '#kernel/errors';
import type { OnProgramOutput } from '#kernel/ports/program-runner';
import { type ChildResult, runChild } from '../run-child.ts';
import { type TreeLimit, type TreeLimits, watchTree } from '../watch-tree.ts';
import { launcherEnvironment } from './clean-environment.ts';
import { type SandboxPlan, sandboxArguments } from './sandbox-arguments.ts';

export interface LaunchOptions {
  /** Of bubblewrap. */
  readonly program: string;
  readonly timeoutMs: number;
  readonly keepBytes: number;
  readonly stopAfterBytes: number;
  readonly treeLimits: TreeLimits;
  readonly onOutput?: OnProgramOutput;
}

/** How long the kernel may take to end a process namespace whose first process is dead, in ms. */
const goneWithinMs = 10_000;

/** @throws {Fault} `sandbox_failed` when the command was never started */
export async function launch(plan: SandboxPlan, options: LaunchOptions, signal: AbortSignal): Promise<ChildResult<TreeLimit>> {
  const { treeLimits, onOutput, ...limits } = options;
  let status = '';
  const { args, extra } = sandboxArguments(plan, (text) => {
    status += text;
  });
  const first = () => numberIn(status, 'child-pid');
  const result = await runChild<TreeLimit>({ ...limits, args, extra, cwd: '/', env: launcherEnvironment }, signal, {
    onOutput,
    onStart: (_pid, stop) => watchTree(first, { workspaceRoot: plan.workspaceRoot, limits: treeLimits }, stop),
  }).catch((thrown: unknown) => {
    throw notLaunched(toFault(thrown).message, thrown);
  });
  const init = first();
  if (init !== undefined) await gone(init);
  // Only a command that was started has an exit code in bubblewrap's report.
  if (result.end === 'exit' && numberIn(status, 'exit-code') === undefined) throw failed(result);
  return result;
}

/** INVARIANT: the first process of a namespace is not reaped before all others are. A zombie that nobody collects is dead, too. */
async function gone(pid: number): Promise<void> {
  const until = performance.now() + goneWithinMs;
  for (let wait = 1; isAlive(pid); wait = Math.min(wait * 2, 50)) {
    if (performance.now() > until) throw new Fault('sandbox_failed', `the sandbox was told to end and still runs (process ${pid})`);
    await delay(wait);
  }
}

function isAlive(pid: number): boolean {
  try {
    // `proc(5)`: the state is the first field behind the name, which ends in the last parenthesis.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3));
  } catch {
    return false;
  }
}

function numberIn(status: string, key: string): number | undefined {
  const found = new RegExp(`"${key}": ?(\\d+)`).exec(status)?.[1];
  return found === undefined ? undefined : Number(found);
}

function failed({ stderr, signal }: ChildResult<TreeLimit>): Fault {
  const said = stderr.split('\n').find((line) => line.startsWith('bwrap:')) ?? stderr.split('\n', 1)[0] ?? '';
  const why = said === '' ? `it ended${signal === undefined ? '' : ` by ${signal}`} without a word` : said;
  return notLaunched(why);
}

function notLaunched(why: string, cause?: unknown): Fault {
  return new Fault('sandbox_failed', `the sandbox did not start: ${why}`, { next: 'run `banksman doctor`', cause });
}
