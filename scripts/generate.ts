/**
 * `npm run generate` writes every derived file from the tool catalog; `--check` only says which are stale, with exit code 1.
 * Each generator takes `--check` likewise and can be run alone.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const generators = ['generate-manifest.ts', 'generate-docs.ts'];

const failed = generators.filter((generator) => {
  const file = path.join(import.meta.dirname, generator);
  return spawnSync(process.execPath, [file, ...process.argv.slice(2)], { stdio: 'inherit' }).status !== 0;
});
if (failed.length > 0) console.error(`generate: ${failed.join(', ')} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
