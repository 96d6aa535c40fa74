// Plain JavaScript for Node 20.
import { readFileSync } from 'node:fs';

const POLL_MS = 500;

/**
 * Calls `then` once when whoever started this process is gone and could not say so (killed, crashed). npm puts
 * a shell between itself and us that lives on without it, so the parent's parent counts too where it can be seen (Linux).
 * @param {() => void} then
 * @returns {() => void} stops watching
 */
export function whenOrphaned(then) {
  const family = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === family) return;
    clearInterval(timer);
    then();
  }, POLL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function ancestors() {
  return `${process.ppid} ${parentOf(process.ppid)}`;
}

function parentOf(pid) {
  try {
    // The second field is the program's name in parentheses, which may itself hold some.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1] ?? '';
  } catch {
    return '';
  }
}
