import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { noNatives } from '../../../scripts/build/no-natives.mjs';
import { cacheFolder, ROOT } from '../../../scripts/lib/cache-folder.mjs';

/** What `extensionDevelopmentPath` and `extensionTestsPath` want. */
export interface InHostPaths {
  readonly extensionPath: string;
  readonly testsPath: string;
}

const HERE = path.join(ROOT, 'test', 'editor', 'in-host');

/**
 * Lays the extension out in a folder of its own, with the suite's entry in place of the shipped one, and bundles
 * the suite, each as an editor loads it. Needs a build (`dist/`) for what lies beside the entry.
 */
export async function bundleInHost(): Promise<InHostPaths> {
  const folder = path.join(cacheFolder(), 'in-host');
  const extensionPath = path.join(folder, 'extension');
  const testsPath = path.join(folder, 'suite.cjs');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(extensionPath, { recursive: true });
  for (const name of ['package.json', 'package.nls.json', 'package.nls.de.json', 'media', 'dist']) {
    const source = path.join(ROOT, name);
    if (existsSync(source)) cpSync(source, path.join(extensionPath, name), { recursive: true, filter: (file) => !file.endsWith('.map') });
  }
  await bundle('extension.ts', path.join(extensionPath, 'dist', 'extension.cjs'));
  await bundle('suite.ts', testsPath);
  return { extensionPath, testsPath };
}

/** As esbuild.mjs bundles the shipped entry. */
async function bundle(entry: string, outfile: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
  await build({
    absWorkingDir: ROOT,
    entryPoints: [path.join(HERE, entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    external: ['vscode'],
    plugins: [noNatives],
    banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: {
      'import.meta.url': 'bundleUrl',
      'import.meta.dirname': '__dirname',
      'import.meta.filename': '__filename',
      BANKSMAN_VERSION: JSON.stringify(version),
    },
    keepNames: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
}
