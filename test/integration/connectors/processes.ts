import { readdirSync, readFileSync } from 'node:fs';
import { vi } from 'vitest';

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
  await vi.waitFor(
    () => {
      const left = processesWith(text);
      if (left.length > 0) throw new Error(`still running: ${left.join(' | ')}`);
    },
    { timeout: 5_000, interval: 20 },
  );
}
