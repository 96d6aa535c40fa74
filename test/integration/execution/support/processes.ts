import { readdirSync, readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';

/** Processes of the whole machine whose command line or environment holds `mark`, zombies left out. */
export function processesMarked(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => read(`/proc/${pid}/cmdline`).includes(mark))
    .map(Number);
}

/** Without a namespace of their own killed processes take a moment to go. */
export async function noneLeft(mark: string): Promise<void> {
  await vi.waitFor(() => expect(processesMarked(mark)).toEqual([]), { timeout: 20_000, interval: 20 });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
