import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { vi } from 'vitest';

/** A command that runs for long and that no other run of these tests, nor an earlier one, has left behind. */
export function longSleep(): string {
  return `sleep ${randomInt(100_000, 999_999)}.${randomInt(100_000, 999_999)}`;
}

/** Command lines of running processes that hold `text`; a process that ended but was not collected yet has none. */
export function processesWith(text: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine)
    .filter((line) => line.includes(text));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Resolves once none is left; rejects with those that are when that takes longer than the kernel needs to end a process. */
export async function noneLeft(text: string): Promise<void> {
  await vi.waitFor(() => {
    const left = processesWith(text);
    if (left.length > 0) throw new Error(`still running: ${left.join(' | ')}`);
  });
}

/** The process id that a command wrote to `file`. @throws {Error} while it is not there */
export function processIn(file: string): number {
  const pid = Number(readFileSync(file, 'utf8').trim());
  if (!Number.isInteger(pid) || pid < 2) throw new Error(`no process id in ${file}`);
  return pid;
}

/** Ends the nearest ancestor whose command line fits: never anything that was not looked at first. @throws {Error} when there is none */
export function killAncestor(pid: number, pattern: RegExp): void {
  for (let parent = parentOf(pid); parent > 1; parent = parentOf(parent)) {
    if (!pattern.test(commandLine(String(parent)))) continue;
    process.kill(parent, 'SIGKILL');
    return;
  }
  throw new Error(`no ancestor of ${pid} is ${pattern}`);
}

/** proc(5): the fourth field of `stat`; the second, in brackets, may hold blanks. */
function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
