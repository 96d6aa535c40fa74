import type { CommandRequest } from '#kernel/ports/command-runner';
import type { Ground } from './command-ground.ts';
import { type ChildResult, runChild } from './run-child.ts';
import { plainEnvironment } from './sandbox/clean-environment.ts';
import { type TreeLimit, watchTree } from './watch-tree.ts';

export interface PlainRun {
  readonly request: CommandRequest;
  readonly ground: Ground;
  readonly onOutput: (chunk: string) => void;
}

/**
 * One command without a sandbox, which a person allowed for this run. Its environment is clean, its process group is killed and the
 * limits of a tree hold; a process that leaves the group outlives it.
 */
export async function runPlain({ request, ground, onOutput }: PlainRun, signal: AbortSignal): Promise<ChildResult<TreeLimit>> {
  const { limits, workspaceRoot } = ground;
  return runChild<TreeLimit>(
    {
      program: process.platform === 'win32' ? 'bash' : '/bin/bash',
      args: ['--noprofile', '--norc', '-c', request.command],
      cwd: workspaceRoot,
      env: plainEnvironment(ground.environment),
      timeoutMs: request.timeoutMs,
      keepBytes: limits.outputBytes,
      stopAfterBytes: limits.floodBytes,
    },
    signal,
    { onOutput, onStart: (pid, stop) => watchTree(() => pid, { workspaceRoot, limits }, stop) },
  );
}
