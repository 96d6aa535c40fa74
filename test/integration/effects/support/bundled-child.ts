import { chmodSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { temporaryDirectory } from '../../execution/support/temporary.ts';

/**
 * One file of all that `children/NAME.ts` reads: a test starts it hundreds of times, and from the sources each start takes five times as long.
 * Any user may read it. @returns its path; made anew in each process
 */
export function bundledChild(name: string): string {
  const folder = temporaryDirectory('child-');
  chmodSync(folder, 0o755);
  const outfile = path.join(folder, `${name}.mjs`);
  buildSync({
    entryPoints: [path.join(import.meta.dirname, '../children', `${name}.ts`)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    // What is CommonJS in it asks for Node's own modules so.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'warning',
  });
  return outfile;
}
