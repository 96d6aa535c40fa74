import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { banner, commonOptions } from '../../../scripts/build/bundle-options.mjs';
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

async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    ...commonOptions(ROOT),
    entryPoints: [path.join(HERE, entry)],
    outfile,
    format: 'cjs',
    target: 'node24',
    external: ['vscode'],
    banner,
    keepNames: true,
  });
}
