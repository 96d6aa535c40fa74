import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

const made: string[] = [];

/** A directory of this test file's own, removed at its end; its path has no links. */
export function temporaryDirectory(prefix = 'execution-'): string {
  const directory = mkdtempSync(path.join(realpathSync(os.tmpdir()), `banksman-${prefix}`));
  made.push(directory);
  return directory;
}

/** A disk that others write to takes its time for what hundreds of cases left. */
const removalMs = 120_000;

afterAll(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}, removalMs);
