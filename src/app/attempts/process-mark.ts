/** Which process this is, and whether another one still lives. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isMissing, startOf } from '#files/process-life';
import type { ProcessMark } from '#kernel/attempt';

/** `proc(5)`; systems without it have machine and number alone. */
export function ownMark(): ProcessMark {
  const known = { boot: textIn('/proc/sys/kernel/random/boot_id'), space: linkOf('/proc/self/ns/pid'), started: startOf(process.pid) };
  const given = Object.entries(known).filter(([, value]) => value !== undefined);
  return { machine: hostname(), pid: process.pid, ...Object.fromEntries(given) };
}

/**
 * `unknown`: it cannot be seen from here (another machine or container, or a system that shows no processes): then only the call's own time tells.
 * INVARIANT: `gone` is said only of a process that surely runs no more.
 */
export function lifeOf(mark: ProcessMark, own: ProcessMark = ownMark()): 'alive' | 'gone' | 'unknown' {
  if (!isInSight(mark, own)) return 'unknown';
  if (isMissing(mark.pid)) return 'gone';
  const started = startOf(mark.pid);
  // Where other users' processes are hidden (`hidepid`, `ProtectProc=`), its number alone says nothing.
  if (started === undefined || mark.started === undefined) return 'unknown';
  return started === mark.started ? 'alive' : 'gone';
}

/** The same kernel since the same start, and the same numbers. Another boot is this machine before it was started again, or another machine: nobody can tell. */
function isInSight({ machine, boot, space }: ProcessMark, own: ProcessMark): boolean {
  if (boot === undefined && own.boot === undefined) return machine === own.machine;
  return boot === own.boot && space !== undefined && space === own.space;
}

function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}
