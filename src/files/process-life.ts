/** Whether a process runs, as `kill(2)` and `proc(5)` tell. */
import { readFileSync } from 'node:fs';

/**
 * When the process began, in the system's ticks since boot: tells it from a later one of the same number. undefined: it is not there, its user hides
 * it, or the system has no `/proc`. One that has ended and is only not reaped yet began at no time that another one has.
 */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the name, which ends in the last parenthesis.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? 'ended' : fields[18];
  } catch {
    return undefined;
  }
}

/** Surely: there is no process of that number, hidden or not. */
export function isMissing(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
