/** What every bundle of the sources has in common: what is shipped, what the tests run in an editor's host, and what benchmarks measure. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { noNatives } from './no-natives.mjs';

/** CommonJS has no `import.meta`; the sources use it to find what lies beside them (the store's worker). */
export const banner = { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" };

/**
 * @param {string} root the project's folder
 * @returns {import('esbuild').BuildOptions & { plugins: import('esbuild').Plugin[] }}
 */
export function commonOptions(root) {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  return {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    // Its `main` is UMD, whose inner requires no bundler sees.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    plugins: [noNatives],
    define: {
      'import.meta.url': 'bundleUrl',
      'import.meta.dirname': '__dirname',
      'import.meta.filename': '__filename',
      BANKSMAN_VERSION: JSON.stringify(version),
    },
    legalComments: 'none',
    logLevel: 'warning',
  };
}
