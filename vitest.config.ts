import { defineConfig } from 'vitest/config';
import { reporters } from './scripts/lib/test-reports.mjs';

/** A suite of its own per kind of test; `test/editor` has its own configuration (serial, one real editor). */
function suite(name: string, testTimeout: number) {
  return { extends: true as const, test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout } };
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
    projects: [suite('unit', 10_000), suite('property', 30_000), suite('integration', 60_000)],
  },
});
