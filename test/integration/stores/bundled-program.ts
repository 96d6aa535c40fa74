import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { bundleProgram } from './bundle-program.ts';

/** `bundleProgram` for the tests of one file, gone after them; to be called at the top of that file. */
export function bundledProgram(entry: URL): Promise<URL> {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-program-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return bundleProgram(entry, folder);
}
