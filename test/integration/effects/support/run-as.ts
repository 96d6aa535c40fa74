import { spawnSync } from 'node:child_process';
import path from 'node:path';
import type { RunEffects } from '#kernel/effects';
import type { Job } from '../children/run-as.ts';
import { bundledChild } from './bundled-child.ts';

const child = bundledChild('run-as');
/** Any user but root: nothing has to know it. */
export const otherUser = 12_345;

export interface ChildOutcome {
  readonly done: readonly (RunEffects & { readonly exitCode?: number; readonly stderr: string })[];
  /** Changes of the disk that were counted. */
  readonly steps: number;
}

/** Runs in a process of their own. @returns undefined where it was killed at its step */
export function runApart(job: Job, user?: number): ChildOutcome | undefined {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', child, JSON.stringify(job)];
  const as = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  const [program = '', ...args] = [...as, ...node];
  const { status, signal, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    cwd: path.join(import.meta.dirname, '../../../..'),
  });
  if (signal === 'SIGKILL') return undefined;
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as ChildOutcome;
}
