import { accessSync, constants } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { cacheFolder } from './scripts/lib/cache-folder.mjs';
import { reporters } from './scripts/lib/test-reports.mjs';

interface SuiteSettings {
  readonly testTimeout: number;
  readonly hookTimeout?: number;
  readonly isolate: boolean;
  readonly maxWorkers?: number;
  readonly setupFiles?: string[];
  readonly expect?: { readonly poll: { readonly timeout: number } };
  readonly env?: Record<string, string>;
}

/** A suite of its own per kind of test; `test/editor` has its own configuration (serial, one real editor). */
function suite(name: string, settings: SuiteSettings) {
  return { extends: true as const, test: { name, include: [`test/${name}/**/*.test.ts`], ...settings } };
}

/** Memory where there is some to write to: thousands of unit tests open a store each, and would wait for the disk at each of its commits. */
function quickTemporaryFolder(): Record<string, string> {
  const memory = '/dev/shm';
  try {
    accessSync(memory, constants.W_OK);
    return { TMPDIR: memory };
  } catch {
    return {};
  }
}

export default defineConfig({
  test: {
    // `npm test` adds up what every run writes.
    reporters: reporters(),
    passWithNoTests: true,
    // A forgotten `.only` must not make a run green.
    allowOnly: false,
    restoreMocks: true,
    unstubEnvs: true,
    projects: [
      // One process for all: starting one per file takes four times as long. Long limits: two slow cores run all at once,
      // and the first to read every source takes 40 s there.
      suite('unit', { testTimeout: 120_000, isolate: false, env: quickTemporaryFolder() }),
      suite('property', { testTimeout: 180_000, isolate: true, setupFiles: ['./test/property/seed.ts'] }),
      // Much of it waits for servers and clocks: one file more than there are cores. The default would be one less.
      // Its limits end what hangs; they say nothing of how quick a slow machine has to be, where a hook may start three programs.
      suite('integration', {
        testTimeout: 240_000,
        hookTimeout: 240_000,
        isolate: true,
        maxWorkers: availableParallelism() + 1,
        setupFiles: ['./test/integration/patience.ts'],
        expect: { poll: { timeout: 60_000 } },
        // A thousand children read the same sources: to compile them again is most of what each of them takes.
        env: { NODE_COMPILE_CACHE: path.join(cacheFolder(), 'compiled') },
      }),
    ],
  },
});
