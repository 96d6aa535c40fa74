/** Whether this process was started by `run_command`: then nobody who may approve sits at its terminal, whatever the terminal says. */
import { readFileSync } from 'node:fs';
import { sandboxMark } from '#execution/sandbox/sandbox-user';

/** A command there can change its environment and make a terminal of its own, but not its mounts: `proc_pid_mountinfo(5)`. */
export function isInsideSandbox(mounts: string = readMounts()): boolean {
  return mounts.split('\n').some((line) => {
    const [before = '', after = ''] = line.split(' - ');
    return before.split(' ')[4] === sandboxMark && after.startsWith('tmpfs ');
  });
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    // No such file: no Linux, and so no sandbox of ours.
    return '';
  }
}
