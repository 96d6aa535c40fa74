import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { reporters } from '../../scripts/lib/test-reports.mjs';

/** The suites in a real editor: one at a time, since each starts an editor, a browser and a cluster on a small machine. */
export default defineConfig({
  root: path.resolve(import.meta.dirname, '../..'),
  test: {
    name: 'editor',
    include: ['test/editor/**/*.test.ts'],
    globalSetup: ['test/editor/global-setup.ts'],
    reporters: reporters(),
    allowOnly: false,
    fileParallelism: false,
    maxWorkers: 1,
    testTimeout: 480_000,
    hookTimeout: 480_000,
  },
});
