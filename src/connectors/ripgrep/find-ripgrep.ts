/** The first ripgrep that runs here. */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { ProgramRunner } from '#kernel/ports/program-runner';

/** The options that are used are known to it since this version. */
const oldestMajor = 13;

export interface FindOptions {
  readonly programs: ProgramRunner;
  readonly candidates: readonly string[];
  /** SECURITY: a program in here may have been put there by the very agent that searches. */
  readonly workspaceRoot: string;
}

/** Its absolute path, links resolved; undefined where there is none. */
export async function findRipgrep({ programs, candidates, workspaceRoot }: FindOptions, signal: AbortSignal): Promise<string | undefined> {
  for (const candidate of candidates) {
    const program = realPath(candidate);
    if (program !== undefined && !isInside(workspaceRoot, program) && (await answers(programs, program, signal))) return program;
  }
  return undefined;
}

function realPath(candidate: string): string | undefined {
  try {
    return realpathSync(candidate);
  } catch {
    return undefined;
  }
}

function isInside(root: string, file: string): boolean {
  const below = path.relative(root, file);
  return below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below);
}

async function answers(programs: ProgramRunner, program: string, signal: AbortSignal): Promise<boolean> {
  try {
    const request = {
      program,
      args: ['--no-config', '--version'],
      cwd: path.dirname(program),
      env: {},
      timeoutMs: 5_000,
      keepBytes: 2_000,
    };
    const { stdout, exitCode } = await programs.run(request, signal);
    return exitCode === 0 && Number(/^ripgrep (\d+)\./.exec(stdout)?.[1] ?? 0) >= oldestMajor;
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    // Not executable, or made for another machine.
    return false;
  }
}
